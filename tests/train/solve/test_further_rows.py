from __future__ import annotations

import numpy as np
import pytest

from scm_train import SCMRegressor
from scm_train.errors import ParameterError
from scm_train.solve.readout import ridge_path


def problem(rows: int = 900) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.random((rows, 4))
    return x, np.sin(5 * x[:, 0]) * x[:, 1] + 0.05 * rng.standard_normal(rows)


def machine(x: np.ndarray, y: np.ndarray, **parameters):
    settings = {"max_nodes": 12, "layers": 1, "candidates": 20, "random_state": 0} | parameters
    return SCMRegressor(**settings).fit(x, y).machine_


@pytest.mark.parametrize("activation", ["sign", "tanh"])
@pytest.mark.parametrize("chunk", [90, 1 << 15])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_readout_is_solved_on_all_rows(
    monkeypatch: pytest.MonkeyPatch, activation: str, chunk: int, ridge: float
) -> None:
    monkeypatch.setattr("scm_train.solve.further_rows.CHUNK", chunk)
    monkeypatch.setattr("scm_train.solve.further_rows.PIECE", chunk // 3)
    x, y = problem()
    fitted = machine(x, y, search_rows=200, activation=activation, ridge=ridge)
    (hidden,) = fitted.hidden_layers(x)
    seen = fitted.encoder.quantised(fitted.normalise(x))
    span = fitted.target_max - fitted.target_min
    left = (y[:, None] - fitted.target_min) / span - seen @ fitted.linear - fitted.intercept
    nodes = np.eye(hidden.shape[1])
    wanted = np.linalg.lstsq(
        np.concatenate([hidden, np.sqrt(ridge) * nodes]),
        np.concatenate([left, np.zeros((len(nodes), 1))]),
        rcond=None,
    )[0]
    np.testing.assert_allclose(fitted.readout, wanted, atol=1e-9)


def test_the_linear_part_is_fitted_on_all_rows() -> None:
    x, y = problem()
    settings = {"ridge": 0.0, "validation_fraction": 0.0}
    some, every = machine(x, y, search_rows=200, **settings), machine(x, y, **settings)
    np.testing.assert_allclose(some.linear, every.linear, rtol=1e-9)
    np.testing.assert_allclose(some.intercept, every.intercept, rtol=1e-9)


def test_nodes_depend_on_the_searched_rows_alone() -> None:
    x, y = problem()
    first = machine(x, y, search_rows=200)
    second = machine(x, y, search_rows=201)
    again = machine(x, y, search_rows=200)
    np.testing.assert_array_equal(first.layers[0].weights, again.layers[0].weights)
    np.testing.assert_array_equal(first.readout, again.readout)
    assert not np.array_equal(first.layers[0].weights, second.layers[0].weights)


def test_no_fewer_rows_than_there_are_changes_nothing() -> None:
    x, y = problem(300)
    np.testing.assert_array_equal(machine(x, y, search_rows=300).readout, machine(x, y).readout)


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "all"])
def test_search_rows_is_a_whole_number(value: object) -> None:
    with pytest.raises(ParameterError, match="search_rows must be a positive whole number or None"):
        machine(*problem(50), search_rows=value)


def test_too_few_searched_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="leave at least 10 of the 20 rows"):
        machine(*problem(300), search_rows=20, validation_fraction=0.6)


def test_the_ridge_is_chosen_with_all_rows_but_those_it_is_judged_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def spied(factor: np.ndarray, moments: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        tried.append((factor, ridges))
        return ridge_path(factor, moments, ridges)

    monkeypatch.setattr("scm_train.growth.engine.ridge_path", spied)
    fitted = machine(*problem(), search_rows=200)
    ((factor, ridges),) = tried
    # The square of a sign is 1, so that a node's square norm is its number of rows.
    np.testing.assert_allclose(np.diag(factor.T @ factor), 880)
    used = fitted.info["settings"]["ridge_used"] / 900
    assert np.isclose(used, ridges / 880).any()
