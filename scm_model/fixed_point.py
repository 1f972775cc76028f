"""Real coefficients onto one binary grid.

Readout, linear weights, intercept and mechanism become integers with `frac_bits` fraction bits.
What multiplies them (codes, and products of codes) has a finite number of fraction bits too, so
that all sums are exact on the grid of `product_bits` fraction bits.

Most of those bits say nothing: a code of 12 bits times a coefficient has 12 more than the
coefficient, which was rounded before. So `cut` drops the lowest bits of products, in groups: the
products of a group are added up exactly and rounded down once. What comes out is
`y_norm = n / 2**grid_bits`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scm_model.cell_table import cells_and_positions, corners, fraction_bits, table_of
from scm_model.errors import UnsupportedModelError
from scm_model.mechanism import ExternalModel, PolynomialModel
from scm_model.model import Model
from scm_model.reference import (
    Activity,
    family_output,
    held_codes,
    input_codes,
    mechanism_values,
)
from scm_model.rounding import Rounded, bit_values, nearest
from scm_model.scaling import Floats

Integers = NDArray[np.int64]

# Sums are held in 64 bits by the interpreter.
MAX_OUTPUT_BITS = 60
PRODUCTS_PER_GROUP = 2


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Integer coefficients.

    `readout` is what an output gains when a hidden bit is set rather than clear; `constant` holds
    the intercept, what the clear bits contribute, the half step of the codes, and what rounding
    down loses on average. Both are in units of 2**-sum_bits. `linear` is in units of
    2**-product_bits. `mechanism` is, by kind: polynomial coefficients (terms, m), likewise; for a
    table, one integer table for each subset of its inputs (multilinear coefficients),
    (2**t, cells..., m), in units of 2**-frac_bits.
    """

    frac_bits: int
    product_bits: int
    sum_bits: int
    grid_bits: int
    readout: Integers
    linear: Integers
    constant: Integers
    mechanism: Integers | None = None
    word_range: Integers | None = None

    @property
    def extra_bits(self) -> int:
        """Fraction bits that products with codes add to those of the coefficients."""
        return self.product_bits - self.frac_bits

    @property
    def dropped_bits(self) -> int:
        """Bits that groups of products lose."""
        return self.product_bits - self.sum_bits

    @property
    def spare_bits(self) -> int:
        """Bits that outputs lose at the end."""
        return self.sum_bits - self.grid_bits


def linear_groups(weights: Integers) -> list[tuple[int, ...]]:
    """The features whose products are cut together, given the coefficients of one output.

    So few that DSP blocks add them in the cycle in which they multiply, and of one sign, so that
    they can.
    """
    signs = [np.flatnonzero(weights > 0).tolist(), np.flatnonzero(weights < 0).tolist()]
    return [
        tuple(features[start : start + PRODUCTS_PER_GROUP])
        for features in signs
        for start in range(0, len(features), PRODUCTS_PER_GROUP)
    ]


def rmse(output: Floats, target: Floats) -> float:
    """Root mean square error over all rows and outputs."""
    return float(np.sqrt(np.mean((output - target) ** 2)))


def normalised_results(
    model: Model, hardware: Model, fixed: FixedPoint, results: Integers
) -> Floats:
    """What a core of `hardware` answers, scaled to [0, 1] over the targets' ranges of `model`."""
    values = results / 2.0**fixed.grid_bits
    if hardware.target_min is model.target_min:
        return values
    span = hardware.target_max - hardware.target_min
    raw = values * span + hardware.target_min
    return (raw - model.target_min) / (model.target_max - model.target_min)


def quantise(model: Model, frac_bits: int, rounded: Rounded | None = None) -> FixedPoint:
    """All coefficients with `frac_bits` fraction bits, on a grid where sums are exact.

    They are rounded to the nearest unless `rounded` has them.
    """
    check_width(model, frac_bits)
    rounded = rounded or nearest(model, frac_bits)
    extra = _extra_bits(model)
    scale, unit = 2.0**frac_bits, 1 << extra
    bits = np.array([code.bits for code in model.codes])[:, None]
    # w (code + 1/2) / 2^b: the half step is the same in every row, and joins the constant.
    half_steps = (rounded.linear * (0.5 / 2.0**bits)).sum(axis=0) / scale
    return FixedPoint(
        frac_bits,
        product_bits=frac_bits + extra,
        sum_bits=frac_bits + extra,
        grid_bits=frac_bits + extra,
        readout=rounded.readout * unit,
        linear=rounded.linear * (1 << np.maximum(extra - bits, 0)),
        constant=np.rint((rounded.constant + half_steps) * scale * unit).astype(np.int64),
        mechanism=_quantise_mechanism(model, scale, extra),
        word_range=_word_range(model, scale),
    )


