"""The Program of a model against the model: hidden bits, outputs, and what is refused."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from scm_hw.errors import UnsupportedModelError
from scm_hw.ir import ranges, verify
from scm_hw.ir.interp import interpret, trace
from scm_hw.load import (
    Model,
    classes_of,
    codes,
    evaluate,
    fixed_output,
    lower,
    lower_model,
    mechanism_words,
    model_from_arrays,
    quantise,
)
from scm_hw.load.lower import _least_integer
from tests.hw import oracle
from tests.hw.programs import rows_for
from tests.support import exposing_hidden, model_arrays, random_model

ENCODERS = ("thermometer", "binary", "gray", "none")
LAYERS: tuple[tuple[int, ...], ...] = ((), (4,), (4, 3), (3, 2, 3))
MECHANISMS = ("none", "external", "polynomial", "table")
# Task, outputs, features that a node sees, spacing of thresholds.
SHAPES: tuple[tuple[str, int, int | None, str], ...] = (
    ("regression", 1, None, "uniform"),
    ("regression", 3, 2, "quantile"),
    ("classification", 3, None, "quantile"),
    ("classification", 2, 1, "uniform"),
)


def program_rows(model: Model, words: np.ndarray | None) -> np.ndarray:
    assert model.evaluation is not None
    code = codes(model, model.evaluation.inputs)
    return code if words is None else np.hstack([code, words])


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_combination(
    encoder: str, layers: tuple[int, ...], mechanism: str, activation: str
) -> None:
    """Outputs equal those of the PC model's hidden bits on the grid, in raw words or as classes."""
    for seed, (task, outputs, seen, spacing) in enumerate(SHAPES):
        options: dict[str, Any] = {"task": task, "outputs": outputs, "spacing": spacing}
        options["inputs_per_node"] = seen
        arrays = model_arrays(
            seed,
            encoder=encoder,
            layers=layers,
            mechanism=mechanism,
            activation=activation,
            **options,
        )
        model = model_from_arrays(arrays)
        assert model.evaluation is not None
        fixed = quantise(model, 9)
        program = lower(model, fixed)
        verify(program)
        activity = evaluate(model, model.evaluation.inputs, model.evaluation.mechanism)
        external = mechanism == "external"
        words = mechanism_words(model, fixed, activity.mechanism) if external else None
        rows = program_rows(model, words)
        expected = fixed_output(model, fixed, activity, rows[:, : len(model.features)])
        if model.is_classifier:
            expected = classes_of(expected)[:, None]
        np.testing.assert_array_equal(interpret(program, rows), expected, err_msg=str(options))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_parts_are_those_of_the_program(encoder: str, mechanism: str) -> None:
    """Weights, thresholds and terms, as a folded core gets them, give the program's own values."""
    options: dict[str, Any] = {"encoder": encoder, "mechanism": mechanism, "inputs_per_node": 2}
    activation = ("step", "sign")
    model = random_model(7, layers=(5, 3), outputs=2, activation=activation, **options)
    lowered = lower_model(model, quantise(model, 6))
    program, kinds = lowered.program, ("readout", "linear", "external", "mechanism")
    values = trace(program, rows_for(program, 200), range(len(program.ops)))
    for layer in lowered.layers:
        inputs = np.stack([values[ref] for ref in layer.inputs])
        nodes = layer.weights.astype(np.int64) @ inputs >= np.array(layer.thresholds)[:, None]
        np.testing.assert_array_equal(nodes, [values[ref] for ref in layer.nodes])
        assert {0} < set(layer.weights.ravel().tolist()) <= {-1, 0, 1}
    for j, (score, constant) in enumerate(zip(lowered.scores, lowered.constants, strict=True)):
        terms = [term for kind in kinds for term in getattr(lowered, kind).of_output(j)]
        total = constant + sum(weight * values[ref] for ref, weight in terms)
        np.testing.assert_array_equal(total, values[score])


def hidden_of_program(arrays: oracle.Arrays, rows: np.ndarray) -> np.ndarray:
    model = model_from_arrays(exposing_hidden(arrays))
    return interpret(lower(model, quantise(model, 1)), rows)


def check_hidden(arrays: oracle.Arrays, rows: np.ndarray) -> np.ndarray:
    """Every node of every layer is as the file's prose says; returns what they are."""
    found = hidden_of_program(arrays, rows)
    for row, nodes in zip(rows, found, strict=True):
        layers = oracle.hidden(arrays, [int(c) for c in row])
        assert nodes.tolist() == [h for layer in layers for h in layer]
    return found


def all_codes(features: int, input_bits: int) -> np.ndarray:
    return np.array(list(product(range(1 << input_bits), repeat=features)))


@pytest.mark.parametrize("activation", [("sign", "step"), ("step", "sign")], ids=str)
@pytest.mark.parametrize("masked", [None, 1])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_hidden_bits_on_all_codes(
    encoder: str, masked: int | None, activation: tuple[str, str]
) -> None:
    arrays = model_arrays(
        6,
        features=2,
        encoder=encoder,
        bits=3,
        input_bits=4,
        layers=(5, 4),
        activation=activation,
        inputs_per_node=masked,
        spacing="quantile",
    )
    check_hidden(arrays, all_codes(2, 4))


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_ties_are_met_exactly(encoder: str, activation: str) -> None:
    """A node for every value its sum can have, and a hair to either side of it."""
    unit = 1 / 16 if encoder == "none" else 1.0
    sums = np.repeat(np.arange(-9, 10) * unit, 3)
    sums += np.tile([-1e-9, 0.0, 1e-9], 19)
    arrays = model_arrays(
        features=2, encoder=encoder, bits=3, input_bits=4, layers=(57,), activation=activation
    )
    arrays["layer1_weights"][:] = arrays["layer1_weights"][0]
    arrays["layer1_bias"] = -sums
    found = check_hidden(arrays, all_codes(2, 4)[::3])
    switching = (found.min(axis=0) != found.max(axis=0)).sum()
    assert switching > 10


