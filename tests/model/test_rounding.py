"""Coefficients rounded jointly: less error on the rows for the same bits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from scm_hw.load import (
    Model,
    choose_fixed_point,
    codes,
    evaluate,
    fixed_output,
    model_from_arrays,
    quantise,
)
from scm_model.rounding import JointRounding, Rounded, nearest
from tests.support import model_arrays, random_model


def error(model: Model, rounded: Rounded, frac_bits: int) -> float:
    rows = model.evaluation
    assert rows is not None
    activity = evaluate(model, rows.inputs, rows.mechanism)
    fixed = quantise(model, frac_bits, rounded)
    outputs = fixed_output(model, fixed, activity, codes(model, rows.inputs))
    return float(np.sqrt(np.mean((outputs / 2.0**fixed.grid_bits - activity.output) ** 2)))


def jointly(model: Model, frac_bits: int) -> Rounded:
    rows = model.evaluation
    assert rows is not None
    return JointRounding(model, evaluate(model, rows.inputs, rows.mechanism)).rounded(frac_bits)


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_less_error_for_the_same_bits(activation: str, outputs: int) -> None:
    model = random_model(
        2, layers=(12, 6), features=4, activation=activation, outputs=outputs, rows=400
    )
    for frac_bits in (3, 6, 9):
        rounded = jointly(model, frac_bits)
        assert error(model, rounded, frac_bits) < error(model, nearest(model, frac_bits), frac_bits)


def test_two_nodes_that_always_agree_share_their_error() -> None:
    """Each is off by nearly half a unit; together they need not be."""
    arrays = model_arrays(1, layers=(2,), linear=False, rows=50)
    for name in ("weights", "lambda", "bias"):
        arrays[f"layer1_{name}"][1] = arrays[f"layer1_{name}"][0]
    arrays["readout"][:] = 0.7 / 2 / 8
    model = model_from_arrays(arrays)
    rounded = jointly(model, 3)
    assert nearest(model, 3).readout.sum() == 2
    assert rounded.readout.sum() == 1


def test_what_is_zero_stays_zero() -> None:
    arrays = model_arrays(3, layers=(40,), features=2, bits=3, rows=100)
    arrays["readout"][5:25] = 0
    arrays["linear"][1] = 0
    arrays["intercept"][:] = 0
    model = model_from_arrays(arrays)
    for frac_bits in range(2, 9):
        rounded = jointly(model, frac_bits)
        assert not rounded.readout[5:25].any()
        assert not rounded.linear[1].any()
        assert np.isfinite(rounded.constant).all()


def test_it_is_near_the_best_there_is() -> None:
    """Against every choice within a unit of the real coefficients, for three nodes."""
    model = random_model(5, layers=(3,), linear=False, rows=60)
    found = jointly(model, 2)
    base = np.floor(nearest(model, 2).readout).astype(np.int64)
    best = min(
        error(model, Rounded(base + np.array(step)[:, None], found.linear, constant), 2)
        for step in product((-1, 0, 1), repeat=3)
        for constant in [found.constant]
    )
    assert error(model, found, 2) <= 1.5 * best


def test_fewer_fraction_bits_keep_the_tolerance() -> None:
    """Nodes that nearly agree, as trained ones do."""
    arrays = model_arrays(7, layers=(24,), features=2, bits=7, linear=False, rows=300)
    model = model_from_arrays(arrays)
    rows = model.evaluation
    assert rows is not None
    chosen = choose_fixed_point(model).frac_bits
    budget = [
        bits
        for bits in range(1, 25)
        if error(model, nearest(model, bits), bits) <= error(model, jointly(model, chosen), chosen)
    ]
    assert chosen < budget[0]