def _extra_bits(model: Model) -> int:
    used = zip(model.codes, model.linear, strict=True)
    needs = [0, *(code.bits for code, weights in used if weights.any())]
    if isinstance(model.mechanism, PolynomialModel):
        needs.append(int(_polynomial_bits(model, model.mechanism).max(initial=0)))
    elif model.mechanism.kind == "table":
        needs.append(sum(fraction_bits(model)))
    return max(needs)


def _polynomial_bits(model: Model, mechanism: PolynomialModel) -> Integers:
    """Fraction bits of the product of codes in each term."""
    bits: Integers = np.array([code.bits + 1 for code in model.codes], dtype=np.int64)
    found: Integers = mechanism.exponents.astype(np.int64) @ bits
    return found


def _quantise_mechanism(model: Model, scale: float, extra: int) -> Integers | None:
    mechanism = model.mechanism
    if isinstance(mechanism, PolynomialModel):
        unit = np.int64(1) << (extra - _polynomial_bits(model, mechanism))
        return np.rint(mechanism.coefficients * scale).astype(np.int64) * unit[:, None]
    if mechanism.kind == "table":
        return _multilinear(np.rint(corners(model) * scale).astype(np.int64))
    return None


def _multilinear(ends: Integers) -> Integers:
    """Differences between the corners of each cell: the coefficient of the product of each subset
    of directions."""
    directions = (ends.ndim - 1) // 2
    tables = []
    for subset in product((0, 1), repeat=directions):
        table = ends
        for chosen in subset:
            # Between two corners f0 + (f1 - f0) t; once for each direction.
            table = table[1] - table[0] if chosen else table[0]
        tables.append(table)
    return np.stack(tables)


def _word_range(model: Model, scale: float) -> Integers | None:
    if not isinstance(model.mechanism, ExternalModel):
        return None
    low, high = model.mechanism.range
    # Rounded outwards, so that no value of the range saturates.
    return np.stack([np.floor(low * scale), np.ceil(high * scale)]).astype(np.int64)


def mechanism_words(model: Model, fixed: FixedPoint, values: Floats) -> Integers:
    """External P0 (normalised) as the words that hardware takes, saturated to their range."""
    assert fixed.word_range is not None
    words = np.rint(values * 2.0**fixed.frac_bits)
    return np.clip(words, fixed.word_range[0], fixed.word_range[1]).astype(np.int64)


def integers(
    model: Model, fixed: FixedPoint, raw: Floats, mechanism: Floats | None = None
) -> Integers:
    """Raw rows as the integers that enter a core; `mechanism` is P0 where it is external."""
    columns = [input_codes(model, raw)]
    if fixed.word_range is not None:
        columns.append(mechanism_words(model, fixed, mechanism_values(model, raw, mechanism)))
    return np.concatenate(columns, axis=1)


def cut(model: Model, fixed: FixedPoint, grid_bits: int) -> FixedPoint:
    """The same coefficients, and outputs of fewer fraction bits.

    Sums keep those of the coefficients; outputs of fewer yet are rounded down at the end.
    """
    sum_bits = max(grid_bits, fixed.frac_bits)
    dropped, spare = fixed.sum_bits - sum_bits, sum_bits - grid_bits
    signs = [
        # Rounding down makes a group that is added too small and one that is subtracted too large,
        # which make up for each other.
        sum(1 if column[group[0]] > 0 else -1 for group in linear_groups(column))
        for column in fixed.linear.T
    ]
    groups = np.array(signs) + _has_products(model)
    # Half of what each rounding down can lose.
    constant = fixed.constant + (groups * (2.0**dropped - 1) + (2.0**spare - 1) * 2.0**dropped) / 2
    return replace(
        fixed,
        sum_bits=sum_bits,
        grid_bits=grid_bits,
        # Nothing is lost: readouts end in as many zeros as products have extra bits.
        readout=fixed.readout >> dropped,
        constant=np.rint(constant / 2.0**dropped).astype(np.int64),
    )


def _has_products(model: Model) -> bool:
    """Whether the mechanism multiplies codes."""
    return model.mechanism.kind in ("polynomial", "table")


