"""Nodes that see bits of the row before: what they mean, and their entries in a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import Encoder, Layer, Memory, Model, Tap, read_model, write_model
from scm_model.errors import ModelFileError
from scm_model.reader import model_from_arrays
from scm_model.writer import model_to_arrays

TAPS = ((0, 0), (0, 1), (2, 1), (4, 1))
FIRST = np.isin(np.arange(40), (0, 3, 17))


def machine(activation: str = "sign", washout: int = 0) -> Model:
    """Five nodes on a signal, its past, and the bits of nodes 0 and 2."""
    rng, d = np.random.default_rng(0), len(TAPS)
    levels = tuple(tuple(range(10 + i, 250, 60)) for i in range(d))
    encoder = Encoder("thermometer", 8, tuple(map(len, levels)), levels, "uniform", d)
    mask = rng.random((5, d)) < 0.7
    mask[:, 0] = True
    signs = np.where(rng.random((5, encoder.width)) < 0.5, -1, 1).astype(np.int8)
    memory = Memory(("u",), tuple(Tap(*tap) for tap in TAPS), np.zeros(2), 0, washout)
    return Model(
        task="regression",
        algorithm="SCM",
        encoder=encoder,
        layers=(Layer(signs, np.ones(5), rng.uniform(-2, 2, 5), activation, mask),),
        readout=rng.normal(0, 1, (5, 1)),
        linear=np.array([[0.3], [0.1], [0.0], [0.0]]),
        intercept=np.zeros(1),
        input_min=np.zeros(d),
        input_max=np.ones(d),
        target_min=np.zeros(1),
        target_max=np.ones(1),
        features=memory.names(("y",)),
        targets=("y",),
        memory=memory,
    )


def signals() -> np.ndarray:
    return np.random.default_rng(1).uniform(0, 1, (40, 1))


@pytest.mark.parametrize("activation", ["sign", "step"])
def test_bits_come_back_row_by_row(activation: str) -> None:
    """Against the machine behind the memory, one row after the other."""
    model, X, wanted = machine(activation), signals(), []
    assert model.features[2:] == ("node 0[t-1]", "node 2[t-1]")
    before = np.zeros(5)
    past = 0.0
    for row, begins in zip(X[:, 0], FIRST, strict=True):
        if begins:
            before, past = np.zeros(5), 0.0
        taps = np.array([[row, past, before[0], before[2]]])
        (hidden,) = model.static.hidden_layers(taps)
        wanted.append(model.static.predict(taps)[0])
        before, past = (hidden[0] > 0).astype(float), row
    found = model.predict(X, first=FIRST)
    assert_allclose(found, wanted, atol=1e-12)
    # The bits matter, and so does where records begin.
    layer = model.layers[0]
    blind = replace(layer, mask=layer.mask & (np.arange(4) < 2))
    apart = found - replace(model, layers=(blind,)).predict(X, first=FIRST)
    assert np.abs(apart).max() > 0.1
    assert (found != model.predict(X)).any()


def test_a_file_has_nodes_and_washout(tmp_path: Path) -> None:
    model = machine(washout=4).with_evaluation(signals(), np.zeros((40, 1)), first=FIRST)
    write_model(model, tmp_path / "m.npz")
    assert b'"version": 4' in model_to_arrays(model)["meta"].tobytes()
    again = read_model(tmp_path / "m.npz")
    assert again.memory.washout == again.memory.depth == 4
    assert again.features == model.features
    X = signals()
    assert_array_equal(again.predict(X, first=FIRST), model.predict(X, first=FIRST))
    # Records of 3, 14 and 23 rows, each without the rows of its washout.
    assert again.memory.complete(FIRST).sum() == 10 + 19


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("memory_taps", [[0, 0], [0, 1], [2, 1], [7, 1]], "must be of sources 0 to 6"),
        ("memory_taps", [[0, 0], [0, 1], [2, 1], [4, 2]], "must have a lag of 1 for the bits"),
        ("memory_taps", [[0, 0], [0, 1], [2, 1], [1, 1]], "must not be of outputs beside bits"),
        ("linear", [[0.3], [0.1], [0.2], [0.0]], "entry 'linear' must be 0 for the bits of nodes"),
    ],
)
def test_what_a_reader_refuses(entry: str, value: list, message: str) -> None:
    entries = model_to_arrays(machine())
    model_from_arrays(entries)
    entries[entry] = np.array(value, entries[entry].dtype)
    with pytest.raises(ModelFileError, match=message):
        model_from_arrays(entries)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "entry 'memory_taps' must be of sources 0 to 1"),
        ({"memory": {"horizon": 0, "washout": -1}}, "'washout' of 0 to 1024, not -1"),
        ({"encoder": {"kind": "none"}}, "entry 'memory_taps' must be of sources 0 to 1"),
    ],
)
def test_what_a_reader_refuses_of_meta(change: dict, message: str) -> None:
    entries = model_to_arrays(machine())
    meta = json.loads(entries["meta"].tobytes()) | change
    entries["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with pytest.raises(ModelFileError, match=message):
        model_from_arrays(entries)
