"""Fraction bits: the fewest that keep the error, and never an overflow."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir import ranges
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    FixedPoint,
    Model,
    choose_fixed_point,
    choose_output_bits,
    classes_of,
    codes,
    cut,
    evaluate,
    fixed_output,
    integers,
    lower,
    mechanism_words,
    model_from_arrays,
    quantise,
    rmse,
)
from scm_model.fixed_point import linear_groups
from tests.hw import oracle
from tests.support import model_arrays, random_model

MECHANISMS = ("none", "external", "polynomial", "table")


def on_the_grid(model: Model, fixed: FixedPoint) -> np.ndarray:
    """The outputs of the evaluation rows in hardware, normalised."""
    rows = model.evaluation
    assert rows is not None
    activity = evaluate(model, rows.inputs, rows.mechanism)
    code = codes(model, rows.inputs)
    return fixed_output(model, fixed, activity, code) / 2.0**fixed.grid_bits


def relative_loss(model: Model, fixed: FixedPoint) -> float:
    rows = model.evaluation
    assert rows is not None
    target = (rows.targets - model.target_min) / (model.target_max - model.target_min)
    pc = rmse(evaluate(model, rows.inputs, rows.mechanism).output, target)
    return abs(rmse(on_the_grid(model, fixed), target) - pc) / pc


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_the_fewest_bits_within_tolerance(mechanism: str, tolerance: float) -> None:
    for seed in range(3):
        model = random_model(seed, outputs=2, mechanism=mechanism)
        fixed = choose_fixed_point(model, tolerance=tolerance)
        assert relative_loss(model, fixed) <= tolerance
        for fewer in range(1, fixed.frac_bits):
            assert relative_loss(model, quantise(model, fewer)) > tolerance


def test_the_tolerance_of_a_classifier_is_a_share_of_rows() -> None:
    model = random_model(1, task="classification", outputs=4, rows=200)
    assert model.evaluation is not None
    pc = classes_of(evaluate(model, model.evaluation.inputs).output)

    def changed(fixed: FixedPoint) -> float:
        return float((classes_of(on_the_grid(model, fixed)) != pc).mean())

    for tolerance in (1e-4, 0.02, 0.2):
        chosen = choose_fixed_point(model, tolerance=tolerance)
        assert changed(chosen) <= tolerance
        fewer = range(1, chosen.frac_bits)
        assert all(changed(quantise(model, bits)) > tolerance for bits in fewer)
    assert choose_fixed_point(model, tolerance=0.2).frac_bits < choose_fixed_point(model).frac_bits


def test_without_rows_the_worst_case_is_bounded() -> None:
    for mechanism in MECHANISMS:
        with_rows = random_model(4, layers=(30,), mechanism=mechanism)
        model = replace(with_rows, evaluation=None)
        for tolerance in (1e-2, 1e-4):
            fixed = choose_fixed_point(model, tolerance=tolerance)
            assert with_rows.evaluation is not None
            rows = with_rows.evaluation
            pc = evaluate(model, rows.inputs, rows.mechanism).output
            assert np.abs(on_the_grid(with_rows, fixed) - pc).max() <= tolerance


def test_a_coarse_tolerance_still_has_a_bit() -> None:
    model = replace(random_model(layers=(), linear=False), evaluation=None)
    assert choose_fixed_point(model, tolerance=0.9).frac_bits == 1


def test_a_tolerance_out_of_reach_is_refused() -> None:
    with pytest.raises(
        OptionError,
        match=re.escape(
            "tolerance must be reachable with 28 fraction bits, not 1e-15; "
            "raise --tolerance or give --frac-bits"
        ),
    ):
        choose_fixed_point(random_model(3), tolerance=1e-15)


@pytest.mark.parametrize("frac_bits", [1, 9, 28])
def test_bits_as_told(frac_bits: int) -> None:
    assert choose_fixed_point(random_model(), frac_bits=frac_bits).frac_bits == frac_bits


@pytest.mark.parametrize("frac_bits", [0, -1, 29])
def test_bits_out_of_range(frac_bits: int) -> None:
    message = f"frac bits must be in [1, 28], not {frac_bits}"
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        choose_fixed_point(random_model(), frac_bits=frac_bits)


@pytest.mark.parametrize("tolerance", [0.0, -1e-4, 1.0, float("nan")])
def test_tolerance_out_of_range(tolerance: float) -> None:
    message = f"tolerance must be above 0 and below 1, not {tolerance!r}"
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        choose_fixed_point(random_model(), tolerance=tolerance)


def error_bound(arrays: oracle.Arrays, fixed: FixedPoint) -> float:
    """Half a unit for every rounded coefficient, half a grid step for the constant."""
    terms = len(arrays["readout"]) + len(arrays["linear"]) + len(arrays["mechanism_exponents"])
    return terms * 0.5 * 2.0**-fixed.frac_bits + 0.5 * 2.0**-fixed.grid_bits


@pytest.mark.parametrize("mechanism", ["none", "polynomial", "table"])
@pytest.mark.parametrize("frac_bits", [3, 12, 20])
def test_only_coefficients_are_rounded(mechanism: str, frac_bits: int) -> None:
    """Everything else is exact, so the error has a bound that counts coefficients alone."""
    arrays = model_arrays(7, mechanism=mechanism, outputs=2, layers=(4,), input_bits=6)
    model = model_from_arrays(arrays)
    fixed = quantise(model, frac_bits)
    # One unit of a grid point, shared out between corners, is as much as one more coefficient.
    arrays.setdefault("mechanism_exponents", np.zeros((int(mechanism == "table"), 3)))
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 64, (20, 3))
    found = interpret(lower(model, fixed), rows)
    for row, words in zip(rows, found, strict=True):
        exact = oracle.y_norm(arrays, [int(c) for c in row])
        for word, y in zip(words, exact, strict=True):
            assert abs(Fraction(int(word), 2**fixed.grid_bits) - y) <= error_bound(arrays, fixed)


@pytest.mark.parametrize("activation", ["sign", "step"])
def test_every_coefficient_is_rounded_to_the_nearest(activation: str) -> None:
    model = random_model(5, layers=(20,), outputs=2, mechanism="polynomial", activation=activation)
    fixed = quantise(model, 6)
    one, half = 2.0**fixed.grid_bits, 2.0**-7
    swing, off = (2, -1) if activation == "sign" else (1, 0)
    assert np.abs(fixed.readout / one - swing * model.readout).max() <= half
    linear = fixed.linear / one * 2**8
    assert np.abs(linear - model.linear).max() <= half
    # The constant holds intercept, clear bits and half steps, on the finest grid.
    base = model.intercept + off * model.readout.sum(axis=0) + linear.sum(axis=0) / 2**9
    np.testing.assert_allclose(fixed.constant / one, base, atol=1 / one)
    assert model.mechanism.coefficients is not None and fixed.mechanism is not None
    assert model.mechanism.exponents is not None
    degrees = model.mechanism.exponents.sum(axis=1)[:, None]
    coefficients = fixed.mechanism / one * 2.0 ** (9 * degrees)
    assert np.abs(coefficients - model.mechanism.coefficients).max() <= half


def test_external_words_are_rounded_and_saturate() -> None:
    model = random_model(mechanism="external", outputs=2)
    fixed = quantise(model, 4)
    words = mechanism_words(model, fixed, np.array([[-9.0, 9.0], [0.51, 0.49], [-0.3, 1.2]]))
    assert fixed.word_range is not None
    assert fixed.word_range.tolist() == [[-5, -5], [20, 20]]
    assert words.tolist() == [[-5, 20], [8, 8], [-5, 19]]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("encoder", ["thermometer", "none"])
def test_nothing_overflows(mechanism: str, encoder: str) -> None:
    """The ranges of a program bound its outputs, and its interpreter's integers hold them."""
    model = random_model(2, mechanism=mechanism, encoder=encoder, input_bits=6)
    for frac_bits in (1, 12, 20):
        program = lower(model, quantise(model, frac_bits))
        assert max(r.width for r in ranges(program)) <= 61


