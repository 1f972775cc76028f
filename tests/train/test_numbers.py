"""Numbers at the edge of what there is: a right answer, or a refusal that says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from scm_train import SCMRegressor
from scm_train.chunks import chunk_map
from scm_train.errors import DataError
from scm_train.readout import Readout, ridge_solution

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


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e7])
def test_the_readout_is_least_squares(condition: float) -> None:
    """Fitted values against scipy's, on nodes that are nearly dependent.

    Beyond a condition of 1e8 both lose the digits that are compared here.
    """
    rng = np.random.default_rng(1)
    left, _ = np.linalg.qr(rng.normal(size=(300, 20)))
    right, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    nodes = left * np.geomspace(1, 1 / condition, 20) @ right
    targets = rng.normal(size=(300, 2))
    with chunk_map() as chunks:
        readout = Readout(targets, chunks)
        for node in nodes.T:
            readout.add(np.ascontiguousarray(node))
        found = nodes @ ridge_solution(*readout.factors())
    exact = nodes @ scipy.linalg.lstsq(nodes, targets, cond=0)[0]
    assert np.linalg.norm(found - exact) <= 1e-9 * np.linalg.norm(exact)


@pytest.mark.long
def test_a_million_rows() -> None:
    x = np.random.default_rng(2).uniform(size=(1_000_000, 3))
    y = x @ [1.0, -1.0, 0.5]
    error = fitted(x, y, max_nodes=3) - y
    assert np.sqrt(np.mean(error**2)) < 0.01
