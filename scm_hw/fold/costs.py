"""What a folded core costs, in the cells that Yosys reports for xc7, without running it.

Parts are counted as they are built: a LUT for each bit added, two for three lanes counted, one for
four words selected from. Memories deeper than `BLOCK_DEPTH` are block RAM, others LUTs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from scm_hw.fold.machine import Machine, coefficient_bits
from scm_hw.fold.plan import BLOCK_DEPTH, Bank, FoldPlan
from scm_hw.fold.trees import COUNTED_BITS
from scm_hw.schedule import Cost
from scm_hw.target import DSP_WIDTHS, LUT_INPUTS, MIN_DSP_BITS, half_blocks

CONTROL = Cost(lut=50, ff=50)
# Two comparisons of so few bits share a LUT with what chooses between them.
ABSORBED_BITS = 4


def estimate_fold(plan: FoldPlan) -> Cost:
    """The whole core."""
    cost = CONTROL + _inputs(plan.machine) + _readout(plan) + _linear(plan.machine)
    if plan.mechanism is not None:
        cost += plan.mechanism.cost
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
    narrow = 0
    for reach, thresholds in zip(machine.inputs, encoder.thresholds, strict=False):
        for threshold in thresholds:
            # Bits below the lowest one set in the threshold don't matter.
            bits = reach.width - ((threshold & -threshold).bit_length() - 1)
            if bits > ABSORBED_BITS:
                lut += -(-bits // LUT_INPUTS) + bits // 12
            narrow += 1 < bits <= ABSORBED_BITS
    lut += -(-narrow // 2)
    return Cost(lut=lut, ff=held)


def pe_cost(plan: FoldPlan, layers: list[int]) -> Cost:
    """One PE: the sum of a chunk, the accumulator and the comparison, and its signs."""
    fold, lane_bits = plan.folds[layers[0]], plan.machine.layers[layers[0]].lane_bits
    masked, sums = plan.masked(layers), plan.sum_bits(layers)
    chunk = _chunk_sum(fold.simd, lane_bits, masked, plan.lane_tree(layers[0]).cuts)
    # The accumulator has a LUT for each bit, the comparison one for nearly two.
    return chunk + Cost(lut=-(-8 * sums // 5), ff=sums + fold.simd * (1 + masked))


def _engine(plan: FoldPlan, layers: list[int]) -> Cost:
    """The lanes of some layers, with what brings their inputs and holds their results."""
    fold = plan.folds[layers[0]]
    each, width = pe_cost(plan, layers), fold.simd * plan.machine.layers[layers[0]].lane_bits
    groups = sum(plan.groups(k) for k in layers)
    lut = fold.pe * each.lut + sum(_selection(plan.chunks(k), width) for k in layers) + groups
    return Cost(lut=lut, ff=fold.pe * (each.ff + groups) + 2 * width + groups)


def _chunk_sum(simd: int, lane_bits: int, masked: bool, cuts: frozenset[int]) -> Cost:
    """The sum of one chunk, its registers included."""
    terms, width, lut, ff, level = simd, lane_bits, 0, 0, 0
    if lane_bits == 1:
        terms, width = simd // COUNTED_BITS + simd % COUNTED_BITS, min(simd, 2)
        lut = 2 * (simd // COUNTED_BITS) + simd % COUNTED_BITS + (simd if masked else 0)
    elif masked:
        lut = simd * lane_bits
    while terms > 1:
        ff += terms * width if level in cuts else 0
        lut += terms // 2 * width
        terms, width, level = -(-terms // 2), width + 1, level + 1
    return Cost(lut=lut, ff=ff + width)


def _selection(words: int, width: int) -> int:
    """A LUT6 selects among four; choosing the chosen takes a third as many again."""
    return width * -(-(words - 1) // 3)


def _readout(plan: FoldPlan) -> Cost:
    machine, lanes = plan.machine, plan.readout_lanes
    width, scores = coefficient_bits(machine.readout), machine.score_widths
    lut = _selection(plan.readout_steps, lanes)
    ff = 2 * lanes
    for score in scores:
        # Selected words are added in pairs, then the accumulator, which also loads and holds.
        lut += lanes * width + 2 * score
        ff += (
            2 * score
            + lanes * width
            + sum((lanes >> cut) * (width + cut) for cut in plan.readout_tree.cuts)
        )
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
    return Cost(lut=bank.width * rom_luts(bank.depth), ff=bank.width)


def rom_luts(depth: Any) -> Any:
    """LUTs for each bit of a word: Yosys makes LUT5s, with multiplexers of four behind them."""
    blocks = -(-depth // 32)
    return blocks + -(-(blocks - 1) // 3)


def _half_blocks(bank: Bank) -> int:
    if bank.depth <= BLOCK_DEPTH:
        return 0
    return half_blocks(bank.width, bank.depth)
