"""Huber's loss: what a few wrong targets do to each kind of growth, and which rows they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scm_train import SCMClassifier, SCMRegressor, SequenceRegressor
from scm_train.__main__ import main
from scm_train.errors import ParameterError
from scm_train.solve.huber import huber_weights, robust_scale

GROWTH = {
    "families": {"luts": 200},
    "families and bounds": {"luts": 200, "interval": 0.8},
    "nodes": {"growth": "nodes", "max_nodes": 20, "candidates": 20},
    "sigmoid": {"activation": "sigmoid", "max_nodes": 15, "candidates": 20},
    "linear alone": {"growth": "nodes", "max_nodes": 1, "stop_tolerance": 1e9, "stop_step": 1},
}


def rows(wrong: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets of which a share is far off, and which these are."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(1200, 3))
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.05 * random.normal(size=1200)
    off = random.random(1200) < wrong
    y[off] += random.choice([30.0, 400.0], off.sum())
    return X, y, off


def error(learner: SCMRegressor) -> float:
    X, y, _ = rows(0, seed=1)
    return float(np.sqrt(np.mean((learner.predict(np.clip(X, 0.01, 0.99)) - y) ** 2)))


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.filterwarnings("ignore::scm_train.errors.ClippedWarning")
def test_outliers_change_little_and_are_found(growth: str) -> None:
    X, y, off = rows(0.04)
    plain, robust = (
        SCMRegressor(loss=loss, random_state=0, **GROWTH[growth]).fit(X, y)
        for loss in ("squared_error", "huber")
    )
    assert error(robust) < 0.25 < 3 < error(plain)
    outliers = robust.history_.outliers
    assert outliers is not None and set(outliers.rows) == set(np.flatnonzero(off))
    assert (np.diff(outliers.distances) <= 0).all() and outliers.distances.min() > 6
    assert plain.history_.outliers is None


def test_without_outliers_the_fit_is_about_as_good() -> None:
    X, y, _ = rows(0)
    plain, robust = (
        SCMRegressor(loss=loss, luts=200, random_state=0).fit(np.clip(X, 0.01, 0.99), y)
        for loss in ("squared_error", "huber")
    )
    assert error(robust) < 1.1 * error(plain)


def test_several_targets_weights_eval_set_and_memory() -> None:
    X, y, off = rows(0.04)
    both = np.stack([y, X[:, 0]], axis=1)
    for how in ({"luts": 100}, {"growth": "nodes", "max_nodes": 5, "candidates": 5}):
        learner = SCMRegressor(loss="huber", random_state=0, **how)
        learner.fit(X[:900], both[:900], eval_set=(X[900:], both[900:]))
        assert set(learner.history_.outliers.rows) == set(np.flatnonzero(off[:900]))
    weighted = SCMRegressor(loss="huber", luts=100, random_state=0).fit(X, y, sample_weight=~off)
    assert error(weighted) < 0.25
    machine = SequenceRegressor(SCMRegressor(loss="huber", luts=100, random_state=0), lags="*:0..1")
    machine.fit(X, y)
    assert abs(float(np.median(machine.predict(X)[2:] - y[2:]))) < 0.2


def test_weights_are_hubers() -> None:
    random = np.random.default_rng(0)
    residuals = random.normal(size=200_000) * 3
    assert robust_scale(residuals) == pytest.approx(3, rel=0.02)
    found = huber_weights(residuals)
    bound = 1.345 * robust_scale(residuals)
    np.testing.assert_allclose(found, np.minimum(1, bound / np.abs(residuals)))
    # Where most are met exactly, the others count all the same.
    assert huber_weights(np.array([0.0] * 9 + [1.0]))[-1] > 0
    assert robust_scale(np.zeros(0)) == 0.0 and (huber_weights(np.zeros(5)) == 1).all()


def test_where_it_does_not_go() -> None:
    X, y, _ = rows(0)
    with pytest.raises(ParameterError, match="loss must be 'squared_error' or 'huber', not 'l1'"):
        SCMRegressor(loss="l1").fit(X, y)
    with pytest.raises(ParameterError, match="loss must be 'squared_error' for classes"):
        SCMClassifier(loss="huber").fit(X, y > 1)


def test_fit_tells_which_rows_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, off = rows(0.01)
    table = tmp_path / "t.csv"
    lines = [",".join(f"{v:.6g}" for v in (*row, target)) for row, target in zip(X, y, strict=True)]
    table.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    command = ["fit", str(table), "--target", "y", "--luts", "100", "--loss", "huber"]
    assert main([*command, "--out", str(tmp_path / "m.npz"), "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)["outliers"]
    assert set(found["rows"]) <= set(np.flatnonzero(off) + 1) and found["count"] > 3
    assert f"{found['count']} of 900 training rows are outliers" in told.err
    assert ", ".join(map(str, found["rows"][:3])) in told.err
