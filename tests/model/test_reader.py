"""Every rule about the arrays of a model file, kept and broken."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_model import ModelFileError, model_from_arrays, read_model
from tests.model.broken import Change, drop, label, layer, meta, poke, put, refused
from tests.support import model_arrays, write_model

FAR = "entry 'eval_inputs' must be within 1e+60 training ranges of the lower end, not {}"

# Three features, one output and five nodes of 21 inputs, thermometer-coded, unless told otherwise.
ENTRIES = [
    (drop("input_min"), "entry 'input_min' must be present; the file is incomplete"),
    (
        put("input_min", [0, 0, 0], np.float32),
        "entry 'input_min' must be of type float64, not float32",
    ),
    (put("input_min", [0.0, 0.0]), "entry 'input_min' must have shape (3,), not (2,)"),
    (put("input_min", [[0.0] * 3]), "entry 'input_min' must have shape (3,), not (1, 3)"),
    (poke("input_max", 1, np.nan), "entry 'input_max' must be finite, not nan at (1,)"),
    (
        poke("input_max", 1, -100.0),
        "entry 'input_max' must be at least 'input_min' for every feature",
    ),
    (poke("target_min", 0, np.inf), "entry 'target_min' must be finite, not inf at (0,)"),
    (
        lambda a: a.update(target_max=a["target_min"]),
        "entry 'target_max' must be above 'target_min' for every target",
    ),
    (
        lambda a: a.update(input_min=np.full(3, -1.5e308), input_max=np.full(3, 1.5e308)),
        "entry 'input_max' must be at a finite distance of 'input_min'",
    ),
    (
        lambda a: a.update(target_min=np.array([-1.5e308]), target_max=np.array([1.5e308])),
        "entry 'target_max' must be at a finite distance of 'target_min'",
    ),
    (
        poke("eval_inputs", (4, 1), 1e300),
        FAR.format("1e+300 at (4, 1)"),
    ),
    (drop("encoder_bits"), "entry 'encoder_bits' must be present; the file is incomplete"),
    (
        put("encoder_bits", [7, 7, 7], np.int64),
        "entry 'encoder_bits' must be of type int32, not int64",
    ),
    (
        poke("encoder_bits", 0, 0),
        "entry 'encoder_bits' must be in [1, 255] for 'thermometer' codes",
    ),
    (
        poke("encoder_bits", 0, 256),
        "entry 'encoder_bits' must be in [1, 255] for 'thermometer' codes",
    ),
    (
        poke("encoder_bits", 0, 8),
        "entry 'thresholds' must have shape (22,), not (21,)",
    ),
    (
        poke("thresholds", 8, 32),
        "entry 'thresholds' of feature 1 must increase strictly within [1, 255]",
    ),
    (
        poke("thresholds", 14, 0),
        "entry 'thresholds' of feature 2 must increase strictly within [1, 255]",
    ),
    (
        poke("thresholds", 6, 256),
        "entry 'thresholds' of feature 0 must increase strictly within [1, 255]",
    ),
    (drop("layer1_weights"), "entry 'layer1_weights' must be present; the file is incomplete"),
    (layer(1, nodes=6), "entry 'layer1_weights' must have shape (6, 3), not (5, 3)"),
    (
        layer(1, weights="real"),
        "entry 'layer1_weights' must be of type float64, not uint8",
    ),
    (
        poke("layer1_weights", (4, 2), 0x20),
        "entry 'layer1_weights' must have clear padding bits after 21",
    ),
    (
        put("layer1_mask", np.full((5, 2), 1), np.uint8),
        "entry 'layer1_mask' must have shape (5, 1), not (5, 2)",
    ),
    (
        put("layer1_mask", np.full((5, 1), 0x09), np.uint8),
        "entry 'layer1_mask' must have clear padding bits after 3",
    ),
    (
        put("layer1_mask", [[1], [1], [0], [1], [1]], np.uint8),
        "entry 'layer1_mask' must leave every node an input",
    ),
    (poke("layer1_lambda", 2, 0.0), "entry 'layer1_lambda' must be positive"),
    (poke("layer1_lambda", 2, -1.0), "entry 'layer1_lambda' must be positive"),
    (poke("layer1_bias", 2, np.nan), "entry 'layer1_bias' must be finite, not nan at (2,)"),
    (put("layer1_bias", np.zeros(4)), "entry 'layer1_bias' must have shape (5,), not (4,)"),
    (put("readout", np.zeros((5, 2))), "entry 'readout' must have shape (5, 1), not (5, 2)"),
    (poke("readout", (3, 0), -np.inf), "entry 'readout' must be finite, not -inf at (3, 0)"),
    (put("linear", np.zeros((1, 3))), "entry 'linear' must have shape (3, 1), not (1, 3)"),
    (put("intercept", 0.5), "entry 'intercept' must have shape (1,), not ()"),
    (
        put("eval_inputs", np.zeros((4, 2))),
        "entry 'eval_inputs' must have shape ('any', 3), not (4, 2)",
    ),
    (
        put("eval_inputs", np.zeros((20_001, 3))),
        "entry 'eval_inputs' must have at most 20000 rows, not 20001",
    ),
    (
        put("eval_targets", np.zeros((39, 1))),
        "entry 'eval_targets' must have shape (40, 1), not (39, 1)",
    ),
    (drop("eval_targets"), "entry 'eval_targets' must be present; the file is incomplete"),
    (
        put("history_train_rmse", [1.0], np.float32),
        "entry 'history_train_rmse' must be of type float64, not float32",
    ),
    (
        put("history_layer", [1], np.int64),
        "entry 'history_layer' must be of type int32, not int64",
    ),
    (
        put("history_train_rmse", [[1.0]]),
        "entry 'history_train_rmse' must have shape ('any',), not (1, 1)",
    ),
    (
        lambda a: a.update(
            history_train_rmse=np.zeros(3), history_layer=np.ones(2, dtype=np.int32)
        ),
        "entry 'history_layer' must have shape (3,), not (2,)",
    ),
]


@pytest.mark.parametrize(("change", "message"), ENTRIES, ids=label)
def test_rules_of_entries(change: Change, message: str) -> None:
    refused(change, message)


CLASSES = "meta 'classes' must be a list of 3 labels, at least 2, not {}"
GRID = "entry 'mechanism_grid' must have 2**s + 1 points a side, s from 1 to {}, not {}"
TABLE_INPUTS = "entry 'mechanism_inputs' must name one to three distinct features, not {}"
KINDS: list[tuple[dict[str, Any], Change, str]] = [
    ({"task": "classification"}, meta(classes=None), CLASSES.format("None")),
    ({"task": "classification"}, meta(classes=["a", "b"]), CLASSES.format("['a', 'b']")),
    ({"task": "classification"}, meta(classes=[1, 2, None]), CLASSES.format("[1, 2, None]")),
    (
        {"task": "classification"},
        meta(classes=[1, "low", 1]),
        "meta 'classes' must hold distinct labels, not 1 twice",
    ),
    (
        {"task": "classification"},
        poke("eval_targets", 5, 3),
        "entry 'eval_targets' must be class indices below 3",
    ),
    (
        {"task": "classification"},
        poke("eval_targets", 5, -1),
        "entry 'eval_targets' must be class indices below 3",
    ),
    (
        {"task": "classification"},
        put("eval_targets", np.zeros(40)),
        "entry 'eval_targets' must be of type int64, not float64",
    ),
    (
        {"encoder": "binary"},
        poke("encoder_bits", 0, 9),
        "entry 'encoder_bits' must be in [1, 8] for 'binary' codes",
    ),
    (
        {"encoder": "gray"},
        poke("encoder_bits", 0, 0),
        "entry 'encoder_bits' must be in [1, 8] for 'gray' codes",
    ),
    (
        {"layers": (5, 4)},
        put("layer2_weights", np.zeros((4, 2)), np.uint8),
        "entry 'layer2_weights' must have shape (4, 1), not (4, 2)",
    ),
    (
        {"layers": (5, 4)},
        put("layer2_mask", np.full((4, 1), 0x20), np.uint8),
        "entry 'layer2_mask' must have clear padding bits after 5",
    ),
    (
        {"mechanism": "polynomial"},
        put("mechanism_exponents", np.zeros((4, 2)), np.uint8),
        "entry 'mechanism_exponents' must have shape ('any', 3), not (4, 2)",
    ),
    (
        {"mechanism": "polynomial"},
        put("mechanism_exponents", np.zeros((4, 3)), np.int32),
        "entry 'mechanism_exponents' must be of type uint8, not int32",
    ),
    (
        {"mechanism": "polynomial"},
        put("mechanism_coefficients", np.zeros((3, 3))),
        "entry 'mechanism_coefficients' must have shape (4, 3), not (3, 3)",
    ),
    (
        {"mechanism": "table"},
        put("mechanism_inputs", [], np.int32),
        TABLE_INPUTS.format("()"),
    ),
    (
        {"mechanism": "table"},
        put("mechanism_inputs", [0, 1, 0], np.int32),
        TABLE_INPUTS.format("(0, 1, 0)"),
    ),
    (
        {"mechanism": "table"},
        put("mechanism_inputs", [0, 3], np.int32),
        TABLE_INPUTS.format("(0, 3)"),
    ),
    (
        {"mechanism": "table", "features": 4},
        put("mechanism_inputs", [0, 1, 2, 3], np.int32),
        TABLE_INPUTS.format("(0, 1, 2, 3)"),
    ),
    (
        {"mechanism": "table"},
        put("mechanism_inputs", [0, -1], np.int32),
        TABLE_INPUTS.format("(0, -1)"),
    ),
    (
        {"mechanism": "table"},
        put("mechanism_grid", np.zeros((5, 3, 3))),
        "entry 'mechanism_grid' must have shape ('any', 'any', 'any', 3), not (5, 3, 3)",
    ),
    (
        {"mechanism": "table"},
        put("mechanism_grid", np.zeros((5, 4, 9, 3))),
        GRID.format(8, "(5, 4, 9)"),
    ),
    (
        {"mechanism": "table"},
        put("mechanism_grid", np.zeros((5, 2, 9, 3))),
        GRID.format(8, "(5, 2, 9)"),
    ),
    (
        {"mechanism": "table", "features": 1},
        put("mechanism_grid", np.zeros((513, 3))),
        GRID.format(8, "(513,)"),
    ),
    (
        {"mechanism": "table", "features": 1, "input_bits": 12},
        put("mechanism_grid", np.zeros((2049, 3))),
        GRID.format(10, "(2049,)"),
    ),
    (
        {"mechanism": "external"},
        put("mechanism_range", [[0.0] * 3, [-1.0] * 3]),
        "entry 'mechanism_range' must have its least value first",
    ),
    (
        {"mechanism": "external"},
        drop("mechanism_range"),
        "entry 'mechanism_range' must be present; the file is incomplete",
    ),
    (
        {"mechanism": "external"},
        drop("eval_mechanism"),
        "entry 'eval_mechanism' must be present; the file is incomplete",
    ),
    (
        {"mechanism": "external"},
        poke("eval_mechanism", (2, 1), np.nan),
        "entry 'eval_mechanism' must be finite, not nan at (2, 1)",
    ),
]


@pytest.mark.parametrize(("options", "change", "message"), KINDS, ids=label)
def test_rules_of_kinds(options: dict[str, Any], change: Change, message: str) -> None:
    refused(change, message, outputs=3, **options)


def test_two_classes_at_least() -> None:
    message = "meta 'classes' must be a list of 1 labels, at least 2, not ['class 0']"
    with pytest.raises(ModelFileError, match=f"^{re.escape(message)}$"):
        model_from_arrays(model_arrays(task="classification", outputs=1))


def test_what_a_file_says_is_what_the_model_has(tmp_path: Path) -> None:
    arrays = model_arrays(
        layers=(5, 4), activation=("sign", "step"), inputs_per_node=2, spacing="quantile"
    )
    meta(name="pump")(arrays)
    arrays["history_train_rmse"] = np.array([0.5, np.nan])
    arrays["history_from_elsewhere"] = np.zeros((2, 2), np.int8)
    model = read_model(write_model(tmp_path / "model.npz", arrays))
    assert (model.name, model.algorithm, model.input_bits) == ("pump", "SCM", 8)
    assert model.features == ("x0", "x1", "x2")
    assert [layer.activation for layer in model.layers] == ["sign", "step"]
    assert model.encoder.width == 21
    np.testing.assert_array_equal(np.concatenate(model.encoder.thresholds), arrays["thresholds"])
    for number, (found, inputs_) in enumerate(zip(model.layers, (21, 5), strict=True), start=1):
        packed = np.packbits(found.weights > 0, axis=1, bitorder="little")
        np.testing.assert_array_equal(packed, arrays[f"layer{number}_weights"])
        assert found.weights.shape[1] == inputs_
        assert found.mask is not None
        packed = np.packbits(found.mask, axis=1, bitorder="little")
        np.testing.assert_array_equal(packed, arrays[f"layer{number}_mask"])
    assert model.evaluation is not None and len(model.evaluation) == 40
    np.testing.assert_array_equal(model.history.train_rmse, [0.5, np.nan])


def test_the_unknown_is_ignored() -> None:
    arrays = model_arrays(encoder="none")
    meta(colour="red", encoder={"kind": "none", "depth": 3}, settings=[1], hardware=0)(arrays)
    model_from_arrays(arrays | {"encoder_bits": np.zeros(1), "anything": np.array(["x"])})


def test_a_machine_without_layers_or_rows() -> None:
    arrays = model_arrays(layers=(), rows=0)
    model = model_from_arrays(arrays)
    assert (model.layers, model.evaluation) == ((), None)


@pytest.mark.parametrize("name", ["a", 1, 1.5, True])
def test_labels_of_each_type(name: object) -> None:
    arrays = model_arrays(task="classification", outputs=2)
    meta(classes=[name, "other"])(arrays)
    assert model_from_arrays(arrays).classes == (name, "other")


def test_weights_take_memory_in_proportion() -> None:
    """A packed bit may become a byte or two, not eight: hostile files pack very many."""
    nodes, features = 2000, 4000
    arrays = model_arrays(features=features, layers=(nodes,), encoder="none", rows=0)
    tracemalloc.start()
    model_from_arrays(arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * nodes * features
