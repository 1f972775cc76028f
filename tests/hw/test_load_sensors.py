"""Sensors' integers and target units: the same machine, by an oracle of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir import Product
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    Model,
    classes_of,
    codes,
    evaluate,
    fixed_output,
    for_hardware,
    lower,
    mechanism_words,
    model_from_arrays,
    parse_input_formats,
    quantise,
)
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows, hardware_inputs
from tests.hw import oracle
from tests.support import exposing_hidden, meta_array, model_arrays, random_model

BOARD = boards.get("arty-a7")


def sensor_formats(model: Model, *, bits: int = 7, wider: float = 0.3, seed: int = 0) -> list[str]:
    """Converters that reach beyond the training range on both sides, but for the last feature."""
    random = np.random.default_rng(seed)
    found = []
    for i, name in enumerate(model.features[:-1]):
        span = model.input_max[i] - model.input_min[i]
        low, high = random.uniform(0.1, wider, 2) * span
        ends = f"{model.input_min[i] - low!r}:{model.input_max[i] + high!r}"
        found.append(f"{name}=adc:{bits + i}:{ends}".replace("np.float64(", "").replace(")", ""))
    return found


def middles(model: Model, texts: list[str], integers: np.ndarray) -> np.ndarray:
    """What the integers of a row stand for, in raw units; codes by the middle of theirs."""
    forms = {text.split("=")[0]: text.split(":")[1:] for text in texts}
    raw = np.empty(integers.shape)
    for i, name in enumerate(model.features):
        default = (model.input_bits, model.input_min[i], model.input_max[i])
        bits, low, high = map(float, forms.get(name, default))
        raw[:, i] = low + (integers[:, i] + 0.5) * ((high - low) / 2**bits)
    return raw


def random_integers(model: Model, count: int = 300) -> np.ndarray:
    random = np.random.default_rng(5)
    tops = [(1 << code.bits) - 1 for code in model.codes]
    return np.stack([random.integers(0, top, count, endpoint=True) for top in tops], axis=1)


@pytest.mark.parametrize("units", [False, True], ids=["normalised", "target units"])
@pytest.mark.parametrize("mechanism", ["none", "external", "polynomial", "table"])
@pytest.mark.parametrize("encoder", ["thermometer", "binary", "gray"])
def test_program_is_what_the_numbers_say(encoder: str, mechanism: str, units: bool) -> None:
    """Hidden bits, linear part and mechanism on the grid, by NumPy, for every row."""
    model = model_from_arrays(
        model_arrays(3, encoder=encoder, bits=3, layers=(5, 3), mechanism=mechanism, outputs=2)
    )
    assert model.evaluation is not None
    formats = parse_input_formats(sensor_formats(model), model.features)
    built = for_hardware(model, formats, output_units=units)
    fixed = quantise(built, 10)
    rows = model.evaluation
    activity = evaluate(built, rows.inputs, rows.mechanism)
    integers = codes(built, rows.inputs)
    expected = fixed_output(built, fixed, activity, integers)
    if mechanism == "external":
        words = mechanism_words(built, fixed, activity.mechanism)
        integers = np.hstack([integers, words])
    np.testing.assert_array_equal(interpret(lower(built, fixed), integers), expected)


@pytest.mark.parametrize("bits", [3, 8, 11])
@pytest.mark.parametrize("encoder", ["thermometer", "binary", "gray"])
def test_hidden_bits_are_those_of_the_trained_model(encoder: str, bits: int) -> None:
    """Every node, for random integers, against the model file's prose at the middle of the step."""
    arrays = model_arrays(1, encoder=encoder, bits=3, layers=(6, 4), spacing="quantile")
    model = model_from_arrays(exposing_hidden(arrays))
    texts = sensor_formats(model, bits=bits, wider=1.5)
    built = for_hardware(model, parse_input_formats(texts, model.features))
    integers = random_integers(built)
    found = interpret(lower(built, quantise(built, 1)), integers)
    for row, nodes in zip(middles(model, texts, integers), found, strict=True):
        layers = oracle.hidden(arrays, oracle.code_of(arrays, row))
        assert nodes.tolist() == [h for layer in layers for h in layer]
    assert len(np.unique(found, axis=0)) > 3


