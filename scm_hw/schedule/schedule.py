"""Which cycle each operation happens in.

Cycle `c` is the logic between register rank `c` and rank `c + 1`; rank 0 is outside, where samples
come from, and the outputs leave from the last rank. So the latency of the core is its number of
ranks, one more than the last cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from scm_hw.errors import OptionError
from scm_hw.ir import Input, Op, Product, Program, Ref, operands, ranges
from scm_hw.schedule.ends import Ends
from scm_hw.target import (
    TECHNOLOGIES,
    Technology,
    delay,
    dsp_sums,
    enable_delay,
    free_ops,
    is_clocked,
)

# Share of the clock period that logic may take in the model; placement has the rest.
USABLE = 0.8
NOTHING_AROUND = Ends()


def fastest_clock_mhz(longest_ns: float, tech: Technology) -> float:
    """The fastest clock for a path of this delay; a grade scales the set-up time as well."""
    return 1000.0 * USABLE / (longest_ns + tech.setup * tech.scale)


@dataclass(frozen=True)
class Schedule:
    """The cycle of every operation, None for those that have no place in time."""

    cycles: tuple[int | None, ...]
    latency: int
    period_ns: float
    stage_ns: tuple[float, ...]
    tech: Technology
    ends: Ends = NOTHING_AROUND

    @property
    def initiation_interval(self) -> int:
        return 1

    @property
    def max_clock_mhz(self) -> float:
        """The fastest clock that the delay model would give these stages."""
        return fastest_clock_mhz(max(self.stage_ns), self.tech)

    def max_clock_of(self, registers: int) -> float:
        """The same for a core of that many registers: a global handshake enables all of them."""
        if self.ends.handshake != "global":
            return self.max_clock_mhz
        enable = enable_delay(registers, self.tech) * self.tech.scale
        return min(self.max_clock_mhz, fastest_clock_mhz(enable, self.tech))


def schedule(
    program: Program,
    *,
    clock_mhz: float,
    grade: str = "1",
    shortest_stages: bool = False,
    ends: Ends = NOTHING_AROUND,
) -> Schedule:
    """As soon as possible, as many operations to a cycle as the clock has time for.

    With `shortest_stages` no more of them than the slowest operation takes by itself.
    """
    tech = TECHNOLOGIES[grade]
    scale, register = tech.scale, tech.register * tech.scale
    known = ranges(program)
    free = free_ops(program, tech)
    takes = [
        0.0 if ref in free else delay(op, known, known[ref], tech) * scale for ref, op in program
    ]
    budget = 1000.0 / clock_mhz * USABLE - tech.setup * scale
    starts = [0.0 if is_clocked(op) else register for op in program.ops]
    slowest = max((s + t for s, t in zip(starts, takes, strict=True)), default=register)
    if slowest > budget:
        _refuse(program, takes, clock_mhz, fastest_clock_mhz(slowest, tech))
    if shortest_stages:
        # The wrapper's part of the first cycle can't be split, so it bounds the clock as well.
        budget = max(slowest, register + ends.arrival * scale)
    return _as_soon_as_possible(program, takes, free, budget, 1000.0 / clock_mhz, tech, ends)


def _as_soon_as_possible(
    program: Program,
    takes: list[float],
    free: set[Ref],
    budget: float,
    period: float,
    tech: Technology,
    ends: Ends,
) -> Schedule:
    register = tech.register * tech.scale
    arrival = register + ends.arrival * tech.scale
    # A rank of registers at the inputs: they are read in the cycle after their own.
    first = (1, register) if ends.input_register else (0, arrival)
    in_block = dsp_sums(program, tech)
    cycle: list[int] = []
    ready: list[float] = []
    for ref, op in program:
        # Operands stand before their readers, so each operation is placed once and for all.
        at, start = _latest(operands(op), cycle, ready, register)
        behind = ref in in_block and _follows_product(program, ref, cycle, at)
        # An addition in the DSP block of its product takes no carry chain of its own.
        if behind and start + tech.dsp_add * tech.scale <= budget:
            cycle.append(at)
            ready.append(start + tech.dsp_add * tech.scale)
            continue
        if isinstance(op, Input):
            at, start = first
        elif is_clocked(op):
            at, start = at + 1, 0.0
        elif start + takes[ref] > budget and ref not in free:
            at, start = at + 1, register
        cycle.append(at)
        ready.append(start + takes[ref])
    last = max((cycle[r] for r in program.outputs), default=0)
    stages = [
        max((t for c, t in zip(cycle, ready, strict=True) if c == stage), default=register)
        for stage in range(last + 1)
    ]
    # The first cycle is only the way to the input registers.
    if ends.input_register:
        stages[0] = arrival
    cycles = tuple(_place(r, op, cycle[r], free) for r, op in program)
    return Schedule(cycles, last + 1, period, tuple(stages), tech, ends)


def sums_in_blocks(program: Program, cycles: Sequence[int | None], tech: Technology) -> set[Ref]:
    """Additions that DSP blocks do: those in the cycle of a product of theirs.

    Behind a register synthesis adds in LUTs.
    """
    return {
        ref
        for ref in dsp_sums(program, tech)
        if _follows_product(program, ref, cycles, cycles[ref])
    }


def _follows_product(
    program: Program, ref: Ref, cycles: Sequence[int | None], at: int | None
) -> bool:
    factors = (r for r in operands(program.ops[ref]) if isinstance(program.ops[r], Product))
    # A product of an earlier cycle has been registered outside of the adder.
    return any(cycles[r] == at for r in factors)


def _place(ref: Ref, op: Op, cycle: int, free: set[Ref]) -> int | None:
    """When an operation happens: an input as it comes, whenever it is first read."""
    if ref in free:
        return None
    return 0 if isinstance(op, Input) else cycle


def _latest(
    refs: tuple[Ref, ...], cycle: list[int], ready: list[float], register: float
) -> tuple[int, float]:
    """The first cycle in which all operands are there, and when in it."""
    if not refs:
        return 0, register
    first = max(cycle[r] for r in refs)
    return first, max((ready[r] for r in refs if cycle[r] == first), default=register)


def _refuse(program: Program, takes: list[float], clock_mhz: float, nearest: float) -> NoReturn:
    name = program.ops[takes.index(max(takes))].name or "one operation"
    # Rounded down, so that the clock it names can be met.
    nearest = math.floor(nearest * 10) / 10
    raise OptionError(
        f"clock must be at most {nearest:.1f} MHz for {name} to fit one cycle, "
        f"not {clock_mhz:g}; lower --clock"
    )
