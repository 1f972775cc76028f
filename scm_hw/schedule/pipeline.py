"""How a program is laid out in time: short sums cost LUTs, long ones cost cycles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from scm_hw.errors import OptionError
from scm_hw.ir import Product, Program, verify
from scm_hw.passes import lower_sums, share_sums
from scm_hw.schedule.costs import Cost, estimate
from scm_hw.schedule.schedule import Schedule, schedule
from scm_hw.target import TECHNOLOGIES

# Cycles that a sample takes to the core and its result away from it.
OUTSIDE = 2

MODES = ("min-latency", "balanced", "max-clock")
# What a nanosecond may cost in each sum; the finished layouts decide which of them was right.
# Outputs are few sums of many terms, so haste there costs little of the whole: it is always tried.
HASTE = 1000.0
LUTS_PER_NS = (0.0, 1.0, 3.0, 10.0, 30.0, HASTE)

Fits = Callable[[Cost], bool]


@dataclass(frozen=True)
class Layout:
    """One way to lay the program out."""

    program: Program
    schedule: Schedule
    cost: Cost

    @property
    def luts(self) -> int:
        return self.cost.lut


def lay_out(
    program: Program,
    *,
    clock_mhz: float,
    grade: str = "1",
    mode: str = "balanced",
    latency: int | None = None,
    dsps: int = 0,
    share: bool = True,
    fits: Fits = lambda cost: True,
) -> Layout:
    """Lower the sums of a program and give every operation its cycle.

    `min-latency` takes the fewest cycles; `balanced` the smallest product of LUTs and cycles, those
    outside of the core included;
    `max-clock` keeps every stage as short as one operation. With `latency`, the smallest layout
    that takes no more cycles than that. Constants are multiplied in up to `dsps` DSP blocks where
    that makes the layout better, and so are nodes laid out with sub-sums in common (`share`).
    What fits comes before what is better otherwise.
    """
    if mode not in MODES:
        raise OptionError(f"pipeline must be one of {', '.join(MODES)}, not {mode!r}")
    forms = [program]
    if share and (shared := share_sums(program)) != program:
        forms.append(shared)
    found = [y for form in forms for y in _forms(form, clock_mhz, grade, mode, dsps, fits)]
    found = [layout for layout in found if fits(layout.cost)] or found
    if latency is not None:
        return _within(found, latency, clock_mhz)
    if mode == "min-latency":
        return min(found, key=lambda layout: (layout.schedule.latency, layout.luts))
    return min(found, key=lambda layout: layout.luts * (layout.schedule.latency + OUTSIDE))


def _forms(
    program: Program, clock_mhz: float, grade: str, mode: str, dsps: int, fits: Fits
) -> list[Layout]:
    """Layouts in LUTs alone, and with multipliers where there are any to use."""
    shortest = mode == "max-clock"
    found = _layouts(program, clock_mhz, grade, shortest, fits)
    if dsps and _has_multiplications(program, grade):
        # Multipliers may be too slow for the clock; LUTs have been tried by then.
        with suppress(OptionError):
            multiplied = _layouts(program, clock_mhz, grade, shortest, fits, multipliers=True)
            found += [layout for layout in multiplied if layout.cost.dsp <= dsps]
    return found


def _has_multiplications(program: Program, grade: str) -> bool:
    """Whether a sum has a term that a DSP block could multiply."""
    multiplied = lower_sums(program, multipliers=True, tech=TECHNOLOGIES[grade])
    return _products(multiplied) > _products(program)


def _products(program: Program) -> int:
    return sum(isinstance(op, Product) for op in program.ops)


def _layouts(
    program: Program,
    clock_mhz: float,
    grade: str,
    shortest_stages: bool,
    fits: Fits,
    *,
    multipliers: bool = False,
) -> list[Layout]:
    """Layouts from the smallest on, as far as there are LUTs for them, and one at least."""
    found: dict[Program, Layout] = {}
    for rate, totals in product(LUTS_PER_NS, (None, HASTE)):
        lowered = lower_sums(
            program,
            rate,
            totals_per_ns=totals,
            multipliers=multipliers,
            tech=TECHNOLOGIES[grade],
        )
        if lowered in found:
            continue
        verify(lowered)
        plan = schedule(lowered, clock_mhz=clock_mhz, grade=grade, shortest_stages=shortest_stages)
        found[lowered] = Layout(lowered, plan, estimate(lowered, plan))
        # Haste costs LUTs and nothing else; with those of the outputs alone it costs few.
        if totals is None and not fits(Cost(lut=found[lowered].cost.lut)):
            break
    return list(found.values())


def _within(found: list[Layout], latency: int, clock_mhz: float) -> Layout:
    fewest = min(layout.schedule.latency for layout in found)
    if latency < fewest:
        raise OptionError(
            f"latency must be at least {fewest} cycles at {clock_mhz:g} MHz for this model, "
            f"not {latency}; allow more cycles or lower --clock"
        )
    fitting = [layout for layout in found if layout.schedule.latency <= latency]
    return min(fitting, key=lambda layout: (layout.luts, layout.schedule.latency))
