"""The plants that change, and the files of the figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.testing import assert_array_equal

from bench import living
from scm_train import SCMRegressor
from scm_train.datasets.speed_servo import ServoParameters


def results() -> dict:
    learners = ("SCM frozen", "SCM adapting", "CatBoost frozen")
    rng = np.random.default_rng(0)
    over_time = {name: rng.uniform(1, 2, living.WINDOWS).tolist() for name in learners}
    case = {
        "title": "a plant",
        "unit": "V",
        "periods": {name: {"1": 1.23456, "2": 2.0} for name in learners},
        "whole": dict.fromkeys(learners, 1.5),
        "ends": [0.4, 1.0],
        "over_time": over_time,
    }
    return {"cases": {"plant": case}}


def test_the_table_has_a_line_for_each_learner() -> None:
    lines = living.markdown(results()).splitlines()
    assert lines[2] == "| learner | 1 | 2 | all |"
    assert lines[4] == "| SCM frozen | 1.23 | 2 | 1.5 |"


def test_equal_results_are_equal_figures(tmp_path: Path) -> None:
    living.figure(results(), tmp_path / "a.svg")
    living.figure(results(), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_rows_of_the_servo_are_in_order_and_dont_hold_their_target() -> None:
    X, y = living._servo_rows(ServoParameters(), 2, 0)
    assert X.shape == (2 * 397, 11) and len(y) == len(X)
    # The newest sample of a row is the middle one of the next.
    assert_array_equal(X[:396, 6:9], X[1:397, 3:6])
    # What it is to predict comes one row later.
    assert_array_equal((X[1:397, 7] - X[1:397, 8]), y[:396])
    worn = living._servo_rows(ServoParameters(coulomb=1.0), 2, 0)[1]
    assert np.abs(worn - y).max() > 0.1


def test_what_follows_a_change_is_better_than_what_is_frozen(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2400, 2))
    y = np.sin(2 * X[:, 0]) + np.where(np.arange(2400) < 800, 0, 0.8) + 0.01 * X[:, 1]
    parts = {"1": (X[800:1600], y[800:1600]), "2": (X[1600:], y[1600:])}
    case = living.Case("a plant", "V", (X[:800], y[:800]), parts)
    monkeypatch.setattr(living, "LUTS", 60)
    monkeypatch.setattr(living, "trained", lambda X, y: SCMRegressor(luts=60).fit(X, y))
    found = {name: living.rmse(p, y[800:]) for name, p in living.machines(case).items()}
    assert found["SCM adapting"] < found["SCM reloaded"] < found["SCM frozen"]
