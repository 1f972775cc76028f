"""The PC model against the model file's prose, in exact fractions."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from scm_model import classes_of, codes, evaluate, model_from_arrays, normalise
from scm_model.errors import ParameterError
from tests.hw import oracle
from tests.support import model_arrays, random_model

ENCODERS = ("thermometer", "binary", "gray", "none")
MECHANISMS = ("none", "external", "polynomial", "table")


@pytest.mark.parametrize(("encoder", "mechanism"), list(product(ENCODERS, MECHANISMS)))
def test_the_model_does_what_its_file_says(encoder: str, mechanism: str) -> None:
    arrays = model_arrays(
        3,
        encoder=encoder,
        mechanism=mechanism,
        outputs=2,
        layers=(5, 4),
        activation=("sign", "step"),
        inputs_per_node=2,
        spacing="quantile",
        rows=12,
    )
    rows, p0 = arrays["eval_inputs"], arrays.get("eval_mechanism")
    activity = evaluate(model_from_arrays(arrays), rows, p0)
    for number, row in enumerate(rows):
        code = oracle.code_of(arrays, row)
        nodes = [h for layer in oracle.hidden(arrays, code) for h in layer]
        assert activity.hidden[number].tolist() == nodes
        exact = oracle.y_norm(arrays, code, _normalised(arrays, number))
        np.testing.assert_allclose(activity.output[number], [float(y) for y in exact], atol=1e-12)


def _normalised(arrays: oracle.Arrays, row: int) -> Any:
    if "eval_mechanism" not in arrays:
        return None
    low, high = arrays["target_min"], arrays["target_max"]
    return (arrays["eval_mechanism"][row] - low) / (high - low)


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_ties_at_thresholds(encoder: str, activation: str) -> None:
    """Biases that some sum meets exactly: sign stays below, step switches."""
    arrays = model_arrays(
        5, encoder=encoder, features=2, bits=3, input_bits=4, layers=(8,), activation=activation
    )
    arrays["layer1_bias"] = np.arange(-4.0, 4.0) / (16 if encoder == "none" else 1)
    model = model_from_arrays(arrays)
    all_codes = np.array(list(product(range(16), repeat=2)))
    span = model.input_max - model.input_min
    rows = model.input_min + (all_codes + 0.5) / 16 * span
    np.testing.assert_array_equal(codes(model, rows), all_codes)
    expected = [oracle.hidden(arrays, [int(c) for c in code])[0] for code in all_codes]
    np.testing.assert_array_equal(evaluate(model, rows).hidden, expected)


def test_codes_saturate_and_constant_features_are_zero() -> None:
    low, high = np.array([0.0, 2.0, 0.0]), np.array([1.0, 2.0, 1.0])
    # A file with such a range is refused; a model made otherwise may have one.
    model = replace(random_model(features=3, input_bits=4), input_min=low, input_max=high)
    rows = np.array([[-5.0, 2.0, 0.0], [5.0, 7.0, 1.0], [0.5, -7.0, 0.9999]])
    assert codes(model, rows).tolist() == [[0, 0, 0], [15, 0, 15], [8, 0, 15]]
    assert normalise(model, rows)[:, 1].tolist() == [0.0, 0.0, 0.0]


def test_codes_of_edges_are_those_of_the_prose() -> None:
    arrays = model_arrays(2, features=3, input_bits=8)
    model = model_from_arrays(arrays)
    span = arrays["input_max"] - arrays["input_min"]
    rows = arrays["input_min"] + np.arange(-3, 260)[:, None] / 256 * span
    expected = [oracle.code_of(arrays, row) for row in rows]
    np.testing.assert_array_equal(codes(model, rows), expected)


def test_real_activations() -> None:
    for activation, phi in (
        ("tanh", np.tanh),
        ("sigmoid", lambda z: 1 / (1 + np.exp(-z))),
        ("brelu", lambda z: np.minimum(np.maximum(z, 0), 1)),
    ):
        arrays = model_arrays(1, activation=activation, layers=(4,), encoder="none")
        model = model_from_arrays(arrays)
        activity = evaluate(model, arrays["eval_inputs"])
        (layer,) = model.layers
        z = layer.lambdas * (activity.x @ layer.weights.T + layer.biases)
        np.testing.assert_allclose(activity.hidden, phi(z), rtol=1e-12)


def test_unquantised_inputs_are_not_clipped() -> None:
    arrays = model_arrays(encoder="none", layers=())
    meta = arrays["meta"].tobytes().replace(b'"input_bits": 8', b'"input_bits": null')
    arrays["meta"] = np.frombuffer(meta, np.uint8)
    model = model_from_arrays(arrays)
    row = model.input_max + 3 * (model.input_max - model.input_min)
    np.testing.assert_allclose(evaluate(model, row[None]).x, [[4.0] * 3])


def test_blocks_of_rows_are_joined_in_order() -> None:
    model = random_model(layers=(5, 2))
    rng = np.random.default_rng(0)
    rows = rng.uniform(model.input_min, model.input_max, (5000, 3))
    whole = evaluate(model, rows)
    np.testing.assert_array_equal(whole.hidden[4090:4100], evaluate(model, rows[4090:4100]).hidden)
    assert whole.output.shape == (5000, 1)


def test_the_first_of_equal_classes_wins() -> None:
    output = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    assert classes_of(output).tolist() == [0, 1, 0]


def test_an_external_mechanism_has_to_be_given() -> None:
    model = random_model(mechanism="external")
    message = (
        "mechanism_values must be given for a model with an external mechanism, not None; "
        "pass P0 of each row, or load the model with mechanism=<callable>"
    )
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        evaluate(model, np.zeros((2, 3)))


def test_a_table_holds_its_ends_where_inputs_are_not_quantised() -> None:
    arrays = model_arrays(encoder="none", layers=(), mechanism="table", features=1)
    meta = arrays["meta"].tobytes().replace(b'"input_bits": 8', b'"input_bits": null')
    arrays["meta"] = np.frombuffer(meta, np.uint8)
    model = model_from_arrays(arrays)
    span = model.input_max - model.input_min
    beyond = np.array([model.input_min - span, model.input_max + 3 * span])
    np.testing.assert_array_equal(
        evaluate(model, beyond).mechanism, arrays["mechanism_grid"][[0, -1]]
    )
