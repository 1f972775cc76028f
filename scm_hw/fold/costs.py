"""What a folded core costs, in the cells that Yosys reports, without running it.

Parts are counted as they are built. The constants were found with Yosys on cores from a single lane
to a lane for each connection; `bench.folding` compares whole cores, and the tests keep the model
within 20 % of LUTs and 15 % of registers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from scm_hw.fold.engines import Engine
from scm_hw.fold.machine import Machine, coefficient_bits
from scm_hw.fold.memories import BLOCK_DEPTH, Bank
from scm_hw.fold.plan import FoldPlan
from scm_hw.fold.trees import COUNTED_BITS
from scm_hw.ir import AtLeast, Field, Op, Program, Range, Xor, operands, ranges
from scm_hw.schedule import Cost
from scm_hw.schedule.costs import comparison_luts
from scm_hw.target import Technology, luts_per_bit
from scm_hw.target.dsp import dsp_tiles

# Phase, step, addresses and handshake of a core of one layer; more layers add a few of each.
CONTROL = Cost(lut=50, ff=50)
# Two comparisons of so few bits share a LUT with what chooses between them.
ABSORBED_BITS = 4
# A sum against a threshold from memory takes 3 LUTs for 5 bits: carry chains take two bits a LUT,
# and the highest bits of most thresholds are constant.
COMPARED_LUTS, COMPARED_BITS = 3, 5
# The two bits of a count of three lanes, signs included, in LUTs of four inputs.
COUNTED_BY_LUT4 = 5
# With more steps than these, no two lanes have the same signs by chance.
WIDEST_STEPS = 20
# Yosys makes a memory of the 7 series from LUT5s, and selects among four of them with a LUT6.
LUT5_WORDS, LUT4_WORDS = 32, 16


def estimate_fold(plan: FoldPlan) -> Cost:
    """The whole core."""
    cost = CONTROL
    for part in cost_by_part(plan).values():
        cost += part
    return cost


def cost_by_part(plan: FoldPlan) -> dict[str, Cost]:
    """What each part takes, its memories included: all but the control of the phases."""
    machine, tech = plan.machine, plan.tech
    parts = {"encoder": _inputs(machine, tech)}
    for engine in plan.engines:
        memories = _memory(engine.signs, tech) + _memory(engine.thresholds, tech)
        parts[f"lanes {engine.number + 1}"] = _engine(engine, tech) + memories
    if len(machine.linear):
        parts["linear"] = _linear(machine, tech) + _memory(plan.linear_bank, tech)
    if plan.mechanism is not None:
        parts["mechanism"] = plan.mechanism.cost
    parts["readout"] = _readout(plan) + _memory(plan.readout.bank, tech)
    return parts


# Inputs


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


# Lanes


def _engine(engine: Engine, tech: Technology) -> Cost:
    """The lanes of some layers, with what brings their inputs and holds their results."""
    pe, chunk_bits = engine.fold.pe, engine.fold.simd * engine.lane_bits
    inputs = Cost(
        lut=sum(_selection(layer.chunks, chunk_bits, tech) for layer in engine.layers),
        ff=2 * chunk_bits,
    )
    # A bit of the place of each group, and the enable of the nodes there.
    results = Cost(lut=engine.groups, ff=engine.groups * (1 + pe))
    # A column of the memory that is equal to another, or constant, needs no register in the PEs.
    signs = engine.signs.width
    columns = Cost(ff=_columns(signs, engine.steps) - signs)
    saved = _equal_signs(engine) + _whole_sums(engine) + _single_thresholds(engine, tech)
    return _times(pe, pe_cost(engine, tech)) + inputs + results + columns + Cost(lut=-saved)


def pe_cost(engine: Engine, tech: Technology) -> Cost:
    """One PE: the sum of a chunk, the accumulator and the comparison, and its signs."""
    signs = Cost(ff=engine.fold.simd * (1 + engine.masked))
    return (
        _chunk_sum(engine.fold.simd, engine.lane_bits, engine.masked, engine.tree.cuts, tech)
        + signs
        + Cost(lut=engine.sum_bits + _compared(engine.sum_bits), ff=engine.sum_bits)
    )


def _compared(bits: int) -> int:
    """LUTs of a comparison of two variables."""
    return -(-COMPARED_LUTS * bits // COMPARED_BITS)


def _times(count: int, cost: Cost) -> Cost:
    return Cost(count * cost.lut, count * cost.ff, count * cost.dsp, count * cost.bram)


def _equal_signs(engine: Engine) -> int:
    """Saved where PEs have the same signs for the same three inputs, and share their counts.

    There are only so many sequences of three signs over the steps. In a single step the lowest bit
    of a sum is the parity of its lanes as well: the same in all PEs, or the inverse.
    """
    pe, simd = engine.fold.pe, engine.fold.simd
    if engine.lane_bits > 1:
        return 0
    sequences = 1 << COUNTED_BITS * min(engine.steps, WIDEST_STEPS)
    saved = max(pe - sequences, 0) * 2 * (simd // COUNTED_BITS)
    if engine.steps == 1:
        saved += max(pe - 2, 0) * (_counted_terms(simd) - 1)
    return saved


def _whole_sums(engine: Engine) -> int:
    """Saved where each chunk is a whole sum, which needs no accumulator."""
    whole = all(layer.chunks == 1 for layer in engine.layers)
    return engine.fold.pe * engine.sum_bits if whole else 0


def _single_thresholds(engine: Engine, tech: Technology) -> int:
    """Saved where each PE has but one threshold: a comparison with a constant."""
    if engine.groups > 1:
        return 0
    bits = engine.sum_bits
    variable = COMPARED_LUTS * bits // COMPARED_BITS
    return engine.fold.pe * max(variable - comparison_luts(bits, tech), 0)


def _counted_terms(simd: int) -> int:
    """Terms that are left of a chunk of bits once they are counted by threes."""
    return simd // COUNTED_BITS + simd % COUNTED_BITS


def _chunk_sum(
    simd: int, lane_bits: int, masked: bool, cuts: frozenset[int], tech: Technology
) -> Cost:
    """The sum of one chunk, its registers included: a LUT for each bit added."""
    terms, width, lut = simd, lane_bits, 0
    if lane_bits == 1:
        terms, width = _counted_terms(simd), min(simd, 2)
        # The two bits of a count are functions of three lanes and their signs.
        counted = 2 * luts_per_bit(2 * COUNTED_BITS, tech) if tech.wide_luts else COUNTED_BY_LUT4
        lut = counted * (simd // COUNTED_BITS) + simd % COUNTED_BITS
        # A LUT masks two lanes.
        lut += -(-simd // 2) if masked else 0
    elif masked:
        lut = simd * lane_bits
    ff, level = 0, 0
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


# Outputs


def _readout(plan: FoldPlan) -> Cost:
    machine, readout = plan.machine, plan.readout
    lanes, bits = readout.lanes, readout.coefficient_bits
    # A single word is cleared by its register; of more each bit is cleared, and added in pairs.
    added = lanes * bits + (lanes // 2 - 1) * (bits + 2) if lanes > 1 else 0
    cut = sum((lanes >> level) * (bits + level) for level in readout.tree.cuts)
    # The accumulator; what else it adds or begins with is chosen before it.
    choices = 1 + bool(plan.beside) + bool(machine.lowered.external.refs)
    cost = Cost(lut=_selection(readout.steps, lanes, plan.tech), ff=2 * lanes)
    for score in machine.score_widths:
        cost += Cost(lut=added + score * choices, ff=2 * score + lanes * bits + cut)
    return cost + (_argmax(machine, plan.tech) if machine.is_classifier else Cost())


def _argmax(machine: Machine, tech: Technology) -> Cost:
    """The next score, the highest so far, and which is higher."""
    classes, score = len(machine.scores), machine.score_widths[0]
    return Cost(lut=_selection(classes - 1, score, tech) + 2 * score, ff=2 * score)


def _linear(machine: Machine, tech: Technology) -> Cost:
    """A multiplier for every output, and the choice of a feature."""
    program, outputs = machine.linear_codes, len(machine.scores)
    if not program.outputs:
        return Cost()
    known = ranges(program)
    code = max(known[ref].width for ref in program.outputs)
    cost = Cost(lut=_selection(len(program.outputs), code, tech), ff=2 * code)
    for ref in set(program.outputs) - set(program.inputs):
        # Held inside the training range: both choices share a LUT for each bit.
        cost += Cost(lut=known[ref].width, ff=known[ref].width)
    for op in program.ops:
        if isinstance(op, AtLeast):
            cost += Cost(lut=-(-known[op.value].width // tech.lut_inputs))
    short, long = sorted((code, coefficient_bits(machine.linear)))
    if tiles := dsp_tiles(short, long, tech):
        return cost + Cost(dsp=outputs * tiles)
    return cost + Cost(lut=outputs * tech.luts_per_product_bit * short * long)


# Memories


def _memory(bank: Bank, tech: Technology) -> Cost:
    """Block RAM where the memory is deep, else LUTs with a register for each bit of a word."""
    if bank.depth > BLOCK_DEPTH:
        return Cost(bram=tech.block_rams(bank.width, bank.depth))
    columns = _columns(bank.width, bank.depth)
    # A bit of two words is the address or its inverse.
    return Cost(lut=columns * rom_luts(bank.depth, tech) if bank.depth > 2 else 0, ff=columns)


def _columns(width: int, depth: int) -> int:
    """Bits of a memory that differ from each other, and aren't the same in every word."""
    return min(width, (1 << min(depth, WIDEST_STEPS)) - 2) if depth > 1 else 0


def rom_luts(depth: Any, tech: Technology) -> Any:
    """LUTs for each bit of a word, for one depth or an array of depths."""
    if tech.wide_luts:
        blocks = -(-depth // LUT5_WORDS)
        return blocks + -(-(blocks - 1) // 3)
    # As many multiplexers of two as there are LUT4s, less one.
    return 2 * -(-depth // LUT4_WORDS) - 1