def fixed_output(model: Model, fixed: FixedPoint, activity: Activity, code: Integers) -> Integers:
    """The outputs on the grid, from hidden bits and codes: what the Program must equal."""
    bits, held = (activity.hidden > 0).astype(np.int64), held_codes(model, code)
    total: Integers = bits @ fixed.readout[: bits.shape[1]] + fixed.constant
    total += family_output(activity.firing, fixed.readout)
    if model.mechanism.kind == "external":
        words = mechanism_words(model, fixed, activity.mechanism)
        total += words << (fixed.sum_bits - fixed.frac_bits)
    if _has_products(model):
        total += _mechanism_output(model, fixed, held) >> fixed.dropped_bits
    return (total + _linear_output(fixed, held)) >> fixed.spare_bits


def _linear_output(fixed: FixedPoint, held: Integers) -> Integers:
    if not fixed.dropped_bits:
        exact: Integers = held @ fixed.linear
        return exact
    total = np.zeros((len(held), fixed.linear.shape[1]), np.int64)
    for output, column in enumerate(fixed.linear.T):
        for group in map(list, linear_groups(column)):
            products = held[:, group] @ np.abs(column[group]) >> fixed.dropped_bits
            total[:, output] += np.sign(column[group[0]]) * products
    return total


def _mechanism_output(model: Model, fixed: FixedPoint, held: Integers) -> Integers:
    mechanism = model.mechanism
    if isinstance(mechanism, PolynomialModel):
        assert fixed.mechanism is not None
        # x = (code + 1/2) / 2^b = odd / 2^(b + 1): products of inputs are products of odd numbers.
        odd = 2 * held + 1
        terms = (odd[:, None, :] ** mechanism.exponents.astype(np.int64)[None]).prod(axis=2)
        return terms @ fixed.mechanism
    return _table_output(model, fixed, held)


def _table_output(model: Model, fixed: FixedPoint, held: Integers) -> Integers:
    assert fixed.mechanism is not None
    inside = fraction_bits(model)
    cells, positions = cells_and_positions(model, held)
    total = np.zeros((len(held), model.outputs), np.int64)
    for table, subset in zip(fixed.mechanism, product((0, 1), repeat=len(inside)), strict=True):
        factor = np.where(np.array(subset), positions, 1 << np.array(inside)).prod(axis=1)
        total += factor[:, None] * table[tuple(cells.T)]
    return total << (fixed.extra_bits - sum(inside))


def rounded_terms(model: Model) -> int:
    """How many rounded coefficients an output is made of."""
    terms = (
        sum(layer.nodes for layer in model.hidden.layers) + int(model.linear.any(axis=1).sum()) + 1
    )
    if model.families is not None:
        # Of each family one node fires.
        terms += len(model.families.supports)
    if isinstance(model.mechanism, PolynomialModel):
        terms += len(model.mechanism.exponents)
    elif model.mechanism.kind != "none":
        terms += 2
    return terms


def check_width(model: Model, frac_bits: int) -> None:
    """Refuse coefficients whose sums 64-bit integers couldn't hold, before any becomes one."""
    grid_bits = frac_bits + _extra_bits(model)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = float(np.nan_to_num(_reach(model, frac_bits).max(), nan=np.inf))
    # On the grid itself there must be room for 1, whatever the coefficients are.
    bits = grid_bits + max(math.ceil(math.log2(min(reach, sys.float_info.max))), 0)
    if bits > MAX_OUTPUT_BITS:
        raise UnsupportedModelError(
            f"outputs must fit {MAX_OUTPUT_BITS} bits, not {bits} ({grid_bits} of them "
            "fraction); use fewer --frac-bits, fewer input bits, or a mechanism of lower degree"
        )


def _reach(model: Model, frac_bits: int) -> Floats:
    """How large the parts of each output can become together, in normalised units."""
    on, off = bit_values(model)
    reach = np.abs(model.intercept + off @ model.readout)
    reach = reach + np.abs((on - off)[:, None] * model.readout).sum(axis=0)
    # Once by the codes, and once by their half steps in the constant.
    reach = reach + 2 * np.abs(model.linear).sum(axis=0)
    mechanism = model.mechanism
    if isinstance(mechanism, PolynomialModel):
        # A product of codes is below 1.
        reach = reach + np.abs(mechanism.coefficients).sum(axis=0)
    if mechanism.kind == "table":
        reach = reach + 2 ** (len(table_of(model).inputs) + 2) * np.abs(corners(model)).max()
    if isinstance(mechanism, ExternalModel):
        reach = reach + np.abs(mechanism.range).max(axis=0)
    # Each may have been rounded up by a unit.
    return reach + rounded_terms(model) * 2.0**-frac_bits
