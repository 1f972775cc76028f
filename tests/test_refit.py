"""The readout fitted again on new rows: by the trainer, and into a core that is there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_hw.ir.interp import interpret
from scm_hw.ir.program import Program
from scm_hw.load import normalised_results, rmse
from scm_hw.verify.rows import check_rows
from scm_model import read_model
from scm_train.__main__ import main
from scm_train.errors import DataError, ParameterError
from scm_train.estimators import SCMClassifier, SCMRegressor
from scm_train.training.refit import FEWEST_HELD, HELD, REFIT_RIDGE, RIDGES, refit
from tests.hw.reloading import reloadable, upload_for
from tests.support import random_model

FEW = {"max_nodes": 8, "candidates": 10, "random_state": 0}


def plant(drift: float, rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Friction that grows: the same inputs, and other targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 3))
    y = np.abs(X[:, 0]) * (1 + drift) + X[:, 1] + drift * (X[:, 2] > 0.2)
    return X, y + 0.01 * rng.normal(size=rows)


@pytest.fixture(scope="module")
def learner() -> SCMRegressor:
    return SCMRegressor(**FEW).fit(*plant(0.0))


def test_it_is_least_squares_and_leaves_the_rest(learner: SCMRegressor) -> None:
    machine, (X, y) = learner.machine_, plant(0.3, seed=1)
    found = refit(machine, X, y, ridge=1e-9)
    for name in ("linear", "input_min", "target_max"):
        assert_array_equal(getattr(found, name), getattr(machine, name))
    assert found.layers == machine.layers
    hidden = np.hstack([*machine.hidden_layers(X), np.ones((len(X), 1))])
    plain = replace(machine, readout=0 * machine.readout, intercept=0 * machine.intercept)
    span = machine.target_max - machine.target_min
    left = (y[:, None] - machine.target_min) / span - plain.decision(X)
    best = hidden @ np.linalg.lstsq(hidden, left, rcond=None)[0] + plain.decision(X)
    assert_allclose(found.decision(X), best, atol=1e-6)


def test_it_follows_a_plant_that_drifts(learner: SCMRegressor) -> None:
    (X, y), (later, truth) = plant(0.4, seed=2), plant(0.4, seed=3)
    before = np.sqrt(np.mean((learner.predict(later) - truth) ** 2))
    fresh = SCMRegressor(**FEW).fit(*plant(0.0)).refit(X, y)
    after = np.sqrt(np.mean((fresh.predict(later) - truth) ** 2))
    assert after < 0.7 * before


def test_a_strong_ridge_holds_the_readout(learner: SCMRegressor) -> None:
    machine = learner.machine_
    found = refit(machine, *plant(0.4, rows=5), ridge=1e6)
    assert_allclose(found.readout, machine.readout, atol=1e-4)


@pytest.mark.parametrize("drift", [0.0, 0.4])
def test_held_back_rows_choose_the_ridge(drift: float) -> None:
    """A plant that has not changed keeps its machine; one that has is followed."""
    learner = SCMRegressor(luts=300, random_state=0).fit(*plant(0.0, rows=1000))
    rows, later = plant(drift, rows=200, seed=2), plant(drift, rows=1000, seed=3)

    def error(ridge: float | str) -> float:
        machine = refit(learner.machine_, rows[0], rows[1], ridge)
        return float(np.sqrt(np.mean((machine.decision(later[0])[:, 0] - normalised) ** 2)))

    machine = learner.machine_
    normalised = (later[1] - machine.target_min) / (machine.target_max - machine.target_min)
    kept, chosen = error(1e9), error("auto")
    assert chosen < 1.02 * min(error(ridge) for ridge in RIDGES)
    assert chosen < 0.8 * kept if drift else chosen < 1.02 * kept


def test_a_handful_of_rows_is_too_few_to_choose_by(learner: SCMRegressor) -> None:
    rows = plant(0.4, rows=HELD * FEWEST_HELD - 1, seed=2)
    by_default = refit(learner.machine_, *rows, ridge=REFIT_RIDGE)
    assert_array_equal(refit(learner.machine_, *rows).readout, by_default.readout)


@pytest.mark.parametrize("growth", ["nodes", "families"])
def test_families_and_classes(growth: str) -> None:
    X, y = plant(0.0)
    if growth == "families":
        learner = SCMRegressor(growth="families", luts=60, random_state=0).fit(X, y)
        later = plant(0.4, seed=2)
        before = learner.score(*later)
        assert learner.refit(*later).score(*later) > before
        return
    classes = SCMClassifier(**FEW).fit(X, np.digitize(y, [0.0, 0.7]))
    later, labels = X, np.digitize(plant(0.8)[1], [0.0, 0.7])
    before = classes.score(later, labels)
    assert classes.refit(later, labels).score(later, labels) > before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": ()}, "model must have hidden nodes"),
        ({"mechanism": "external"}, "its mechanism inside"),
    ],
)
def test_what_can_not_be_fitted_again_is_refused(options: dict, message: str) -> None:
    model = random_model(0, **options)
    with pytest.raises(ParameterError, match=message):
        refit(model, np.zeros((3, 3)), np.zeros(3))


def test_wrong_rows_and_ridges_are_refused(learner: SCMRegressor) -> None:
    with pytest.raises(ParameterError, match="ridge must be a number above 0 or 'auto', not 0"):
        refit(learner.machine_, *plant(0.1), ridge=0)
    with pytest.raises(DataError, match="rows must have a target each, not 4 rows and 3"):
        refit(learner.machine_, np.zeros((4, 3)), np.zeros(3))


def csv(path: Path, drift: float, seed: int) -> str:
    X, y = plant(drift, seed=seed)
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    return str(path)


def test_the_command_writes_a_model_that_a_core_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = csv(tmp_path / "first.csv", 0.0, 0), csv(tmp_path / "later.csv", 0.1, 4)
    old, new = str(tmp_path / "old.npz"), str(tmp_path / "new.npz")
    fast = ["--max-nodes", "8", "--candidates", "10", "--quiet"]
    assert main(["fit", first, "--target", "y", "--out", old, *fast]) == 0
    assert main(["refit", old, later, "--out", new, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rmse_after"] < told["rmse_before"]
    assert (told["train_rows"], told["test_rows"]) == (225, 75)
    design, model = reloadable(read_model(old)), read_model(new)
    assert len(model.evaluation) == 75
    upload = upload_for(design, model)
    rows = check_rows(design, design.model.evaluation).inputs
    assert (interpret(upload.meaning, rows) != interpret(design.meaning, rows)).any()
    assert main(["refit", old, later, "--out", old]) == 2
    assert main(["refit", old, later, "--out", new, "--test-fraction", "1"]) == 2


def test_a_core_takes_what_partial_fit_has_learned(tmp_path: Path) -> None:
    first, learned = str(tmp_path / "first.npz"), str(tmp_path / "learned.npz")
    learner = SCMRegressor(luts=60, random_state=0).fit(*plant(0.0))
    learner.save(first, *plant(0.0, seed=5))
    for seed in (6, 7):
        learner.partial_fit(*plant(0.2, seed=seed))
    learner.save(learned, *plant(0.2, seed=8))
    design, model = reloadable(read_model(first)), read_model(learned)
    rows = check_rows(design, model.evaluation).inputs[: len(model.evaluation)]
    target = (model.evaluation.targets - model.target_min) / (model.target_max - model.target_min)

    def error(program: Program) -> float:
        integers = interpret(program, rows)
        return rmse(normalised_results(model, design.model, design.fixed, integers), target)

    assert error(upload_for(design, model).meaning) < 0.7 * error(design.meaning)