def exact_output(arrays: oracle.Arrays, raw: np.ndarray, coded: list[int]) -> list[Fraction]:
    """`y_norm` with hidden bits by the codes, the rest by the feature itself, kept in its range."""
    x = []
    for i, value in enumerate(raw):
        low, high = (Fraction(float(arrays[k][i])) for k in ("input_min", "input_max"))
        place = (Fraction(float(value)) - low) / (high - low)
        # The grid has no cell after its last line.
        x.append(min(max(place, Fraction(0)), 1 - Fraction(1, 2**40)))
    nodes = [h for layer in oracle.hidden(arrays, coded) for h in layer]
    p0 = oracle._mechanism(arrays, x)
    return [
        p0[m]
        + oracle._dot(x, arrays["linear"][:, m])
        + oracle._dot(nodes, arrays["readout"][:, m])
        + Fraction(float(arrays["intercept"][m]))
        for m in range(len(p0))
    ]


@pytest.mark.parametrize("units", [False, True], ids=["normalised", "target units"])
@pytest.mark.parametrize("mechanism", ["none", "polynomial", "table"])
def test_outputs_are_those_of_the_trained_model(mechanism: str, units: bool) -> None:
    """Within what the rounding of coefficients, and the last step inside the range, can do."""
    arrays = model_arrays(2, layers=(4,), mechanism=mechanism, outputs=2, input_bits=10)
    model = model_from_arrays(arrays)
    texts = sensor_formats(model, bits=10)
    built = for_hardware(model, parse_input_formats(texts, model.features), output_units=units)
    fixed = quantise(built, 20)
    integers = random_integers(built)
    found = interpret(lower(built, fixed), integers) / 2.0**fixed.grid_bits
    raw = middles(model, texts, integers)
    span = built.target_max - built.target_min
    norm = (found * span + built.target_min - model.target_min) / (
        model.target_max - model.target_min
    )
    if not units:
        norm = found
    for row, output in zip(raw, norm, strict=True):
        exact = exact_output(arrays, row, oracle.code_of(arrays, row))
        # A step of the sensor at the ends of the range, times the steepest slope there is.
        np.testing.assert_allclose(output, [float(v) for v in exact], atol=2e-2)
    inside = ((raw > model.input_min) & (raw < model.input_max)).all(axis=1)
    assert 20 < inside.sum() < len(raw) - 20
    for row, output in zip(raw[inside], norm[inside], strict=True):
        exact = exact_output(arrays, row, oracle.code_of(arrays, row))
        np.testing.assert_allclose(output, [float(v) for v in exact], atol=3e-5)


@pytest.mark.parametrize("fold", ["none", "2x4"])
@pytest.mark.parametrize(
    "kind",
    [
        {"encoder": "gray", "mechanism": "table"},
        {"encoder": "binary", "mechanism": "polynomial", "outputs": 2},
        {"encoder": "thermometer", "spacing": "quantile", "task": "classification", "outputs": 3},
        {"encoder": "thermometer", "mechanism": "external"},
    ],
    ids=str,
)
def test_cores_in_a_simulator(kind: dict[str, Any], fold: str, tmp_path: Any) -> None:
    model = model_from_arrays(model_arrays(4, **{"layers": (5, 3), "bits": 3, **kind}))
    options = Options(
        fold=fold,
        frac_bits=9,
        input_format=tuple(sensor_formats(model)),
        output_units=not model.is_classifier,
    )
    design = compile_model(model, BOARD, options)
    rows = check_rows(design, model.evaluation)
    np.testing.assert_array_equal(interpret(design.program, rows.inputs), rows.outputs)
    result = simulate(design, rows, "amaranth", tmp_path)
    assert result.failures == () and result.vectors > 20


def test_no_multiplier_is_spent() -> None:
    """As many products as with codes, and no more DSP blocks."""
    for mechanism in ("none", "table"):
        model = model_from_arrays(model_arrays(4, layers=(5,), mechanism=mechanism))
        plain = compile_model(model, BOARD, Options(frac_bits=9))
        formats = tuple(sensor_formats(model, bits=8))
        sensed = compile_model(model, BOARD, Options(frac_bits=9, input_format=formats))
        assert products(sensed) == products(plain)
        if mechanism == "none":
            assert sensed.estimate.dsp <= plain.estimate.dsp


