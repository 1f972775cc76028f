"""Model files: what is saved is what is loaded, here and by the compiler."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_hw.load import evaluate, read_model
from scm_model import Curve, archive
from scm_train.errors import ModelFileError, ParameterError
from scm_train.model_file import load, save
from tests.train.machines import MECHANISMS, inputs, machine, plant

X = inputs(60, seed=5) * 1.3


KINDS = [
    {},
    {"activation": "step", "masked": True},
    {"encoder": "binary:3", "layers": (9,)},
    {"encoder": "gray:3", "layers": (4, 8, 2)},
    {"encoder": "thermometer:5,3,1"},
    {"encoder": "thermometer:7:quantile"},
    {"encoder": "none", "masked": True},
    {"encoder": "none", "input_bits": None, "activation": "tanh", "weights": "real"},
    {"activation": "sigmoid"},
    {"activation": "brelu", "weights": "real", "masked": True},
    {"layers": ()},
    *({"mechanism": kind} for kind in MECHANISMS),
    {"classes": ("low", "high", "äöü")},
    {"classes": (3, 1)},
    {"classes": (0.1, 0.25, 1e-300)},
    {"classes": (False, True)},
    {"classes": (1, True, 1.0, "1")},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_predictions_after_loading_are_the_same_bits(tmp_path, kind):
    original = machine(**kind)
    save(original, tmp_path / "m.npz")
    function = plant if kind.get("mechanism") == "external" else None
    loaded = load(tmp_path / "m.npz", mechanism=function)
    assert_array_equal(loaded.decision(X), original.decision(X))
    predicted, expected = loaded.predict(X), original.predict(X)
    assert predicted.dtype == expected.dtype
    assert_array_equal(predicted, expected)
    save(loaded, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_compiler_reads_the_same_machine(tmp_path, kind):
    original = machine(**kind)
    save(original, tmp_path / "m.npz")
    p0 = plant(X) if kind.get("mechanism") == "external" else None
    activity = evaluate(read_model(tmp_path / "m.npz"), X, p0)
    hidden = original.hidden_layers(X)
    if hidden and kind.get("activation", "sign") in ("sign", "step"):
        assert_array_equal(activity.hidden, np.concatenate(hidden, axis=1))
    assert_allclose(activity.output, original.decision(X), rtol=0, atol=1e-11)


def test_everything_about_the_training_travels_along(tmp_path):
    info = {
        "name": "demo",
        "seed": 3,
        "settings": {"mechanism": plant, "max_nodes": np.int64(5), "limit": np.inf, "t": (1, 2)},
        "scores": {"test_rmse": np.float64(0.125)},
        "timing": {"lasso": 0.5},
        "data": {"name": "x.csv"},
    }
    history = Curve(np.array([0.5, 0.25]), np.array([np.nan, 0.3]), np.array([1, 2], np.int32))
    original = machine(mechanism="external", info=info, history=history)
    original = original.with_evaluation(X, np.zeros((60, 2)))
    save(original, tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    settings = {"mechanism": "plant", "max_nodes": 5, "limit": "inf", "t": [1, 2]}
    assert loaded.info == info | {"settings": settings, "scores": {"test_rmse": 0.125}}
    assert_array_equal(loaded.history.validation_rmse, history.validation_rmse)
    assert_array_equal(loaded.history.layer, [1, 2])
    assert_array_equal(loaded.evaluation.inputs, X)
    assert_array_equal(loaded.evaluation.mechanism, plant(X))
    assert loaded.features == ("pressure", "speed", "heat")
    assert_array_equal(
        loaded.predict(X, mechanism_values=loaded.evaluation.mechanism), original.predict(X)
    )


def test_evaluation_rows_of_a_classifier_are_class_indices(tmp_path):
    original = machine(classes=("a", "b")).with_evaluation(X, np.arange(60) % 2)
    save(original, tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").evaluation.targets.dtype == np.int64


def test_the_file_is_readable_with_numpy_alone(tmp_path):
    save(machine(activation="tanh"), tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        meta = json.loads(file["meta"].tobytes())
        assert file["layer1_weights"].shape == (5, 3)
    assert meta["format"] == "scm-model"
    assert meta["hardware"]["ready"] is False
    assert len(meta["hardware"]["reasons"]) == 2


def test_equal_machines_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        save(machine(mechanism="table"), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_masked_out_weights_have_no_effect(tmp_path):
    original = machine(masked=True)
    first = original.layers[0]
    hidden = first.mask[:, original.encoder.groups]
    flipped = replace(first, weights=np.where(hidden, first.weights, -first.weights))
    other = replace(original, layers=(flipped, *original.layers[1:]))
    assert not np.array_equal(flipped.weights, first.weights)
    assert_array_equal(other.decision(X), original.decision(X))


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    save(machine(), path)
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(archive.os, function, full_disk)
            with pytest.raises(ModelFileError, match="No space left on device"):
                save(machine(seed=1), path)
        assert os.listdir(tmp_path) == ["m.npz"]
        assert path.read_bytes() == before


def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(machine(), tmp_path / "m.npz")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder(tmp_path):
    with pytest.raises(ModelFileError, match="folder that can be written to"):
        save(machine(), tmp_path / "nowhere" / "m.npz")


def test_a_machine_that_breaks_a_rule_is_not_written(tmp_path):
    broken = replace(machine(), intercept=np.array([np.nan, 0.0]))
    with pytest.raises(ModelFileError, match="entry 'intercept' must be finite"):
        save(broken, tmp_path / "m.npz")
    assert os.listdir(tmp_path) == []


def test_a_mechanism_for_a_model_that_has_its_own(tmp_path):
    save(machine(mechanism="table"), tmp_path / "m.npz")
    with pytest.raises(ParameterError, match="kind 'table'"):
        load(tmp_path / "m.npz", mechanism=plant)