@pytest.mark.parametrize(
    "bound", [0.0, -0.0, 0.5, -0.5, 2.999999999, 3.0, math.nextafter(3.0, 4.0), -8.0, 1e300, -1e300]
)
def test_thresholds_are_the_first_integers_that_pass(bound: float) -> None:
    for strict in (True, False):
        least = _least_integer(bound, strict=strict)
        for value in range(-10, 10):
            assert (value >= least) == (value > bound if strict else value >= bound)


def edge_case(**changes: Any) -> oracle.Arrays:
    options: dict[str, Any] = {"features": 2, "bits": 3, "input_bits": 4, "layers": (4, 2)}
    return model_arrays(1, **(options | changes))


def test_all_weights_equal() -> None:
    arrays = edge_case()
    for packed in (0x00, 0x3F):
        arrays["layer1_weights"][:] = packed
        check_hidden(arrays, all_codes(2, 4))


def test_nodes_that_never_switch() -> None:
    arrays = edge_case(encoder="none")
    arrays["layer1_bias"] = np.array([1e3, -1e3, 1.7e308, -1.7e308])
    found = check_hidden(arrays, all_codes(2, 4))
    assert found[:, :4].tolist() == [[1, -1, 1, -1]] * 256


def test_equal_nodes() -> None:
    arrays = edge_case()
    arrays["layer1_weights"][:] = arrays["layer1_weights"][0]
    arrays["layer1_bias"][:] = 0.5
    check_hidden(arrays, all_codes(2, 4))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_one_feature_of_one_bit(encoder: str) -> None:
    check_hidden(edge_case(features=1, bits=1, input_bits=1, encoder=encoder), np.array([[0], [1]]))


@pytest.mark.parametrize("encoder", ["binary", "gray"])
def test_all_bits_of_the_code(encoder: str) -> None:
    check_hidden(edge_case(encoder=encoder, bits=4, layers=(6,)), all_codes(2, 4))


def test_every_threshold_there_can_be() -> None:
    check_hidden(edge_case(bits=15, layers=(3,)), all_codes(2, 4))


def test_thresholds_of_different_numbers() -> None:
    arrays = edge_case(layers=(3,))
    arrays["encoder_bits"] = np.array([1, 5], dtype=np.int32)
    arrays["thresholds"] = np.array([15, 1, 2, 3, 9, 15])
    check_hidden(arrays, all_codes(2, 4))


def test_inputs_and_outputs_are_ports_in_order() -> None:
    arrays = model_arrays(mechanism="external", outputs=2, linear=False, layers=())
    model = model_from_arrays(arrays)
    program = lower(model, quantise(model, 4))
    names = [op.name for op in program.input_ops()]
    assert names == ["x0", "x1", "x2", "mechanism.y0", "mechanism.y1"]
    assert [op.low for op in program.input_ops()] == [0, 0, 0, -5, -5]
    assert [op.high for op in program.input_ops()] == [255, 255, 255, 20, 20]
    assert len(program.outputs) == 2


def test_a_class_is_as_wide_as_the_last_of_them() -> None:
    model = model_from_arrays(model_arrays(task="classification", outputs=5))
    program = lower(model, quantise(model, 6))
    assert ranges(program)[program.outputs[0]] == (0, 4)


def test_classes_with_equal_scores_go_to_the_first() -> None:
    arrays = model_arrays(task="classification", outputs=3)
    for name in ("readout", "linear"):
        arrays[name][:] = arrays[name][:, :1]
    arrays["intercept"][:] = [0.25, 0.5, 0.5]
    model = model_from_arrays(arrays)
    rows = np.random.default_rng(0).integers(0, 256, (50, 3))
    assert set(interpret(lower(model, quantise(model, 8)), rows)[:, 0]) == {1}


ACTIVATION = (
    "layer {} must have activation sign or step for hardware, not {}; "
    "train again with --activation sign"
)
REAL = (
    "layer 2 must have binary weights for hardware, not real ones; train again with "
    "--weights binary"
)
UNQUANTISED = (
    "inputs must be quantised for hardware, but the model's 'input_bits' is null; "
    "train again with --input-bits 12"
)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "brelu"])
def test_smooth_activations_are_refused(activation: str) -> None:
    for number, pair in ((1, (activation, "sign")), (2, ("sign", activation))):
        refused(model_arrays(layers=(3, 3), activation=pair), ACTIVATION.format(number, activation))


def test_real_weights_are_refused() -> None:
    arrays = model_arrays(layers=(3, 3))
    arrays["layer2_weights"] = np.ones((3, 3))
    meta = arrays["meta"].tobytes().decode()
    first, second = meta.split('"weights": "binary"', 1)
    second = second.replace('"binary"', '"real"')
    arrays["meta"] = np.frombuffer(f'{first}"weights": "binary"{second}'.encode(), np.uint8)
    refused(arrays, REAL)


def test_unquantised_inputs_are_refused() -> None:
    arrays = model_arrays(encoder="none")
    meta = arrays["meta"].tobytes().replace(b'"input_bits": 8', b'"input_bits": null')
    arrays["meta"] = np.frombuffer(meta, np.uint8)
    refused(arrays, UNQUANTISED)


def refused(arrays: oracle.Arrays, message: str) -> None:
    fixed = quantise(model_from_arrays(model_arrays()), 4)
    with pytest.raises(UnsupportedModelError, match=f"^{re.escape(message)}$"):
        lower(model_from_arrays(arrays), fixed)
