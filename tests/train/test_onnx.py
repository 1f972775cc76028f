"""Models as ONNX: what onnxruntime makes of them is what the model predicts."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from scm_model import Model
from scm_train import model_file
from scm_train.__main__ import main
from scm_train.errors import ParameterError
from scm_train.onnx_export import onnx_model
from tests.column_models import column_model
from tests.hw.test_families import family_model
from tests.model.test_memory import machine as memory_machine
from tests.train.commands import fitted, labels_csv
from tests.train.machines import inputs, machine

ENCODERS = (
    "thermometer:7",
    "thermometer:5,1,9:quantile",
    "binary:4",
    "binary:8,1,2",
    "gray:4",
    "gray:3,1,8",
    "none",
)
#: How inexact the sum of a few dozen numbers in another order is.
DOUBLE = {"rtol": 1e-12, "atol": 1e-12}


def rows_for(model: Model) -> NDArray[np.float64]:
    """Rows inside the training range and far beyond, and some on the borders of codes."""
    d = len(model.features)
    span = model.input_max - model.input_min
    on_borders = model.input_min + span * np.random.default_rng(3).integers(-2, 258, (200, d)) / 256
    return np.concatenate([inputs(300, d, seed=1), 40 * inputs(20, d, seed=2), on_borders])


def run(proto: onnx.ModelProto | bytes, X: NDArray) -> dict[str, NDArray]:
    """Every output of a graph by its name."""
    proto = proto if isinstance(proto, bytes) else proto.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto, options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def assert_same(model: Model, X: NDArray | None = None, proto: onnx.ModelProto | None = None):
    """A graph, by default the model's own, gives what the model does."""
    X = rows_for(model) if X is None else X
    found = run(onnx_model(model) if proto is None else proto, X)
    if model.classes is None:
        assert set(found) == {"y"}
        assert_allclose(found["y"], model.predict(X), **DOUBLE)
    else:
        assert set(found) == {"label", "scores"}
        assert_allclose(found["scores"], model.decision(X), **DOUBLE)
        assert_array_equal(found["label"], model.predict(X))
        assert len(np.unique(found["label"])) > 1


