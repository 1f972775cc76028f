"""What a scheduled Program costs, in the cells that Yosys reports, without running it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scm_hw.ir import (
    AtLeast,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Program,
    Range,
    Ref,
    Select,
    Sum,
    Table,
    Xor,
    operands,
    ranges,
)
from scm_hw.schedule.schedule import Schedule, sums_in_blocks
from scm_hw.target import (
    Technology,
    dsps,
    free_ops,
    is_clocked,
    luts_per_bit,
    varying_bits,
)


@dataclass(frozen=True)
class Cost:
    """Cells of one operation, or of many; a half block RAM counts 0.5."""

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: float = 0.0

    @property
    def lut_sites(self) -> int:
        """Estimates count the LUTs of memories among the others."""
        return self.lut

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.lut + other.lut,
            self.ff + other.ff,
            self.dsp + other.dsp,
            self.bram + other.bram,
        )


def estimate(program: Program, schedule: Schedule) -> Cost:
    """The whole core, valid and ready included."""
    total = Cost(lut=2, ff=schedule.latency, bram=_block_rams(program, schedule.tech))
    for cost in by_operation(program, schedule):
        total += cost
    return total


def by_operation(program: Program, schedule: Schedule) -> list[Cost]:
    """What each operation costs, with the registers that hold it."""
    known = ranges(program)
    tech = schedule.tech
    free, in_dsp = free_ops(program, tech), sums_in_blocks(program, schedule.cycles, tech)
    held = _held_cycles(program, schedule, free)
    return [
        Cost(lut=_luts(program, ref, known, free, in_dsp, tech), dsp=_dsps(op, known, tech))
        + Cost(ff=known[ref].width * held[ref])
        for ref, op in program
    ]


def _luts(
    program: Program,
    ref: Ref,
    known: list[Range],
    free: set[Ref],
    in_dsp: set[Ref],
    tech: Technology,
) -> int:
    op = program.ops[ref]
    if ref in free or ref in in_dsp or is_clocked(op):
        return 0
    match op:
        case Sum():
            return _sum_luts(program, op, known, free, tech)
        case Table():
            return _table_bits(op, known) * luts_per_bit(known[op.index].width, tech)
        case Xor():
            return -(-(len(op.operands) - 1) // (tech.lut_inputs - 1)) * known[ref].width
        case AtLeast():
            return comparison_luts(known[op.value].width, tech)
        case Less():
            return max(known[op.left].width, known[op.right].width)
        case Select() | Majority():
            return known[ref].width
        case Product() if not _dsps(op, known, tech):
            bits = known[op.left].width * known[op.right].width
            return tech.luts_per_product_bit * bits
    return 0


def _sum_luts(
    program: Program, op: Sum, known: list[Range], free: set[Ref], tech: Technology
) -> int:
    """A LUT for each bit that is added; an absorbed table brings its own.

    The bits above a narrow operand cost nothing only where LUTs of later sums take them in.
    """
    # A third operand is a bit that is carried in.
    widths = [known[r].width for r in op.operands[:2]]
    if len(widths) == 1:
        return widths[0] if op.constant or op.weights[0] < 0 else 0
    table = program.ops[op.operands[1]]
    if isinstance(table, Table) and op.operands[1] in free:
        return _table_bits(table, known)
    if min(op.weights) > 0 and tech.absorbed_inputs:
        return min(widths)
    # A chain as wide as its result, in whole cells.
    return -(-(max(widths) + tech.carry_cell - 1) // tech.carry_cell) * tech.carry_cell


def _table_bits(op: Table, known: list[Range]) -> int:
    low, high = known[op.index]
    return varying_bits(op.contents[low : high + 1])


def comparison_luts(width: int, tech: Technology) -> int:
    """A comparison with a constant: a few LUT6s, or a carry chain."""
    if tech.absorbed_inputs:
        return -(-width // tech.lut_inputs) + width // 12
    return width


def _dsps(op: Op, known: list[Range], tech: Technology) -> int:
    if not isinstance(op, Product):
        return 0
    return dsps(known[op.left], known[op.right], tech)


def _block_rams(program: Program, tech: Technology) -> float:
    """Tables with one index share the rows of their memory."""
    known = ranges(program)
    widths: Counter[Ref] = Counter()
    for ref, op in program:
        if isinstance(op, Table) and op.memory:
            widths[op.index] += known[ref].width
    return sum(tech.block_rams(w, 1 << known[index].width) for index, w in widths.items())


def _held_cycles(program: Program, schedule: Schedule, free: set[Ref]) -> list[int]:
    """For how many cycles each value is kept in registers."""
    born = schedule.cycles
    last: list[int] = [c if c is not None else -1 for c in born]

    def read(ref: Ref, cycle: int) -> None:
        if ref in free:
            for operand in operands(program.ops[ref]):
                read(operand, cycle)
        else:
            last[ref] = max(last[ref], cycle)

    for ref, op in program:
        cycle = born[ref]
        if cycle is not None and not isinstance(op, Input):
            for operand in operands(op):
                read(operand, cycle - is_clocked(op))
    for ref in program.outputs:
        read(ref, schedule.latency)
    return [0 if b is None else max(end - b, 0) for b, end in zip(born, last, strict=True)]
