"""Numbers at the edge of what there is: a right answer, or a refusal that says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from scm_train import DIRVFL1Regressor, SCMRegressor
from scm_train.chunks import chunk_map
from scm_train.datasets import load
from scm_train.errors import DataError
from scm_train.solve.readout import Readout, ridge_solution

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 3))
Y = X @ [1.0, 2.0, -1.0] + np.sin(3 * X[:, 0])


def fitted(x: np.ndarray, y: np.ndarray, **options: Any) -> np.ndarray:
    model = SCMRegressor(random_state=0, **({"max_nodes": 5} | options)).fit(x, y)
    return np.asarray(model.predict(x))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**-1040])
def test_targets_of_any_scale_are_learnt_alike(scale: float) -> None:
    plain, scaled = fitted(X, Y), fitted(X, Y * scale) / scale
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**-1040])
def test_inputs_of_any_scale_are_learnt_alike(scale: float) -> None:
    np.testing.assert_allclose(fitted(X * scale, Y), fitted(X, Y), atol=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "rule"),
    [
        (
            X,
            np.where(Y > 0, 1.7e308, -1.7e308),
            r"targets must span a finite range, not -1\.7e\+308",
        ),
        (np.sign(X) * 1.7e308, Y, "inputs must span a finite range, .* divide them by a constant"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
def test_a_range_beyond_all_numbers_is_refused(x: np.ndarray, y: np.ndarray, rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        fitted(x, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    x, y = X.copy(), Y.copy()
    x[3, 1] = y[4] = bad
    # What is not a number is a missing value among the inputs, and no target.
    if not np.isnan(bad):
        with pytest.raises(ValueError, match="Input X contains"):
            fitted(x, Y)
    with pytest.raises(ValueError, match="Input y contains"):
        fitted(X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 3.0, 1e20, -1e300])
def test_a_constant_target_is_its_own_answer(value: float) -> None:
    np.testing.assert_allclose(fitted(X, np.full(200, value)), value, rtol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.column_stack([X, np.full(200, 4.0)]), Y),
        (np.ones((50, 2)), Y[:50]),
        (np.repeat(X[:1], 50, axis=0), Y[:50]),
        (X[:2], Y[:2]),
        (X[:, :1], Y),
        (RNG.normal(size=(60, 1000)), Y[:60]),
        (np.hstack([X, X, -X]), Y),
    ],
    ids=[
        "constant feature",
        "all constant",
        "identical rows",
        "two rows",
        "one feature",
        "thousand features",
        "collinear",
    ],
)
def test_odd_data_is_no_worse_than_its_mean(x: np.ndarray, y: np.ndarray) -> None:
    """But for the rows that were kept for validation, whose mean is another."""
    error = fitted(x, y) - y
    assert np.sqrt(np.mean(error**2)) <= np.std(y) * 1.001


def test_one_row_is_refused() -> None:
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        fitted(X[:1], Y[:1])


def ill_conditioned(condition: float) -> np.ndarray:
    """Twenty nodes, no two of them alike and all of them nearly dependent."""
    rng = np.random.default_rng(1)
    left, _ = np.linalg.qr(rng.normal(size=(300, 20)))
    right, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    return left * np.geomspace(1, 1 / condition, 20) @ right


def solved(nodes: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The readout of nodes that were added one by one."""
    with chunk_map() as chunks:
        readout = Readout(targets, chunks)
        for node in nodes.T:
            readout.add(np.ascontiguousarray(node))
        return ridge_solution(*readout.factors())


def off(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.sqrt(((found - exact) ** 2).sum() / (exact**2).sum()))


@pytest.mark.parametrize("condition", 10.0 ** np.arange(2, 14))
def test_the_readout_is_least_squares(condition: float) -> None:
    """Fitted values and residual against scipy's, to the last digit that the condition leaves."""
    nodes = ill_conditioned(condition)
    targets = np.random.default_rng(2).normal(size=(300, 2))
    # In long doubles, so that the product with large coefficients adds no rounding of its own.
    found, exact = (
        nodes.astype(np.longdouble) @ readout.astype(np.longdouble)
        for readout in (solved(nodes, targets), scipy.linalg.lstsq(nodes, targets, cond=0)[0])
    )
    assert off(found, exact) <= (1e-9 if condition <= 1e7 else np.finfo(float).eps * condition)
    # Near its least value the residual hardly depends on the rest.
    residuals = [np.sqrt(((targets - fit) ** 2).sum()) for fit in (found, exact)]
    assert residuals[0] <= residuals[1] * (1 + max(1e-11, 1e-21 * condition))


@pytest.mark.parametrize("condition", 10.0 ** np.arange(2, 17))
def test_what_the_nodes_can_say_is_said_whatever_the_condition(condition: float) -> None:
    nodes = ill_conditioned(condition)
    targets = nodes @ np.random.default_rng(3).normal(size=(20, 2))
    assert off(nodes @ solved(nodes, targets), targets) <= 1e-9


def test_collinear_nodes_share_the_readout_of_least_norm() -> None:
    rng = np.random.default_rng(4)
    some = rng.normal(size=(300, 6))
    nodes = np.hstack([some, some[:, :2], -3 * some[:, 2:3], some @ rng.normal(size=(6, 3))])
    targets = rng.normal(size=(300, 2))
    exact = scipy.linalg.lstsq(nodes, targets)[0]
    assert off(solved(nodes, targets), exact) <= 1e-9


def test_no_truncated_solution_is_better_on_random_nodes() -> None:
    """Nodes as they fall are all but collinear; their readout is still that of least squares."""
    data = load("tyukin")
    x, y = data.X[:600], np.ravel(data.y)[:600]
    model = DIRVFL1Regressor(
        layers=3, max_nodes=60, encoder="none", activation="sigmoid", ridge=0.0, random_state=0
    ).fit(x, y)
    hidden = np.hstack(model.machine_.hidden_layers(x))
    rest = y - y.mean()
    error = float(np.linalg.norm(model.predict(x) - y))
    for cut in 10.0 ** -np.arange(4, 14):
        fit = hidden @ scipy.linalg.lstsq(hidden, rest, cond=cut)[0]
        assert error <= np.linalg.norm(fit - rest) * 1.001


@pytest.mark.long
def test_a_million_rows() -> None:
    x = np.random.default_rng(2).uniform(size=(1_000_000, 3))
    y = x @ [1.0, -1.0, 0.5]
    error = fitted(x, y, max_nodes=3) - y
    assert np.sqrt(np.mean(error**2)) < 0.01
