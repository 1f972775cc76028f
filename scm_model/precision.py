"""How many fraction bits coefficients and outputs get."""

from __future__ import annotations

import math

import numpy as np

from scm_model.errors import OptionError
from scm_model.fixed_point import (
    FixedPoint,
    check_width,
    cut,
    fixed_output,
    linear_groups,
    quantise,
    rmse,
    rounded_terms,
)
from scm_model.flags import unsure_rows
from scm_model.model import Model
from scm_model.reference import classes_of, codes, evaluate
from scm_model.rounding import JointRounding, bit_values, nearest
from scm_model.scaling import Floats

DEFAULT_TOLERANCE = 1e-4
MAX_FRAC_BITS = 28
# Below this RMSE (targets span 1) the relative tolerance is taken of this instead.
NEGLIGIBLE_RMSE = 1e-4
# A margin near its threshold is nothing to spend bits on, as a class is.
UNSURE_TOLERANCE = 0.005


def choose_fixed_point(
    model: Model,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    frac_bits: int | None = None,
    jointly: bool = True,
) -> FixedPoint:
    """The coarsest grid whose error on the evaluation rows is within `tolerance` of the PC model.

    Regression compares RMSE, relative; a classifier may name another class on that share of rows.
    Without evaluation rows the bound is on the worst case: half a unit for every coefficient.
    Unless `jointly`, every coefficient is rounded by itself.
    """
    if frac_bits is not None:
        if not 1 <= frac_bits <= MAX_FRAC_BITS:
            raise OptionError(f"frac bits must be in [1, {MAX_FRAC_BITS}], not {frac_bits}")
        return quantise(model, frac_bits)
    if not 0 < tolerance < 1:
        raise OptionError(f"tolerance must be above 0 and below 1, not {tolerance!r}")
    if model.evaluation is None:
        return quantise(model, _worst_case_bits(model, tolerance))
    return _smallest_within(model, tolerance, jointly=jointly)


def _worst_case_bits(model: Model, tolerance: float) -> int:
    # n coefficients, each off by half a unit of 2^-f at most: n 2^-(f + 1) <= tolerance.
    needed = math.ceil(math.log2(rounded_terms(model) / (2 * tolerance)))
    return min(max(needed, 1), _exact_bits(model), MAX_FRAC_BITS)


def _exact_bits(model: Model) -> int:
    """The fraction bits with which no coefficient of nodes and inputs is rounded."""
    on, off = bit_values(model)
    coefficients = [(on - off)[:, None] * model.readout, model.linear]
    for frac_bits in range(1, MAX_FRAC_BITS):
        scaled = [part * 2.0**frac_bits for part in coefficients]
        if all(np.array_equal(part, np.rint(part)) for part in scaled):
            return frac_bits
    return MAX_FRAC_BITS


def _smallest_within(model: Model, tolerance: float, *, jointly: bool) -> FixedPoint:
    assert model.evaluation is not None
    rows = model.evaluation
    check_width(model, 1)
    activity, code = evaluate(model, rows.inputs, rows.mechanism), codes(model, rows.inputs)
    # Families were rounded as they joined, each for what those before it had left.
    joint = JointRounding(model, activity) if jointly and model.families is None else None
    for frac_bits in range(1, MAX_FRAC_BITS + 1):
        tried = [nearest(model, frac_bits)]
        if joint is not None:
            tried.append(joint.rounded(frac_bits))
        for rounded in tried:
            fixed = quantise(model, frac_bits, rounded)
            exact = fixed_output(model, fixed, activity, code)
            if _within(model, activity.output, exact / 2.0**fixed.grid_bits, tolerance):
                return fixed
    raise OptionError(
        f"tolerance must be reachable with {MAX_FRAC_BITS} fraction bits, not {tolerance:g}; "
        "raise --tolerance or give --frac-bits"
    )


def _within(model: Model, pc: Floats, hardware: Floats, tolerance: float) -> bool:
    assert model.evaluation is not None
    if model.is_classifier:
        right = (classes_of(pc) != classes_of(hardware)).mean() <= tolerance
        return bool(right) and _flags_within(model, pc, hardware, tolerance)
    target = (model.evaluation.targets - model.target_min) / (model.target_max - model.target_min)
    rmse_pc, rmse_hw = rmse(pc, target), rmse(hardware, target)
    return abs(rmse_hw - rmse_pc) <= tolerance * max(rmse_pc, NEGLIGIBLE_RMSE)


def _flags_within(model: Model, pc: Floats, hardware: Floats, tolerance: float) -> bool:
    """Whether few rows are unsure on one side alone."""
    if model.flags is None or model.flags.unsure is None:
        return True
    on_pc, on_hw = (unsure_rows(model.flags.unsure, outputs) for outputs in (pc, hardware))
    return bool((on_pc != on_hw).mean() <= max(tolerance, UNSURE_TOLERANCE))


def choose_output_bits(
    model: Model,
    fixed: FixedPoint,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    output_bits: int | None = None,
) -> FixedPoint:
    """The same coefficients with products cut as far as `tolerance` allows.

    The outputs keep the fraction bits of the coefficients at least, unless `output_bits` says
    otherwise. Without evaluation rows the bound is on the worst case.
    """
    if output_bits is not None:
        if not 1 <= output_bits <= fixed.product_bits:
            raise OptionError(
                f"output bits must be in [1, {fixed.product_bits}] for this model, "
                f"not {output_bits}"
            )
        return cut(model, fixed, output_bits)
    if model.evaluation is None:
        return _cut_at_worst(model, fixed, tolerance)
    rows = model.evaluation
    activity, code = evaluate(model, rows.inputs, rows.mechanism), codes(model, rows.inputs)
    wanted = activity.output
    whole = fixed_output(model, fixed, activity, code) / 2.0**fixed.grid_bits
    if not _within(model, wanted, whole, tolerance):
        # Coefficients of bits that were asked for are off by more: products are not to add to it.
        wanted = whole
    for bits in range(fixed.frac_bits, fixed.product_bits):
        tried = cut(model, fixed, bits)
        found = fixed_output(model, tried, activity, code) / 2.0**bits
        if _within(model, wanted, found, tolerance):
            return tried
    return fixed


def _cut_at_worst(model: Model, fixed: FixedPoint, tolerance: float) -> FixedPoint:
    """What rounding down can cost, half a unit for each group, beside that of the coefficients."""
    groups = max(len(linear_groups(column)) for column in fixed.linear.T) + 1
    room = tolerance - rounded_terms(model) * 2.0 ** -(fixed.frac_bits + 1)
    if room <= 0:
        return fixed
    # Half a unit for each group, as for coefficients: groups 2^-(bits + 1) <= room.
    bits = max(math.ceil(math.log2(groups / (2 * room))), fixed.frac_bits)
    return fixed if bits >= fixed.product_bits else cut(model, fixed, bits)
