"""What a folded core costs, in the cells that Yosys reports, without running it.

Parts are counted as they are built: a LUT for each bit added, two LUT6s for three lanes counted
(more LUT4s), a LUT6 for four words selected from, a LUT4 for two. Memories deeper than
`BLOCK_DEPTH` are block RAM, others LUTs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from scm_hw.fold.machine import Machine, coefficient_bits
from scm_hw.fold.plan import BLOCK_DEPTH, Bank, FoldPlan
from scm_hw.fold.trees import COUNTED_BITS
from scm_hw.ir import AtLeast, Field, Op, Program, Range, Xor, operands, ranges
from scm_hw.schedule import Cost
from scm_hw.schedule.costs import comparison_luts
from scm_hw.target import Technology, luts_per_bit
from scm_hw.target.dsp import dsp_tiles

CONTROL = Cost(lut=50, ff=50)
# Two comparisons of so few bits share a LUT with what chooses between them.
ABSORBED_BITS = 4
# With more steps than these, no two lanes have the same signs by chance.
WIDEST_STEPS = 20


def estimate_fold(plan: FoldPlan) -> Cost:
    """The whole core."""
    tech = plan.tech
    cost = CONTROL + _inputs(plan.machine, tech) + _readout(plan) + _linear(plan.machine, tech)
    if plan.mechanism is not None:
        cost += plan.mechanism.cost
    for layers in plan.engines:
        cost += _engine(plan, layers)
    for bank in plan.banks:
        cost += _logic_memory(bank, tech)
    return cost + Cost(bram=sum(_block_rams(bank, tech) for bank in plan.banks))


@lru_cache(maxsize=8)
def _inputs(machine: Machine, tech: Technology) -> Cost:
    """The registers of a sample, those bits that are read, and the encoder behind them."""
    return Cost(lut=_encoder_luts(machine.encoder, tech), ff=sum(_bits_kept(machine)))


def _encoder_luts(encoder: Program, tech: Technology) -> int:
    known, lut, absorbed = ranges(encoder), 0, 0
    for op in encoder.ops:
        match op:
            case AtLeast():
                bits = known[op.value].width - _lowest_bit(op, known[op.value])
                lut += comparison_luts(bits, tech) if bits > ABSORBED_BITS else 0
                absorbed += 1 < bits <= ABSORBED_BITS
            case Xor():
                lut += -(-(len(op.operands) - 1) // (tech.lut_inputs - 1))
    return lut + -(-absorbed // 2)


def _bits_kept(machine: Machine) -> list[int]:
    """For each input the bits of the sample that are read after the cycle in which it is taken."""
    lowest = [reach.width for reach in machine.inputs]
    readers = [machine.encoder, *([machine.mechanism] if machine.mechanism is not None else [])]
    for program in readers:
        for op in program.ops:
            for ref in set(operands(op)) & set(program.inputs):
                place = program.inputs.index(ref)
                lowest[place] = min(lowest[place], _lowest_bit(op, machine.inputs[place]))
    for program in (machine.encoder, machine.linear_codes):
        for ref in set(program.outputs) & set(program.inputs):
            lowest[program.inputs.index(ref)] = 0
    return [reach.width - low for reach, low in zip(machine.inputs, lowest, strict=True)]


def _lowest_bit(op: Op, value: Range) -> int:
    """The lowest bit of a value that an operation depends on; its width if on none."""
    match op:
        case AtLeast() if not 0 < op.bound <= value.high:
            return value.width
        case AtLeast():
            # Bits below the lowest one set in the bound don't matter.
            return (op.bound & -op.bound).bit_length() - 1
        case Field():
            return op.offset
    return 0


def pe_cost(plan: FoldPlan, layers: list[int]) -> Cost:
    """One PE: the sum of a chunk, the accumulator and the comparison, and its signs."""
    fold, lane_bits = plan.folds[layers[0]], plan.machine.layers[layers[0]].lane_bits
    masked, sums = plan.masked(layers), plan.sum_bits(layers)
    chunk = _chunk_sum(fold.simd, lane_bits, masked, plan.lane_tree(layers[0]).cuts, plan.tech)
    # The accumulator has a LUT for each bit, the comparison one for nearly two.
    return chunk + Cost(lut=-(-8 * sums // 5), ff=sums + fold.simd * (1 + masked))


def _engine(plan: FoldPlan, layers: list[int]) -> Cost:
    """The lanes of some layers, with what brings their inputs and holds their results."""
    fold = plan.folds[layers[0]]
    each, width = pe_cost(plan, layers), fold.simd * plan.machine.layers[layers[0]].lane_bits
    groups = sum(plan.groups(k) for k in layers)
    steps = sum(plan.groups(k) * plan.chunks(k) for k in layers)
    lut = (
        fold.pe * each.lut
        + sum(_selection(plan.chunks(k), width, plan.tech) for k in layers)
        + groups
    )
    # With few steps, PEs have the same signs for the same inputs and share their counts.
    alike = max(fold.pe - (1 << COUNTED_BITS * min(steps, WIDEST_STEPS)), 0)
    lut -= alike * 2 * (fold.simd // COUNTED_BITS) if width == fold.simd else 0
    if all(plan.chunks(k) == 1 for k in layers):
        # A chunk is the whole sum.
        lut -= fold.pe * plan.sum_bits(layers)
    lut -= _with_constants(plan, layers, steps, groups)
    signs = fold.lanes * (1 + plan.masked(layers))
    ff = fold.pe * (each.ff + groups) + _columns(signs, steps) - signs
    return Cost(lut=lut, ff=ff + 2 * width + groups)


def _with_constants(plan: FoldPlan, layers: list[int], steps: int, groups: int) -> int:
    """What is saved where each PE has but one word of signs, or one threshold."""
    fold, lane_bits = plan.folds[layers[0]], plan.machine.layers[layers[0]].lane_bits
    saved = 0
    if steps == 1 and lane_bits == 1:
        # The lowest bit of a sum is the parity of its lanes: the same in all PEs, or the inverse.
        additions = fold.simd // COUNTED_BITS + fold.simd % COUNTED_BITS - 1
        saved += max(fold.pe - 2, 0) * additions
    if groups == 1:
        sums = plan.sum_bits(layers)
        saved += fold.pe * max(3 * sums // 5 - comparison_luts(sums, plan.tech), 0)
    return saved


def _chunk_sum(
    simd: int, lane_bits: int, masked: bool, cuts: frozenset[int], tech: Technology
) -> Cost:
    """The sum of one chunk, its registers included."""
    terms, width, lut, ff, level = simd, lane_bits, 0, 0, 0
    if lane_bits == 1:
        terms, width = simd // COUNTED_BITS + simd % COUNTED_BITS, min(simd, 2)
        each = 2 * luts_per_bit(2 * COUNTED_BITS, tech)
        lut = each * (simd // COUNTED_BITS) + simd % COUNTED_BITS + (-(-simd // 2) if masked else 0)
    elif masked:
        lut = simd * lane_bits
    while terms > 1:
        ff += terms * width if level in cuts else 0
        lut += terms // 2 * width
        terms, width, level = -(-terms // 2), width + 1, level + 1
    return Cost(lut=lut, ff=ff + width)


def _selection(words: int, width: int, tech: Technology) -> int:
    """A LUT6 selects among four; choosing the chosen takes a third as many again.

    A LUT4 selects between two.
    """
    return width * -(-(words - 1) // (3 if tech.wide_luts else 1))


def _readout(plan: FoldPlan) -> Cost:
    machine, lanes = plan.machine, plan.readout_lanes
    width, scores = coefficient_bits(machine.readout), machine.score_widths
    lut = _selection(plan.readout_steps, lanes, plan.tech)
    ff = 2 * lanes
    # A single word is cleared by its register; more are added in pairs.
    added = lanes * width + (lanes // 2 - 1) * (width + 2) if lanes > 1 else 0
    cut_words = sum((lanes >> cut) * (width + cut) for cut in plan.readout_tree.cuts)
    external = bool(machine.lowered.external.refs)
    for score in scores:
        # The accumulator; what else it adds or begins with is chosen before it.
        lut += added + score * (1 + bool(plan.beside) + external)
        ff += 2 * score + lanes * width + cut_words
    if machine.is_classifier:
        lut += _selection(len(scores) - 1, scores[0], plan.tech) + 2 * scores[0]
        ff += 2 * scores[0]
    return Cost(lut=lut, ff=ff)


def _linear(machine: Machine, tech: Technology) -> Cost:
    """A multiplier for every output, and the choice of a feature."""
    program, outputs = machine.linear_codes, len(machine.scores)
    if not program.outputs:
        return Cost()
    known = ranges(program)
    code = max(known[ref].width for ref in program.outputs)
    short, long = sorted((code, coefficient_bits(machine.linear)))
    selection = Cost(lut=_selection(len(program.outputs), code, tech), ff=2 * code)
    for ref in set(program.outputs) - set(program.inputs):
        # Held inside the training range: both choices share a LUT for each bit.
        selection += Cost(lut=known[ref].width, ff=known[ref].width)
    for op in program.ops:
        if isinstance(op, AtLeast):
            selection += Cost(lut=-(-known[op.value].width // tech.lut_inputs))
    tiles = dsp_tiles(short, long, tech)
    if not tiles:
        return selection + Cost(lut=outputs * tech.luts_per_product_bit * short * long)
    return selection + Cost(dsp=outputs * tiles)


def _logic_memory(bank: Bank, tech: Technology) -> Cost:
    if bank.depth > BLOCK_DEPTH:
        return Cost()
    columns = _columns(bank.width, bank.depth)
    return Cost(lut=columns * rom_luts(bank.depth, tech) if bank.depth > 2 else 0, ff=columns)


def _columns(width: int, depth: int) -> int:
    """Bits of a memory that differ from each other, and aren't the same in every word."""
    return min(width, (1 << min(depth, WIDEST_STEPS)) - 2) if depth > 1 else 0


def rom_luts(depth: Any, tech: Technology) -> Any:
    """LUTs for each bit of a word.

    On the 7 series Yosys makes LUT5s, with multiplexers of four behind them; LUT4s have
    multiplexers of two.
    """
    if tech.wide_luts:
        blocks = -(-depth // 32)
        return blocks + -(-(blocks - 1) // 3)
    return 2 * -(-depth // 16) - 1


def _block_rams(bank: Bank, tech: Technology) -> float:
    if bank.depth <= BLOCK_DEPTH:
        return 0.0
    return tech.block_rams(bank.width, bank.depth)