Change = Callable[[dict[str, np.ndarray]], object]
TOO_WIDE = (
    "outputs must fit 60 bits, not {} ({} of them fraction); use fewer --frac-bits, "
    "fewer input bits, or a mechanism of lower degree"
)


def grown(name: str, value: float) -> Change:
    return lambda arrays: arrays[name].__setitem__(0, value)


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({}, grown("readout", 1e300)),
        ({}, grown("readout", 1e308)),
        ({}, grown("readout", -1e15)),
        ({}, grown("linear", 1e300)),
        ({}, grown("intercept", -1e300)),
        ({"mechanism": "table"}, grown("mechanism_grid", 1e300)),
        ({"mechanism": "external"}, grown("mechanism_range", -1e300)),
        ({"mechanism": "polynomial"}, grown("mechanism_coefficients", 1e300)),
        ({"mechanism": "polynomial"}, grown("mechanism_exponents", 7)),
        ({"mechanism": "polynomial"}, grown("mechanism_exponents", 255)),
        ({"mechanism": "polynomial", "input_bits": 24}, grown("intercept", 0.0)),
    ],
    ids=lambda v: "" if callable(v) else str(v),
)
def test_outputs_that_are_too_wide_are_refused(options: dict[str, Any], change: Change) -> None:
    arrays = model_arrays(**options)
    change(arrays)
    pattern = re.escape(TOO_WIDE).replace(r"\{\}", r"\d+")
    with pytest.raises(UnsupportedModelError, match=f"^{pattern}$"):
        choose_fixed_point(model_from_arrays(arrays), frac_bits=12)