@pytest.mark.parametrize("mechanism", ["none", "polynomial", "table"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_and_mechanism(encoder: str, mechanism: str) -> None:
    assert_same(machine(encoder, mechanism=mechanism, masked=True))


@pytest.mark.parametrize("kind", ["binary", "gray"])
def test_levels_by_thresholds_beside_top_bits(kind: str) -> None:
    model = machine(f"{kind}:3", masked=True)
    thresholds = ((3, 40, 41, 90, 128, 200, 255), (), (100, 101))
    assert_same(replace(model, encoder=replace(model.encoder, thresholds=thresholds)))


@pytest.mark.parametrize("weights", ["binary", "real"])
@pytest.mark.parametrize("activation", ["sign", "step", "tanh", "sigmoid", "brelu"])
def test_every_activation(activation: str, weights: str) -> None:
    for masked in (False, True):
        drawn = {"activation": activation, "weights": weights, "masked": masked}
        assert_same(machine(layers=(9, 6, 4), **drawn))
        assert_same(machine("none", None, mechanism="polynomial", **drawn))
        assert_same(machine("none", None, mechanism="table", **drawn))


@pytest.mark.parametrize("activation", ["sign", "step"])
def test_sums_of_zero(activation: str) -> None:
    model = machine("thermometer:7", layers=(9, 6), activation=activation)
    layers = tuple(replace(layer, biases=np.round(layer.biases)) for layer in model.layers)
    model = replace(model, layers=layers)
    (first, _), sums = model.hidden_layers(rows_for(model)), layers[1].weights.T.astype(float)
    assert (first @ sums + layers[1].biases == 0).any()
    assert_same(model)


@pytest.mark.parametrize(
    "classes", [("low", "mid", "high"), (3, 1, 2), (0.5, 1.5), (False, True), ("yes", "no")]
)
def test_classes_are_labels_and_scores(classes: tuple) -> None:
    assert_same(machine(classes=classes, layers=(12, 5)))
    assert_same(machine("gray:4", classes=classes, layers=()))


def test_two_classes_that_share_a_score() -> None:
    model = machine(classes=("off", "on"), layers=(9,))
    shared = {name: getattr(model, name)[..., :1] for name in ("readout", "linear", "intercept")}
    shared |= {"target_min": np.zeros(1), "target_max": np.ones(1), "targets": ("y",)}
    model = replace(model, **shared)
    assert model.decides_by_sign
    assert_same(model)


def test_ties_go_to_the_first_class() -> None:
    model = machine(classes=("a", "b", "c"), layers=())
    model = replace(model, linear=np.zeros((3, 3)), intercept=np.array([0.0, 1.0, 1.0]))
    assert set(run(onnx_model(model), rows_for(model))["label"]) == {"b"}


@pytest.mark.parametrize(("outputs", "classes"), [(1, 0), (2, 0), (1, 2), (3, 3)])
def test_families(outputs: int, classes: int) -> None:
    for seed in range(3):
        model = family_model(seed, outputs, classes)
        assert_same(model, np.random.default_rng(seed).uniform(-0.2, 1.2, (300, 3)))


@pytest.mark.parametrize("bits", [None, 8])
def test_a_feature_without_range(bits: int | None) -> None:
    model = machine("none", bits)
    assert_same(replace(model, input_max=np.r_[model.input_min[:1], model.input_max[1:]]))


def test_a_constant_polynomial() -> None:
    model = machine(mechanism="polynomial")
    terms = replace(model.mechanism, exponents=np.zeros_like(model.mechanism.exponents))
    assert_same(replace(model, mechanism=terms))


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows: int) -> None:
    model = machine(mechanism="table")
    assert_same(model, rows_for(model)[:rows])


@pytest.mark.parametrize("kind", ["Floor", "GreaterOrEqual", "Greater", "Max"])
def test_a_wrong_graph_is_seen(kind: str) -> None:
    """Without rounding, with the other comparison, or without the ends, borders are wrong."""
    model = machine()
    proto = onnx_model(model)
    node = next(node for node in proto.graph.node if node.op_type == kind)
    node.op_type = {"Floor": "Ceil", "GreaterOrEqual": "Greater", "Greater": "Less", "Max": "Min"}[
        kind
    ]
    with pytest.raises(AssertionError):
        assert_same(model, proto=proto)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: machine(mechanism="external"), "the mechanism is external; "),
        (lambda: machine(classes=("a", 1)), r"the classes \['a', 1\] are of several types; "),
        (column_model, "the model has categories or missing values; "),
        (memory_machine, "the model has memory; "),
    ],
    ids=["external", "classes", "columns", "memory"],
)
def test_what_no_graph_can_hold_is_refused(make, message: str) -> None:
    with pytest.raises(ParameterError, match="can't export to ONNX: " + message):
        onnx_model(make())


# ------------------------------------------------------------------------------ the command


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_export_of_a_trained_model(task: str, capsys) -> None:
    if task == "regression":
        model, outputs = fitted("-q"), ["y"]
    else:
        model, outputs = fitted("-q", data=labels_csv(), target="grade"), ["label", "scores"]
    assert main(["export", "m.npz", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"model": "m.npz", "onnx": "m.onnx", "outputs": outputs}
    proto = onnx.load("m.onnx")
    assert_same(model, model.evaluation.inputs, proto)
    about = {entry.key: json.loads(entry.value) for entry in proto.metadata_props}
    assert about == {"features": list(model.features), "targets": list(model.targets)}


@pytest.mark.usefixtures("folder")
def test_a_refusal_is_one_line_and_writes_nothing(capsys) -> None:
    model_file.save(machine(mechanism="external"), "m.npz")
    assert main(["export", "m.npz"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: can't export to ONNX: the mechanism is external; ")
    assert [path.name for path in Path().iterdir()] == ["m.npz"]


@pytest.mark.usefixtures("folder")
def test_without_onnx_the_extra_is_named(monkeypatch, capsys) -> None:
    model_file.save(machine(), "m.npz")
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "scm_train.onnx_export")
    assert main(["export", "m.npz"]) == 2
    assert "pip install 'scm-hw[onnx]'" in capsys.readouterr().err
