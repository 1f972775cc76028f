"""Which cycle each operation happens in.

Cycle `c` is the logic between register rank `c` and rank `c + 1`; rank 0 is outside, where samples
come from, and the outputs leave from the last rank. So the latency of the core is its number of
ranks, one more than the last cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.errors import OptionError
from scm_hw.ir import Input, Program, Ref, operands, ranges
from scm_hw.schedule.delays import GRADE_SCALE, REGISTER, SETUP, delay, free_ops

# Share of the clock period that logic may take in the model; placement has the rest.
USABLE = 0.8


@dataclass(frozen=True)
class Schedule:
    """The cycle of every operation, None for those that have no place in time."""

    cycles: tuple[int | None, ...]
    latency: int
    period_ns: float
    stage_ns: tuple[float, ...]

    @property
    def initiation_interval(self) -> int:
        return 1


def schedule(program: Program, *, clock_mhz: float, grade: str = "1") -> Schedule:
    """As soon as possible, as many operations to a cycle as the clock has time for."""
    period = 1000.0 / clock_mhz
    scale = GRADE_SCALE[grade]
    budget = period * USABLE - SETUP * scale
    known = ranges(program)
    free = free_ops(program)
    cycle: list[int] = []
    ready: list[float] = []
    for ref, op in program:
        takes = 0.0 if ref in free else delay(op, known, known[ref]) * scale
        start = _latest(operands(op), cycle, ready, REGISTER * scale)
        at, time = start[0], start[1] + takes
        if time > budget and ref not in free:
            at, time = at + 1, REGISTER * scale + takes
        if time > budget and not isinstance(op, Input):
            _refuse(op.name, time, clock_mhz, budget)
        cycle.append(at)
        ready.append(time)
    last = max((cycle[r] for r in program.outputs), default=0)
    stages = [
        max((t for c, t in zip(cycle, ready, strict=True) if c == stage), default=0.0)
        for stage in range(last + 1)
    ]
    cycles = tuple(None if r in free else c for r, c in enumerate(cycle))
    return Schedule(cycles, last + 1, period, tuple(stages))


def _latest(
    refs: tuple[Ref, ...], cycle: list[int], ready: list[float], register: float
) -> tuple[int, float]:
    """The first cycle in which all operands are there, and when in it."""
    if not refs:
        return 0, register
    first = max(cycle[r] for r in refs)
    return first, max((ready[r] for r in refs if cycle[r] == first), default=register)


def _refuse(name: str, time: float, clock_mhz: float, budget: float) -> None:
    nearest = clock_mhz * budget / time
    raise OptionError(
        f"clock must be at most {nearest:.1f} MHz for {name or 'an operation'} to fit one cycle, "
        f"not {clock_mhz:g}; lower --clock"
    )
