"""Estimators of records: lags, horizons, feedback, and what they keep apart."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import read_model
from scm_train import (
    DataError,
    ParameterError,
    SCMClassifier,
    SCMRegressor,
    SequenceClassifier,
    SequenceRegressor,
)
from scm_train.__main__ import main as scm_train
from scm_train.sequences.lags import parse_lags
from scm_train.sequences.records import Records, divide
from tests.train.sequences_data import plant


def learner(**more: object) -> SCMRegressor:
    return SCMRegressor(luts=400, random_state=0, **more)


def test_lags_are_read_in_all_their_forms() -> None:
    names = ("speed", "a:b", "load")
    expected = {"speed": (0, 1, 2), "load": (0, 4)}
    assert parse_lags("speed:0..2, load:0+4", names, "lags", 0) == expected
    assert parse_lags({"speed": [0, 1, 2], "load": (4, 0)}, names, "lags", 0) == expected
    assert parse_lags("a:b:3", names, "lags", 0) == {"a:b": (3,)}
    assert parse_lags("*:1", names, "lags", 0) == dict.fromkeys(names, (1,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed", "lags must be SIGNAL:LAGS with lags as 0..2 or 0\\+2\\+5, not 'speed'"),
        ("sped:1", "lags must be of 'speed' or \\*, not of 'sped'"),
        ("speed:2000", "lags of 'speed' must be whole numbers from 0 to 1024, not"),
        ("speed:3..1", "lags of 'speed' must be whole numbers from 0 to 1024, not"),
    ],
)
def test_lags_that_are_none(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_lags(text, ("speed",), "lags", 0)


def test_auto_finds_the_lag_that_matters() -> None:
    X, y, groups = plant()
    model = SequenceRegressor(learner(), most_lag=4).fit(X, y, groups)
    taps = {tuple(tap) for tap in model.machine_.memory.taps}
    assert (0, 2) in taps and (1, 0) in taps
    assert len(taps) <= 5
    assert model.score(X, y, groups) > 0.95
    # Without the past there is little to be known.
    blind = SequenceRegressor(learner(), lags="*:0").fit(X, y, groups)
    assert blind.score(X, y, groups) < 0.5


def test_the_machine_is_that_of_lagged_columns() -> None:
    X, y, _ = plant(records=1, rows=300)
    model = SequenceRegressor(learner(), lags={"x0": [0, 2], "x1": 0}).fit(X, y)
    lagged = np.column_stack([X[2:, 0], X[:-2, 0], X[2:, 1]])
    assert_array_equal(model.machine_.predict(X)[2:], model.machine_.static.predict(lagged))


def test_taps_of_a_signal_have_one_range() -> None:
    X, y, groups = plant()
    machine = SequenceRegressor(learner(), lags="*:0..3").fit(X, y, groups).machine_
    sources = np.array([tap.source for tap in machine.memory.taps])
    for source in (0, 1):
        assert len(set(machine.input_min[sources == source])) == 1
        assert len(set(machine.input_max[sources == source])) == 1


def test_a_horizon_looks_ahead_within_its_record() -> None:
    X, y, groups = plant()
    model = SequenceRegressor(learner(), lags="x0:0..1,x1:0", horizon=1).fit(X, y, groups)
    ahead = np.r_[y[1:], 0.0]
    inside = np.r_[groups[1:] == groups[:-1], False]
    found = model.predict(X, groups)
    # What was the signal a row ago decides a row later; the other signal is not known yet.
    agree = np.corrcoef(found[inside], ahead[inside])[0, 1]
    assert agree > 0.9
    assert_allclose(model.score(X, y, groups), agree**2, atol=0.1)


def test_records_and_their_end_are_kept_apart() -> None:
    X, y, groups = plant(records=3, rows=10)
    records = Records.ahead(X, y, np.r_[True, groups[1:] != groups[:-1]], 2)
    assert records.known.sum() == 3 * 8
    assert_array_equal(records.targets[records.known], y[np.flatnonzero(records.known) + 2])
    learn, held = divide(records, gap=1)
    assert len(learn) + len(held) == 30 - 3
    assert learn.first.sum() == held.first.sum() == 3


def test_whole_records_choose_where_there_are_enough() -> None:
    X, y, groups = plant(records=10, rows=10)
    records = Records.ahead(X, y, np.r_[True, groups[1:] != groups[:-1]], 0)
    learn, held = divide(records, gap=3)
    assert len(held) == 20 and held.first.sum() == 2
    assert len(learn) == 80


def test_feedback_learns_to_run_free() -> None:
    X, y, groups = plant(dynamic=True)
    told = {"lags": "x0:0+2,x1:0", "feedback": "y:1", "rounds": 1}
    model = SequenceRegressor(learner(), **told).fit(X, y, groups)
    assert len(model.free_run_errors_) == 2
    other, wanted, records = plant(seed=1, dynamic=True)
    free = model.predict(other, records)
    ahead = model.predict(other, records, outputs=wanted)
    assert model.score(other, wanted, records) > 0.9
    assert ((ahead - wanted) ** 2).mean() <= ((free - wanted) ** 2).mean()
    # Held in the range of the training targets.
    assert free.min() >= y.min() and free.max() <= y.max()


def test_frames_give_their_names() -> None:
    X, y, groups = plant()
    frame = pd.DataFrame(X, columns=["speed", "load"])
    target = pd.Series(y, name="torque").to_frame()
    model = SequenceRegressor(learner(), lags="speed:0+2,load:0", feedback="torque:1", rounds=0)
    machine = model.fit(frame, target, groups).machine_
    assert machine.features == ("speed[t]", "speed[t-2]", "load[t]", "output torque[t-1]")
    assert_array_equal(
        model.predict(frame[["load", "speed"]], groups), model.predict(frame, groups)
    )


def test_classes_of_records(tmp_path) -> None:
    X, y, groups = plant()
    labels = np.where(y > 0, "up", "down")
    model = SequenceClassifier(SCMClassifier(luts=200, random_state=0), lags="x0:0+2,x1:0")
    model.fit(X, labels, groups)
    assert set(model.classes_) == {"up", "down"}
    assert model.score(X, labels, groups) > 0.95
    model.save(tmp_path / "m.npz", X, labels, groups)
    machine = read_model(tmp_path / "m.npz")
    first = machine.evaluation.first
    assert_array_equal(machine.predict(X, first=first), model.predict(X, groups))


def test_a_file_carries_records(tmp_path) -> None:
    X, y, groups = plant()
    model = SequenceRegressor(learner(), lags="*:0..2", horizon=1).fit(X, y, groups)
    model.save(tmp_path / "m.npz", X[:240], y[:240], groups[:240])
    machine = read_model(tmp_path / "m.npz")
    rows = machine.evaluation
    # The last row of each record has no target a row later.
    assert len(rows) == 238 and rows.first.sum() == 2
    assert_array_equal(
        machine.predict(rows.inputs, first=rows.first),
        model.machine_.predict(rows.inputs, first=rows.first),
    )


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"lags": "x0:0"}, "lags must be given for 'x1' as well"),
        ({"horizon": -1}, "horizon must be a whole number of rows, not -1"),
        ({"horizon": 200}, "records must be longer than the horizon of 200 rows, not 120"),
        ({"feedback": "z:1"}, "feedback must be of 'y' or \\*, not of 'z'"),
        ({"feedback": "y:0"}, "feedback of 'y' must be whole numbers from 1 to 1024"),
        ({"lags": "*:0..120"}, "records must be longer than their history of 120 rows"),
    ],
)
def test_what_is_refused(told: dict, message: str) -> None:
    X, y, groups = plant()
    with pytest.raises((ParameterError, DataError), match=message):
        SequenceRegressor(learner(), **told).fit(X, y, groups)


def test_groups_must_stand_together() -> None:
    X, y, groups = plant()
    with pytest.raises(ValueError, match="groups must have the rows of a record together"):
        SequenceRegressor(learner()).fit(X, y, groups % 3)


# The command line


def write_records(path, **how) -> None:
    X, y, groups = plant(**how)
    frame = pd.DataFrame({"run": groups, "speed": X[:, 0], "load": X[:, 1], "torque": y})
    frame.to_csv(path, index=False)


def test_from_a_file_of_records(tmp_path, capsys) -> None:
    write_records(tmp_path / "d.csv", dynamic=True)
    words = ["fit", str(tmp_path / "d.csv"), "--target", "torque", "--groups", "run"]
    words += ["--lags", "speed:0+2,load:0", "--feedback", "torque:1", "--luts", "400"]
    out = tmp_path / "m.npz"
    assert scm_train([*words, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["features"][-1] == "output torque[t-1]"
    assert told["scores"]["test_one_step_rmse"] <= told["scores"]["test_rmse"] * 1.01
    # A quarter of the records, whole ones.
    assert told["evaluation_rows"] in (120, 240)
    assert scm_train(["evaluate", str(out), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["rmse"] == told["scores"]["test_rmse"]
    words = ["predict", str(out), str(tmp_path / "d.csv"), "--groups", "run", "--json"]
    assert scm_train(words) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 720


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset", "servo_sim"], "--dataset must be left out with --lags"),
        (["--split", "random"], "--split must be left out with --lags"),
        (["--trials", "2"], "--trials must be 1 with --lags"),
        (["--lags", "sped:1"], "lags must be of 'run', 'speed', 'load' or *, not of 'sped'"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path, capsys, words: list, message: str) -> None:
    write_records(tmp_path / "d.csv")
    data = [] if "--dataset" in words else [str(tmp_path / "d.csv"), "--target", "torque"]
    lags = [] if "--lags" in words else ["--lags", "auto"]
    assert scm_train(["fit", *data, *lags, *words, "--out", str(tmp_path / "m.npz")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "m.npz").exists()
