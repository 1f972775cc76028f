"""Recursive least squares: the readout of all rows so far, block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scm_model import evaluate, read_model
from scm_train import SCMRegressor
from scm_train.errors import ParameterError
from scm_train.training.recursive import RecursiveReadout
from scm_train.training.refit import weighed

KINDS = {"nodes": {"max_nodes": 15, "encoder": "thermometer:7"}, "families": {"luts": 80}}


def rows(count: int, seed: int, gain: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (count, 3))
    y = gain * np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2])
    return X, y + rng.normal(0, 0.02, y.shape)


@pytest.fixture(scope="module", params=KINDS)
def learner(request: pytest.FixtureRequest) -> SCMRegressor:
    return SCMRegressor(random_state=0, **KINDS[request.param]).fit(*rows(300, 0))


def batch(machine, X, y, forgetting: float, prior: float) -> np.ndarray:
    """Weighed least squares of all rows at once, by a general solver."""
    activity = evaluate(machine, X)
    first = len(machine.readout) - (machine.families.nodes if machine.families else 0)
    first %= len(machine.readout)
    outputs = weighed(activity, slice(None), first, len(machine.readout) - first)
    unit = (y - machine.target_min) / (machine.target_max - machine.target_min)
    weights = np.sqrt(forgetting ** np.arange(len(X) - 1, -1, -1.0))[:, None]
    pull = np.sqrt(prior) * np.eye(outputs.shape[1])[:-1]
    left = np.vstack([weights * outputs, pull])
    right = np.vstack([weights * (unit - activity.output), np.zeros((len(pull), y.shape[1]))])
    return np.linalg.lstsq(left, right, rcond=None)[0]


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("blocks", [(400,), (1, 2, 37, 360), (100,) * 4])
def test_blocks_are_the_batch(learner, blocks: tuple[int, ...], forgetting: float) -> None:
    machine, (X, y) = learner.machine_, rows(400, 1, gain=1.5)
    recursive, start = RecursiveReadout(machine, forgetting, 0.1), 0
    for block in blocks:
        place = slice(start, start + block)
        found = recursive.update(X[place], y[place])
        start += block
    wanted = batch(machine, X, y, forgetting, 0.1)
    first = len(machine.readout) - len(wanted) + 1
    assert_allclose(found.readout[first:] - machine.readout[first:], wanted[:-1], atol=1e-9)
    assert_allclose(found.intercept - machine.intercept, wanted[-1], atol=1e-9)
    # Forgetting means something.
    other = batch(machine, X, y, 0.95, 0.1)
    assert np.abs(other - wanted).max() > 1e-4


def test_rows_that_are_nearly_the_same_keep_their_digits() -> None:
    """Where normal equations lose half of them: a prior far below the rows, and 50,000 of these."""
    machine = SCMRegressor(random_state=0, max_nodes=8).fit(*rows(200, 0)).machine_
    X, y = rows(500, 2)
    recursive = RecursiveReadout(machine, 1.0, 1e-12)
    for _ in range(100):
        found = recursive.update(X, y)
    wanted = batch(machine, np.tile(X, (100, 1)), np.tile(y, (100, 1)), 1.0, 1e-12)
    first = len(machine.readout) - len(wanted) + 1
    fitted = found.decision(X)
    expected = (
        machine.decision(X)
        + weighed(evaluate(machine, X), slice(None), first, len(wanted) - 1) @ wanted
    )
    assert_allclose(fitted, expected, atol=1e-8)


def test_a_plant_that_changes_is_followed(learner, tmp_path: Path) -> None:
    model = SCMRegressor(**learner.get_params())
    model._adopt(learner.machine_)
    for seed in range(3, 9):
        model.partial_fit(*rows(100, seed, gain=2.0), forgetting=0.99)
    X, y = rows(300, 20, gain=2.0)
    before = np.sqrt(np.mean((learner.predict(X) - y) ** 2))
    after = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert after < 0.7 * before
    # A new file for the same hidden layers, as a reload needs it.
    model.save(tmp_path / "later.npz", X, y)
    saved = read_model(tmp_path / "later.npz")
    assert np.array_equal(saved.linear, learner.machine_.linear)
    assert len(saved.layers) == len(learner.machine_.layers)


def test_an_estimator_that_is_fitted_again_begins_anew(learner) -> None:
    model = SCMRegressor(random_state=0, max_nodes=5)
    X, y = rows(200, 0)
    model.partial_fit(X, y)
    trained = model.machine_
    model.partial_fit(X[:50], y[:50] * 3)
    model.fit(X, y)
    assert np.array_equal(model.machine_.readout, trained.readout)
    once = model.partial_fit(X[50:], y[50:]).machine_.readout
    other = SCMRegressor(random_state=0, max_nodes=5).fit(X, y)
    assert np.array_equal(other.partial_fit(X[50:], y[50:]).machine_.readout, once)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forgetting": 0.0}, "forgetting must be above 0 and at most 1, not 0.0"),
        ({"forgetting": 1.5}, "forgetting must be above 0 and at most 1, not 1.5"),
        ({"prior": 0.0}, "prior must be a number above 0, not 0.0"),
    ],
)
def test_settings_out_of_range_are_refused(learner, settings, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RecursiveReadout(learner.machine_, **settings)