@pytest.mark.filterwarnings("error")
def test_a_refusal_comes_before_any_warning() -> None:
    arrays = model_arrays()
    arrays["readout"][:] = 1e308
    with pytest.raises(UnsupportedModelError, match=r"^outputs must fit 60 bits, not "):
        choose_fixed_point(model_from_arrays(arrays))


def test_the_widest_that_fits_is_exact() -> None:
    """Just below the limit, integers still say what fractions say."""
    arrays = model_arrays(3, mechanism="polynomial", input_bits=9, features=2)
    arrays["mechanism_exponents"][0] = [3, 1]
    model = model_from_arrays(arrays)
    fixed = quantise(model, 14)
    assert fixed.grid_bits == 54
    rows = np.array([[0, 0], [511, 511], [511, 0], [37, 400]])
    for row, (word,) in zip(rows, interpret(lower(model, fixed), rows), strict=True):
        (exact,) = oracle.y_norm(arrays, [int(c) for c in row])
        assert abs(Fraction(int(word), 2**54) - exact) <= error_bound(arrays, fixed)


# Products cut to the bits of the outputs


def cut_outputs(model: Model, fixed: FixedPoint) -> tuple[np.ndarray, np.ndarray]:
    """By the program, and by the arrays."""
    rows = model.evaluation
    assert rows is not None
    inputs = integers(model, fixed, rows.inputs, rows.mechanism)
    activity = evaluate(model, rows.inputs, rows.mechanism)
    code = inputs[:, : len(model.features)]
    return interpret(lower(model, fixed), inputs), fixed_output(model, fixed, activity, code)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_cut_products_are_rounded_down_in_groups(mechanism: str) -> None:
    for seed in range(3):
        features = 3 if mechanism == "polynomial" else 9
        model = random_model(seed, features=features, layers=(4,), mechanism=mechanism, outputs=2)
        whole = quantise(model, 6)
        exact = cut_outputs(model, whole)[0] / 2.0**whole.grid_bits
        for bits in (2, 6, 8, whole.product_bits):
            fixed = cut(model, whole, bits)
            found, expected = cut_outputs(model, fixed)
            np.testing.assert_array_equal(found, expected)
            # Each group may be half a unit of the sums off, and the output half one of its own.
            groups = max(len(linear_groups(column)) for column in whole.linear.T) + 2
            room = groups * 2.0**-fixed.sum_bits + 2.0**-bits
            assert abs(found / 2.0**bits - exact).max() < room
        np.testing.assert_array_equal(found, cut_outputs(model, whole)[0])


def test_groups_have_one_sign_and_two_products_at_most() -> None:
    weights = np.array([3, -1, 0, 5, 2, 7, 1, -4])
    assert linear_groups(weights) == [(0, 3), (4, 5), (6,), (1, 7)]
    assert linear_groups(np.zeros(4, np.int64)) == []


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_products_are_cut_within_the_tolerance(task: str) -> None:
    for seed in range(3):
        model = random_model(seed, features=6, layers=(9,), task=task, outputs=3, rows=200)
        for tolerance in (1e-1, 1e-4):
            whole = choose_fixed_point(model, tolerance=tolerance)
            fixed = choose_output_bits(model, whole, tolerance=tolerance)
            assert whole.frac_bits <= fixed.grid_bits <= whole.product_bits
            loss = relative_loss if task == "regression" else _changed
            assert loss(model, fixed) <= tolerance
            for bits in range(whole.frac_bits, fixed.grid_bits):
                assert loss(model, cut(model, whole, bits)) > tolerance


def _changed(model: Model, fixed: FixedPoint) -> float:
    rows = model.evaluation
    assert rows is not None
    activity = evaluate(model, rows.inputs, rows.mechanism)
    found = fixed_output(model, fixed, activity, codes(model, rows.inputs))
    return float((classes_of(activity.output) != classes_of(found)).mean())


def test_without_rows_products_are_cut_for_the_worst_case() -> None:
    model = replace(random_model(4, features=6, layers=(9,)), evaluation=None)
    whole = choose_fixed_point(model, tolerance=0.01)
    fixed = choose_output_bits(model, whole, tolerance=0.01)
    assert whole.frac_bits <= fixed.grid_bits < whole.product_bits
    # Bits that were asked for may leave no room.
    coarse = quantise(model, 2)
    assert choose_output_bits(model, coarse, tolerance=0.01) is coarse


@pytest.mark.parametrize("bits", [0, 40])
def test_output_bits_out_of_range(bits: int) -> None:
    model = random_model()
    whole = quantise(model, 6)
    message = f"output bits must be in [1, {whole.product_bits}] for this model, not {bits}"
    with pytest.raises(OptionError, match=re.escape(message)):
        choose_output_bits(model, whole, output_bits=bits)