def products(design: Design) -> int:
    return sum(isinstance(op, Product) for op in design.meaning.ops)


def test_the_training_range_itself_changes_nothing() -> None:
    model = model_from_arrays(model_arrays(4, layers=(5,), mechanism="polynomial"))
    low, high = model.input_min.tolist(), model.input_max.tolist()
    texts = [f"x{i}=adc:8:{a!r}:{b!r}" for i, (a, b) in enumerate(zip(low, high, strict=True))]
    built = for_hardware(model, parse_input_formats(texts, model.features))
    fixed = quantise(built, 9)
    assert str(lower(built, fixed)) == str(lower(model, quantise(model, 9)))


def test_rows_and_results_in_units() -> None:
    """From raw rows to targets by the board's own description, as the model has them."""
    model = model_from_arrays(model_arrays(6, layers=(4,), mechanism="external", outputs=2))
    assert model.evaluation is not None
    rows = model.evaluation
    target = np.array([1000.0, 1e-4])
    model = replace(
        model, target_min=model.target_min * target, target_max=model.target_max * target
    )
    options = Options(
        frac_bits=16, input_format=tuple(sensor_formats(model, bits=14)), output_units=True
    )
    design = compile_model(model, BOARD, options)
    meaning = describe(design)
    p0 = rows.mechanism * target
    inputs = meaning.inputs(rows.inputs, p0)
    np.testing.assert_array_equal(inputs, hardware_inputs(design, rows.inputs, p0))
    results = interpret(design.meaning, inputs)
    # Fixed point, and nothing else.
    fractions = np.array([port.fraction for port in meaning.outputs])
    assert [(port.low, port.high) for port in meaning.outputs] == [(0.0, 1.0)] * 2
    np.testing.assert_array_equal(meaning.units(results), results / 2.0**fractions)
    span = model.target_max - model.target_min
    wanted = evaluate(model, rows.inputs, p0).output * span + model.target_min
    error = np.abs(meaning.units(results) - wanted) / span
    # Codes of 8 bits on the PC, of 14 here; hidden bits are apart only near a threshold.
    assert np.median(error) < 4e-3
    assert type(meaning).decode(meaning.encode()) == meaning


def test_a_classifier_keeps_its_classes() -> None:
    model = model_from_arrays(
        model_arrays(5, layers=(8,), task="classification", outputs=3, rows=300)
    )
    assert model.evaluation is not None
    design = compile_model(
        model, BOARD, Options(input_format=tuple(sensor_formats(model, bits=16)))
    )
    rows = check_rows(design, model.evaluation)
    assert rows.activity is not None
    same = classes_of(rows.activity.output) == rows.outputs[:300, 0]
    assert same.mean() > 0.97


REFUSED = [
    (["x0"], "input format must be FEATURE=code or adc:BITS:LOW:HIGH, for one of x0, x1, x2"),
    (["x9=adc:8:0:1"], "not 'x9=adc:8:0:1'"),
    (["x0=adc:8:0"], "input format of 'x0' must be code or adc:BITS:LOW:HIGH, not 'adc:8:0'"),
    (["x0=dac:8:0:1"], "not 'dac:8:0:1'"),
    (["x0=adc:8:low:1"], "not 'adc:8:low:1'"),
    (["x0=adc:25:0:1"], "must have 1 to 24 bits, not 25"),
    (["x0=adc:0:0:1"], "must have 1 to 24 bits, not 0"),
    (["x0=adc:8:1:1"], "must have a finite range, the lower end first, not 1 to 1"),
    (["x0=adc:8:0:inf"], "must have a finite range"),
    (["x0=adc:8:nan:1"], "must have a finite range"),
    (["x0=code", "x0=code"], "input format of 'x0' must be given once, not again as 'code'"),
    (["x0=adc:8:1000:2000"], "must have a step inside the training range"),
    (["x0=adc:1:-1e6:1e6"], "must have a step inside the training range"),
]


