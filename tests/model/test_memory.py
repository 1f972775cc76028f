"""Machines with memory: what taps mean, one step ahead and running free, and their file."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import (
    Encoder,
    Layer,
    Memory,
    Model,
    ModelFileError,
    Tap,
    model_from_arrays,
    model_to_arrays,
    read_model,
    write_model,
)
from scm_model.errors import DataError, ParameterError
from scm_model.memory import records_of, starts

FIRST = np.array([1, 0, 0, 0, 0, 1, 0, 0], bool)


def machine(taps=((0, 0), (0, 2), (1, 1)), outputs=1, signals=("u", "v"), horizon=0):
    """A few sign nodes on taps of two signals."""
    memory = Memory(
        signals, tuple(Tap(*tap) for tap in taps), np.full(len(signals) + outputs, 0.25), horizon
    )
    d, rng = len(taps), np.random.default_rng(0)
    names = tuple(f"y{j}" for j in range(outputs))
    layer = Layer(
        np.where(rng.random((5, d)) < 0.5, -1, 1).astype(np.int8),
        np.ones(5),
        rng.uniform(-1, 1, 5),
        "sign",
    )
    return Model(
        task="regression",
        algorithm="SCM",
        encoder=Encoder("none", 8, (), (), None, d),
        layers=(layer,),
        readout=rng.normal(0, 0.1, (5, outputs)),
        linear=rng.normal(0, 0.3, (d, outputs)),
        intercept=np.full(outputs, 0.4),
        input_min=np.zeros(d),
        input_max=np.ones(d),
        target_min=np.zeros(outputs),
        target_max=np.ones(outputs),
        features=memory.names(names),
        targets=names,
        memory=memory,
    )


def samples(rows=8, signals=2):
    return np.random.default_rng(1).uniform(size=(rows, signals))


def test_taps_are_the_past_of_their_record():
    model, X = machine(), samples()
    expected = []
    begin = 0
    for row in range(8):
        begin = row if FIRST[row] else begin
        past = [(0, 0), (0, 2), (1, 1)]
        expected.append([X[row - k, s] if row - k >= begin else 0.25 for s, k in past])
    assert_array_equal(model.memory.tap_rows(X, FIRST), expected)
    assert_array_equal(model.decision(X, first=FIRST), model.static.decision(expected))
    assert model.memory.complete(FIRST).tolist() == [False, False, True, True, True] + [
        False
    ] * 2 + [True]
    assert model.features == ("u[t]", "u[t-2]", "v[t-1]")


def test_records_do_not_see_each_other():
    model, X = machine(), samples()
    whole = model.decision(X, first=FIRST)
    parts = [model.decision(X[rows]) for rows in records_of(FIRST)]
    assert_allclose(whole, np.concatenate(parts), rtol=1e-12)


def feedback_machine():
    return machine(taps=((0, 0), (1, 1), (2, 1), (3, 2)), outputs=2)


def test_free_run_sees_its_own_outputs():
    model, X = feedback_machine(), samples()
    found = model.predict(X, first=FIRST, simulate=True)
    own = np.zeros((8, 2))
    begin = 0
    for row in range(8):
        begin = row if FIRST[row] else begin
        taps = [
            X[row, 0],
            X[row - 1, 1] if row - 1 >= begin else 0.25,
            own[row - 1, 0] if row - 1 >= begin else 0.25,
            own[row - 2, 1] if row - 2 >= begin else 0.25,
        ]
        own[row] = np.clip(model.static.predict([taps])[0], 0, 1)
    # Sums of several records at once differ in their last bits.
    assert_allclose(found, own, rtol=1e-12)
    # What it sees of itself matters.
    assert (found != model.predict(X, first=FIRST, outputs=np.zeros((8, 2)), simulate=False)).any()


def test_one_step_ahead_sees_measured_outputs():
    model, X = feedback_machine(), samples()
    y = samples(8, 2)
    taps = model.memory.tap_rows(X, FIRST, y)
    expected = np.clip(model.static.decision(taps), 0, 1)
    assert_array_equal(model.decision(X, first=FIRST, outputs=y), expected)


def test_measured_outputs_fill_the_history_of_a_free_run():
    model, X, y = feedback_machine(), samples(), samples(8, 2)
    found = model.predict(X, first=FIRST, outputs=y, simulate=True)
    full = model.memory.complete(FIRST)
    assert_array_equal(found[~full], y[~full])
    ahead = model.predict(X, first=FIRST, outputs=y, simulate=False)
    assert_allclose(found[2], ahead[2], rtol=1e-12)


def test_a_file_has_signals_and_taps(tmp_path):
    model = machine(taps=((0, 0), (1, 3), (0, 2), (2, 1)), horizon=2)
    model = model.with_evaluation(samples(), np.ones((8, 1)), first=FIRST)
    entries = model_to_arrays(model)
    assert entries["input_min"].shape == (2,)
    assert entries["eval_inputs"].shape == (8, 2)
    write_model(model, tmp_path / "m.npz")
    again = read_model(tmp_path / "m.npz")
    assert again.memory.taps == model.memory.taps
    assert (again.memory.horizon, again.signals) == (2, ("u", "v"))
    assert_array_equal(again.evaluation.first, FIRST)
    y = np.full(8, 0.5)
    for how in ({}, {"outputs": y}, {"outputs": y, "simulate": True}):
        assert_array_equal(again.decision(samples(), **how), model.decision(samples(), **how))
    assert len(again.static.evaluation) == 2


def test_without_memory_nothing_changes(tmp_path):
    model = replace(machine(), memory=None, features=("a", "b", "c"))
    assert model.static is model
    assert b'"version": 1' in model_to_arrays(model)["meta"].tobytes()


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("memory_taps", [[0, 0], [0, 0], [1, 1]], "entry 'memory_taps' must be distinct"),
        ("memory_taps", [[0, 0], [0, 1], [0, 2]], "must have a tap of signal 'v'"),
        ("memory_taps", [[0, 0], [1, 0], [3, 1]], "must be of sources 0 to 2"),
        ("memory_taps", [[0, 0], [1, 0], [2, 0]], "of outputs from 1 on"),
        ("memory_taps", [[0, 0], [1, 0], [0, 1025]], "must have lags of 0 to 1024"),
        ("eval_first", [0] * 8, "entry 'eval_first' must be set in the first row"),
    ],
)
def test_a_damaged_memory_is_refused(entry, value, message):
    model = machine().with_evaluation(samples(), np.ones((8, 1)), first=FIRST)
    entries = model_to_arrays(model)
    entries[entry] = np.array(value, entries[entry].dtype)
    with pytest.raises(ModelFileError, match=message):
        model_from_arrays(entries)


def test_records_stand_together():
    assert starts(["a", "a", "b"], 3).tolist() == [True, False, True]
    with pytest.raises(DataError, match=r"together, not of 'a' in two places"):
        starts(["a", "b", "a"], 3)


def test_what_a_machine_can_not_be_asked():
    with pytest.raises(ParameterError, match="simulate must be left out"):
        machine().decision(samples(), simulate=True)
    with pytest.raises(ParameterError, match="outputs must be given"):
        feedback_machine().decision(samples(), simulate=False)
    with pytest.raises(DataError, match="rows of 2 signals"):
        machine().decision(samples(signals=3))
