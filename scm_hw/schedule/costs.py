"""What a scheduled Program costs, in the cells that Yosys reports, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from scm_hw.ir import (
    AtLeast,
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
    ranges,
)
from scm_hw.schedule.known_bits import fixed_low_bits, used_bits
from scm_hw.schedule.schedule import Schedule, sums_in_blocks
from scm_hw.target import (
    Technology,
    dsps,
    free_ops,
    is_clocked,
    luts_per_bit,
    varying_bits,
)
from scm_hw.target.functions import Truth, function_luts

# Tables of more address bits are too many functions to look at one by one.
LARGEST_FUNCTION = 10


@dataclass(frozen=True)
class Cost:
    """Cells of one operation, or of many; a half block RAM counts 0.5."""

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: float = 0.0
    srl: int = 0

    @property
    def lut_sites(self) -> int:
        """Estimates count the LUTs of memories among the others."""
        return self.lut + self.srl

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.lut + other.lut,
            self.ff + other.ff,
            self.dsp + other.dsp,
            self.bram + other.bram,
            self.srl + other.srl,
        )


def estimate(program: Program, schedule: Schedule) -> Cost:
    """The whole core, valid and ready included."""
    total = Cost(ff=schedule.latency, bram=_block_rams(program, schedule.tech))
    total += handshake_cost(program, schedule)
    for cost in by_operation(program, schedule):
        total += cost
    return total


def handshake_cost(program: Program, schedule: Schedule) -> Cost:
    """The gate of the enable, or the queue of results: its memory, choice, places and credit."""
    if schedule.ends.handshake == "none":
        return Cost()
    if schedule.ends.handshake == "global":
        return Cost(lut=2)
    known = ranges(program)
    width = sum(known[ref].width for ref in program.outputs)
    # The queue has room for every sample in the pipeline, rounded up to a power of two.
    place = schedule.latency.bit_length()
    memory = width << place
    if schedule.tech.lutram_bits:
        return Cost(lut=width + -(-memory // schedule.tech.lutram_bits) + 10, ff=3 * place + 3)
    # A register for each bit, and what chooses among them.
    return Cost(lut=(1 << place) * width // 2 + width + 12, ff=memory + 3 * place + 3)


def by_operation(program: Program, schedule: Schedule) -> list[Cost]:
    """What each operation costs, with the registers that hold it."""
    counter = _Counter(program, schedule)
    return [counter.cost(ref, op) for ref, op in program]


def registers_by_rank(program: Program, schedule: Schedule) -> list[int]:
    """The registers behind each cycle, valid included, as `by_operation` counts them."""
    # A bit of valid in every rank.
    counter, found = _Counter(program, schedule), [1] * schedule.latency
    for ref in range(len(program.ops)):
        for rank, bits in counter.ranks(ref):
            found[rank] += bits
    return found


class _Counter:
    """Cells of the operations of one scheduled program."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program, self.schedule, self.tech = program, schedule, schedule.tech
        self.known = ranges(program)
        self.free = free_ops(program, schedule.tech)
        self.in_dsp = sums_in_blocks(program, schedule.cycles, schedule.tech)
        self.fixed = fixed_low_bits(program, self.known)
        self.readers = used_bits(program, self.known, self.free)
        self.inverters = 0.0
        # Functions of an index that are there already, for all tables that have them.
        self.functions: set[tuple[Ref, Truth]] = set()

    def cost(self, ref: Ref, op: Op) -> Cost:
        nothing = ref in self.free or ref in self.in_dsp or is_clocked(op)
        luts = 0 if nothing else self._luts(ref, op)
        # A LUT where the share of the operations so far comes to a whole one.
        self.inverters += self.tech.inverters * luts
        luts += int(self.inverters)
        self.inverters %= 1
        ffs, shifts = self._registers(ref)
        return Cost(luts, ffs, _dsps(op, self.known, self.tech), srl=shifts)

    # Registers

    def _registers(self, ref: Ref) -> tuple[int, int]:
        """Registers of an operation's value, and shift registers of a LUT where it waits long."""
        ffs = shifts = 0
        for start, end, bits in self.held(ref):
            if self._is_shifted(start, end):
                shifts += bits
            else:
                ffs += bits * (end - start)
        return ffs, shifts

    def ranks(self, ref: Ref) -> Iterator[tuple[int, int]]:
        """The registers of a value by their rank, that of its own cycle the first."""
        for start, end, bits in self.held(ref):
            if not self._is_shifted(start, end):
                yield from ((rank, bits) for rank in range(start, end))

    def _is_shifted(self, start: int, end: int) -> bool:
        return bool(self.tech.shift_cycles) and end - start >= self.tech.shift_cycles

    def held(self, ref: Ref) -> Iterator[tuple[int, int, int]]:
        """From one reader of a value to the next: both cycles, and the bits that are held.

        A bit has a register for each cycle that it is held in, as far as it is read. Low bits that
        never change have none, but in a result, which is kept whole. The first register of a
        product, or of the sum behind it, is part of the DSP block.
        """
        born, tech = self.schedule.cycles[ref], self.tech
        if born is None:
            return
        multiplied = ref in self.in_dsp or _dsps(self.program.ops[ref], self.known, tech)
        if tech.dsp_register and multiplied:
            born += 1
        reads = [(self._read_at(reader), mask) for reader, mask in self.readers[ref]]
        times = sorted({at for at, _ in reads if at > born})
        for start, end in pairwise([born, *times]):
            needed = 0
            for at, mask in reads:
                needed |= mask if at >= end else 0
            last = end == self.schedule.latency and ref in self.program.outputs
            bits = (needed >> (0 if last else self.fixed[ref])).bit_count()
            yield start, end, bits

    def _read_at(self, reader: Ref) -> int:
        """The cycle whose logic reads, that of the outputs for the end of the program."""
        if reader == len(self.program.ops):
            return self.schedule.latency
        cycle = self.schedule.cycles[reader]
        assert cycle is not None
        # A clocked operation takes its operands at the end of the cycle before its own.
        return cycle - is_clocked(self.program.ops[reader])

    # LUTs

    def _luts(self, ref: Ref, op: Op) -> int:
        known, tech = self.known, self.tech
        match op:
            case Sum():
                return self._sum_luts(ref, op)
            case Table():
                return self._table_luts(op)
            case Xor():
                each = -(-(len(op.operands) - 1) // (tech.lut_inputs - 1))
                return each * known[ref].width
            case AtLeast():
                return self._comparison(op)
            case Less():
                width = max(known[op.left].width, known[op.right].width)
                return round(tech.luts_per_ordered_bit * width)
            case Select() | Majority():
                return known[ref].width
            case Product() if not _dsps(op, known, tech):
                bits = known[op.left].width * known[op.right].width
                return tech.luts_per_product_bit * bits
            case Product():
                return tech.luts_per_dsp * _dsps(op, known, tech)
        return 0

    def _comparison(self, op: AtLeast) -> int:
        """Bits below the lowest one of the bound have no part in it."""
        last = (op.bound & -op.bound).bit_length() - 1
        return comparison_luts(max(self.known[op.value].width - last, 1), self.tech)

    def _sum_luts(self, ref: Ref, op: Sum) -> int:
        """A LUT for each bit that is added; an absorbed table brings its own.

        Below the lowest bits that meet, one side goes past the chain. Above a narrow operand that
        can't be negative, bits cost nothing where LUTs of later sums take them in.
        """
        known, tech, program = self.known, self.tech, self.program
        places = [abs(weight).bit_length() - 1 for weight in op.weights]
        # A third operand is a bit that is carried in.
        sides = list(zip(op.operands[:2], places, op.weights, strict=False))
        if len(sides) == 1:
            width = known[op.operands[0]].width
            return width if op.constant or op.weights[0] < 0 else 0
        table = program.ops[op.operands[1]]
        if isinstance(table, Table) and op.operands[1] in self.free:
            return self._varying(table)
        chain = max(known[ref].width - self._first_place(op), 1)
        if min(op.weights) < 0:
            return round(tech.luts_per_subtracted_bit * chain + tech.luts_per_subtraction)
        if not tech.absorbed_inputs:
            return round(tech.luts_per_added_bit * chain + tech.luts_per_chain)
        end, negative = min((known[r].width + place, known[r].signed) for r, place, _ in sides)
        meeting = chain if negative else min(max(end - known[ref].width + chain, 1), chain)
        above = tech.luts_per_bit_above * (chain - meeting)
        return round(tech.luts_per_added_bit * meeting + above + tech.luts_per_chain)

    def _first_place(self, op: Sum) -> int:
        """Where the chain of a sum begins: below, only one side has bits that change."""
        lows = [
            (self.fixed[r] + abs(weight).bit_length() - 1, weight)
            for r, weight in zip(op.operands[:2], op.weights, strict=False)
        ]
        taken = [low for low, weight in lows if weight < 0]
        # What is subtracted is inverted, and that reaches down to its lowest bit.
        return min(taken) if taken else max(low for low, _ in lows)

    def _varying(self, op: Table) -> int:
        low, high = self.known[op.index]
        return varying_bits(op.contents[low : high + 1])

    def _table_luts(self, op: Table) -> int:
        """Each bit is a function of the index; equal functions, or opposite ones, are one."""
        width = self.known[op.index].width
        if width > LARGEST_FUNCTION:
            return self._varying(op) * luts_per_bit(width, self.tech)
        low, high = self.known[op.index]
        entries = [*op.contents, *op.contents[-1:] * ((1 << width) - len(op.contents))]
        # Addresses that never occur repeat the nearest entry.
        entries = [entries[min(max(index, low), high)] for index in range(1 << width)]
        luts = 0
        for place in range(max(e.bit_length() for e in entries) + 1):
            truth = tuple(bool(entry >> place & 1) for entry in entries)
            truth = tuple(bit != truth[0] for bit in truth)
            if (op.index, truth) not in self.functions:
                self.functions.add((op.index, truth))
                luts += function_luts(truth, self.tech)
        return luts


def comparison_luts(width: int, tech: Technology) -> int:
    """A comparison with a constant: a chain of LUTs, each with the one before, or a carry chain."""
    if tech.absorbed_inputs:
        # A LUT6 takes five bits, and the outcome of those below.
        whole = max(1, -(-(width - 1) // (tech.lut_inputs - 1)))
        return round(whole * tech.luts_per_compared_bit) if whole > 1 else 1
    if width <= tech.lut_inputs:
        return 1
    return round(tech.luts_per_compared_bit * width + tech.luts_per_comparison)


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
            # A row is as wide as all its tables together.
            widths[op.index] += known[ref].width
    return sum(tech.block_rams(w, 1 << known[index].width) for index, w in widths.items())