@pytest.mark.parametrize(("texts", "complaint"), REFUSED, ids=str)
def test_formats_that_are_refused(texts: list[str], complaint: str) -> None:
    model = model_from_arrays(model_arrays(0))
    with pytest.raises(OptionError, match=re.escape(complaint)):
        for_hardware(model, parse_input_formats(texts, model.features))


def test_all_features_at_once() -> None:
    names = ("a", "b=c", "d")
    found = parse_input_formats(["*=adc:8:0:1", "b=c=adc:9:0:2", "d=code"], names)
    assert [(i, form.bits) for i, form in found.items()] == [(0, 8), (1, 9)]


def test_machines_that_are_refused() -> None:
    plain = model_from_arrays(model_arrays(0, encoder="none"))
    with pytest.raises(UnsupportedModelError, match="must be code with encoder none"):
        compile_model(plain, BOARD, Options(input_format=("x1=adc:8:-9:9",)))
    wide = model_from_arrays(model_arrays(0, encoder="binary", bits=9, input_bits=10))
    with pytest.raises(UnsupportedModelError, match=r"of more than 8 bits, here 9"):
        compile_model(wide, BOARD, Options(input_format=("x1=adc:8:-9:9",)))
    sorter = model_from_arrays(model_arrays(0, task="classification", outputs=2))
    with pytest.raises(OptionError, match="output units must be left out for a classifier"):
        compile_model(sorter, BOARD, Options(output_units=True))


@pytest.mark.parametrize("feature", [0, 2])
def test_a_feature_that_never_changed_in_training(feature: int) -> None:
    for mechanism in ("polynomial", "table"):
        usual = random_model(3, layers=(4,), mechanism=mechanism)
        high = usual.input_max.copy()
        high[feature] = usual.input_min[feature]
        # A file with such a range is refused; a model made otherwise may have one.
        model = replace(usual, input_max=high)
        told = [f"x{feature}=adc:6:-9:9"]
        built = for_hardware(model, parse_input_formats(told, model.features))
        integers = random_integers(built)
        fixed = quantise(built, 12)
        found = interpret(lower(built, fixed), integers) / 2.0**fixed.grid_bits
        integers[:, feature] = 0
        same = interpret(lower(model, quantise(model, 12)), integers)
        np.testing.assert_allclose(found, same / 2.0 ** quantise(model, 12).grid_bits, atol=2e-3)


@pytest.mark.parametrize("span", [1.7e308, 1e-300])
def test_targets_as_wide_and_as_narrow_as_numbers_are(span: float) -> None:
    """Units without room for the next power of two, and hardly any for the last."""
    arrays = model_arrays(3, layers=(4,))
    arrays["target_min"], arrays["target_max"] = np.zeros(1), np.full(1, span)
    arrays["eval_targets"] = arrays["eval_targets"] * 0
    model = model_from_arrays(arrays)
    built = for_hardware(model, {}, output_units=True)
    rows = random_integers(model)
    plain, scaled = (quantise(m, 16) for m in (model, built))
    expected = interpret(lower(model, plain), rows) / 2.0**plain.grid_bits
    found = interpret(lower(built, scaled), rows) / 2.0**scaled.grid_bits
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found * (built.target_max / span), expected, atol=1e-4)


def test_a_polynomial_of_no_term() -> None:
    arrays = model_arrays(3, layers=(4,), mechanism="polynomial", outputs=2)
    arrays["mechanism_exponents"] = arrays["mechanism_exponents"][:0]
    arrays["mechanism_coefficients"] = arrays["mechanism_coefficients"][:0]
    model = model_from_arrays(arrays)
    built = for_hardware(model, parse_input_formats(sensor_formats(model), model.features))
    meta = oracle.meta_of(arrays) | {"mechanism": {"kind": "none"}}
    without = model_from_arrays(arrays | {"meta": meta_array(meta)})
    same = for_hardware(without, parse_input_formats(sensor_formats(model), model.features))
    rows = random_integers(built)
    found, expected = (interpret(lower(m, quantise(m, 8)), rows) for m in (built, same))
    np.testing.assert_array_equal(found, expected)
