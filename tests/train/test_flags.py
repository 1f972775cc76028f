"""Unsure and novel: what is promised of them, and where they don't go."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_model.errors import ModelFileError
from scm_model.flags import Flags, Novelty, Unsure
from scm_model.reader import model_from_arrays
from scm_model.writer import model_to_arrays
from scm_train import SCMClassifier, SCMRegressor, SequenceRegressor
from scm_train.__main__ import main
from scm_train.errors import DataError, ParameterError
from scm_train.training.refit import refit

GROWTH = {
    "families": {"luts": 120},
    "nodes": {"growth": "nodes", "max_nodes": 20, "candidates": 20},
}


def rows(count: int, seed: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The third feature follows the first."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3))
    X[:, 2] = X[:, 0] + 0.1 * random.normal(size=count)
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * random.normal(size=count)
    return X, np.digitize(score, np.linspace(-1, 1, classes + 1)[1:-1])


@pytest.fixture(scope="module", params=GROWTH)
def trained(request: pytest.FixtureRequest) -> SCMClassifier:
    learner = SCMClassifier(unsure=0.1, flags=0.02, random_state=0, **GROWTH[request.param])
    return learner.fit(*rows(2000, 0))


@pytest.mark.filterwarnings("ignore::scm_train.errors.ClippedWarning")
def test_rates_are_as_promised_on_rows_that_were_not_seen(trained: SCMClassifier) -> None:
    X, y = rows(10_000, 1)
    unsure, wrong = trained.is_unsure(X), trained.predict(X) != y
    # With 400 rows of calibration, the rate has a standard deviation of 1.5 points: three of them.
    assert 0.055 < (wrong & ~unsure).mean() < 0.145
    assert wrong.mean() > 0.145 and wrong[~unsure].mean() < wrong[unsure].mean()
    assert trained.is_novel(X).mean() < 0.02 + 3 * 0.007
    assert_array_equal(unsure, trained.margin(X) <= trained.machine_.flags.unsure.threshold)


@pytest.mark.filterwarnings("ignore::scm_train.errors.ClippedWarning")
def test_rows_unlike_those_of_training_are_novel(trained: SCMClassifier) -> None:
    X, _ = rows(2000, 2)
    X[:, 2] *= -1
    assert trained.is_novel(X).mean() > 0.15


def test_promises_hold_on_average_over_many_machines() -> None:
    found = []
    for seed in range(30):
        X, y = rows(400, seed, classes=2)
        small = SCMClassifier(unsure=0.1, flags=0.1, random_state=seed, max_nodes=4, candidates=4)
        machine = small.fit(X[:200], y[:200]).machine_
        outputs = machine.decision(X[200:])
        wrong = (outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0) != y[200:]
        unsure = small.is_unsure(X[200:]) if not np.isnan(outputs).any() else wrong
        found.append([(wrong & ~unsure).mean(), small.is_novel(X[200:]).mean()])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (mean < 0.1 + 2 * error).all()


def test_a_file_has_them(trained: SCMClassifier, tmp_path: Path) -> None:
    machine = trained.machine_
    arrays = model_to_arrays(machine)
    assert json.loads(arrays["meta"].tobytes())["version"] == 4
    again = model_from_arrays(arrays)
    assert again.flags.unsure == machine.flags.unsure
    assert again.flags.novelty.least == machine.flags.novelty.least
    assert_array_equal(again.flags.novelty.groups, machine.flags.novelty.groups)
    assert_array_equal(again.flags.novelty.rare, machine.flags.novelty.rare)
    trained.save(tmp_path / "m.npz")
    loaded = SCMClassifier.load(tmp_path / "m.npz")
    X, _ = rows(50, 3)
    assert_array_equal(loaded.is_unsure(X), trained.is_unsure(X))
    assert_array_equal(loaded.is_novel(X), trained.is_novel(X))
    plain = replace(machine, flags=None)
    assert json.loads(model_to_arrays(plain)["meta"].tobytes())["version"] < 4


GROUPS, RARE = np.array([[0, 1], [2, -1]], dtype=np.int32), np.array([3, 1], dtype=np.uint64)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (Flags(), "meta 'flags' must have 'unsure', 'novel' or both"),
        (Flags(Unsure(1.5, 0.1)), "unsure 'level' must be a number between 0 and 1, not 1.5"),
        (Flags(Unsure(0.1, -1.0)), "unsure 'threshold' must be a number from 0 on, not -1.0"),
        (Flags(None, Novelty(0.0, 1, GROUPS, RARE)), "novel 'rate' must be a number between"),
        (Flags(None, Novelty(0.1, 4, GROUPS, RARE)), r"novel 'least' must be in \[1, 3\], not 4"),
        (Flags(None, Novelty(0.1, 1, GROUPS + 9999, RARE)), "'flag_groups' must be of nodes 0 to"),
        (Flags(None, Novelty(0.1, 1, GROUPS[:, ::-1], RARE)), "'flag_groups' must be of nodes 0"),
        (Flags(None, Novelty(0.1, 1, GROUPS, RARE[:1])), "entry 'flag_rare' must have shape"),
        (Flags(None, Novelty(0.1, 1, GROUPS[:0], RARE[:0])), "must be 1 to 256 groups of 1 to 6"),
    ],
)
def test_a_file_with_wrong_ones_is_refused(
    trained: SCMClassifier, flags: Flags, message: str
) -> None:
    with pytest.raises(ModelFileError, match=message):
        model_from_arrays(model_to_arrays(replace(trained.machine_, flags=flags)))


def test_where_they_do_not_go() -> None:
    X, y = rows(300, 0)
    with pytest.raises(ParameterError, match=r"unsure must be None for targets, not 0\.1"):
        SCMRegressor(unsure=0.1).fit(X, y)
    with pytest.raises(ParameterError, match="flags must be a share between 0 and 1, not 2"):
        SCMRegressor(flags=2).fit(X, y)
    with pytest.raises(ParameterError, match="flags must be None for a machine without nodes that"):
        SCMRegressor(flags=0.1, activation="sigmoid", max_nodes=3, candidates=5).fit(X, y)
    with pytest.raises(ParameterError, match="must be None for a machine with a mechanism"):
        SCMRegressor(flags=0.1, mechanism=lambda X: X[:, 0]).fit(X, y)
    with pytest.raises(ParameterError, match="unsure and flags must be None for records"):
        SequenceRegressor(SCMRegressor(flags=0.1), lags="*:0..1").fit(X, y)
    with pytest.raises(DataError, match=r"rows must be at least 4995 for a share of 0\.001, not"):
        SCMRegressor(flags=0.001).fit(X, y)
    with pytest.raises(ParameterError, match="flags must be set before fit for novel rows"):
        SCMRegressor(luts=60, random_state=0).fit(X, y).is_novel(X)


def test_a_refit_would_need_new_thresholds() -> None:
    X, y = rows(300, 0)
    learner = SCMClassifier(unsure=0.1, growth="nodes", max_nodes=4, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="classes alone, not the flag unsure"):
        refit(learner.machine_, X, y)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = rows(500, 0)
    table, model = tmp_path / "t.csv", str(tmp_path / "m.npz")
    table.write_text(
        "a,b,c,y\n" + "".join(f"{a},{b},{c},k{t}\n" for (a, b, c), t in zip(X, y, strict=True))
    )
    command = ["fit", str(table), "--target", "y", "--luts", "80", "--out", model]
    assert main([*command, "--unsure", "0.2", "--flags", "0.05"]) == 0
    told = capsys.readouterr().out
    assert "of 20.00% promised; accuracy where sure" in told
    assert "of 5.00% false alarms promised" in told
    assert main(["evaluate", model, str(table)]) == 0
    assert "of 20.00% promised; accuracy where sure" in capsys.readouterr().out
    answers = tmp_path / "answers.csv"
    assert main(["predict", model, str(table), "--out", str(answers)]) == 0
    assert main(["predict", model, str(table), "--out", str(answers)]) == 0
    header, *lines = answers.read_text().splitlines()
    learner = SCMClassifier.load(model)
    assert header == "y,unsure,novel"
    expected = zip(learner.predict(X), learner.is_unsure(X), learner.is_novel(X), strict=True)
    assert lines == [f"{y},{int(unsure)},{int(novel)}" for y, unsure, novel in expected]
    assert main([*command, "--flags", "0.05", "--lags", "*:0..1", "--task", "regression"]) == 2
    assert "--flags must be left out with --lags" in capsys.readouterr().err
