"""What a folded core costs, in the cells that Yosys reports for xc7, without running it.

Parts are counted as they are built: a LUT for each bit added, two for three lanes counted, one for
four words selected from. Memories deeper than `BLOCK_DEPTH` are block RAM, others LUTs.
"""

from __future__ import annotations

from functools import lru_cache

from scm_hw.fold.machine import Machine, coefficient_bits
from scm_hw.fold.plan import BLOCK_DEPTH, COUNTED_BITS, Bank, FoldPlan
from scm_hw.schedule import Cost
from scm_hw.target import DSP_WIDTHS, LUT_INPUTS, MIN_DSP_BITS, half_blocks

CONTROL = Cost(lut=50, ff=50)


def estimate_fold(plan: FoldPlan) -> Cost:
    """The whole core."""
    cost = CONTROL + _inputs(plan.machine) + _readout(plan) + _linear(plan.machine)
    for layers in plan.engines:
        cost += _engine(plan, layers)
    for bank in plan.banks:
        cost += _logic_memory(bank)
    return cost + Cost(bram36=sum(_half_blocks(bank) for bank in plan.banks) / 2)


@lru_cache(maxsize=8)
def _inputs(machine: Machine) -> Cost:
    """The registers of a sample, and the encoder behind them."""
    encoder, held = machine.model.encoder, sum(reach.width for reach in machine.inputs)
    lut = 0
    if encoder.kind == "gray":
        lut = sum(encoder.bits) - len(encoder.bits)
    for reach, thresholds in zip(machine.inputs, encoder.thresholds, strict=False):
        for threshold in thresholds:
            # Bits below the lowest one set in the threshold don't matter.
            bits = reach.width - ((threshold & -threshold).bit_length() - 1)
            lut += -(-bits // LUT_INPUTS) + bits // 12 if bits > 1 else 0
    return Cost(lut=lut, ff=held)


def _engine(plan: FoldPlan, layers: list[int]) -> Cost:
    """The lanes of some layers, with what brings their inputs and holds their results."""
    fold, machine = plan.folds[layers[0]], plan.machine
    lane_bits, sums = machine.layers[layers[0]].lane_bits, plan.sum_bits(layers)
    masked = plan.masked(layers)
    chunk_lut, chunk_bits = _chunk_sum(fold.simd, lane_bits, masked)
    each = Cost(lut=chunk_lut + 2 * sums, ff=chunk_bits + sums)
    width = fold.simd * lane_bits
    lut = fold.pe * each.lut + sum(_selection(plan.chunks(k), width) for k in layers)
    held = 2 * width + fold.pe * fold.simd * (1 + masked)
    hidden = sum(plan.groups(k) * fold.pe for k in layers)
    return Cost(lut=lut, ff=fold.pe * each.ff + held + hidden)


def _chunk_sum(simd: int, lane_bits: int, masked: bool) -> tuple[int, int]:
    """LUTs and result bits of the sum of one chunk."""
    terms, width, lut = simd, lane_bits, 0
    if lane_bits == 1:
        terms, width = -(-simd // COUNTED_BITS), min(simd, 2)
        lut = 2 * terms + (simd if masked else 0)
    elif masked:
        lut = simd * lane_bits
    while terms > 1:
        # A carry chain has its last bit in a LUT of its own.
        lut += terms // 2 * (width + 1)
        terms, width = -(-terms // 2), width + 1
    return lut, width


def _selection(words: int, width: int) -> int:
    """A LUT6 selects among four; choosing the chosen takes a third as many again."""
    return width * -(-(words - 1) // 3)


def _readout(plan: FoldPlan) -> Cost:
    machine, lanes = plan.machine, plan.readout_lanes
    width, scores = coefficient_bits(machine.readout), machine.score_widths
    lut = _selection(plan.readout_steps, lanes)
    for score in scores:
        # Selected words are added in pairs, then the accumulator, which also loads and holds.
        lut += lanes * width + 2 * score
    ff = 2 * sum(scores) + 2 * lanes + lanes * width * len(scores)
    if machine.model.is_classifier:
        lut += _selection(len(scores) - 1, scores[0]) + 2 * scores[0]
        ff += 2 * scores[0]
    return Cost(lut=lut, ff=ff)


def _linear(machine: Machine) -> Cost:
    """A multiplier for every output, and the choice of a feature."""
    features = machine.linear_features
    if not features:
        return Cost()
    code = max(machine.inputs[i].width for i in features)
    short, long = sorted((code, coefficient_bits(machine.fixed.linear)))
    outputs = machine.model.outputs
    selection = Cost(lut=_selection(len(features), code), ff=2 * code)
    if short * long < MIN_DSP_BITS:
        return selection + Cost(lut=outputs * short * long)
    tiles = -(-short // (DSP_WIDTHS[0] - 1)) * -(-long // (DSP_WIDTHS[1] - 1))
    return selection + Cost(dsp=outputs * tiles)


def _logic_memory(bank: Bank) -> Cost:
    if bank.depth > BLOCK_DEPTH:
        return Cost()
    # Yosys makes them of LUT5s, with multiplexers of four behind them.
    blocks = -(-bank.depth // 32)
    return Cost(lut=bank.width * (blocks + -(-(blocks - 1) // 3)), ff=bank.width)


def _half_blocks(bank: Bank) -> int:
    if bank.depth <= BLOCK_DEPTH:
        return 0
    return half_blocks(bank.width, bank.depth)
