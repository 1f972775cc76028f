"""How a program is laid out in time: short sums cost LUTs, long ones cost cycles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product

from scm_hw.errors import OptionError
from scm_hw.ir import Product, Program
from scm_hw.passes import BY_CHOICE, Choices, Passes, Stage
from scm_hw.schedule.costs import Cost, estimate
from scm_hw.schedule.ends import Ends
from scm_hw.schedule.schedule import NOTHING_AROUND, Schedule, schedule
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
    """One way to lay the program out: `stages` are the programs after each pass, to the last."""

    stages: tuple[Stage, ...] = field(repr=False)
    schedule: Schedule
    cost: Cost

    @property
    def program(self) -> Program:
        return self.stages[-1].program

    @property
    def luts(self) -> int:
        return self.cost.lut


def lay_out(
    source: Program | Passes,
    *,
    clock_mhz: float,
    grade: str = "1",
    mode: str = "balanced",
    latency: int | None = None,
    dsps: int = 0,
    share: bool = True,
    tables: str = "lut",
    fits: Fits = lambda cost: True,
    ends: Ends = NOTHING_AROUND,
) -> Layout:
    """Run the passes with several choices, give every operation its cycle, and keep the best.

    A program is taken as optimised: only the passes that are chosen are left to run.

    `min-latency` takes the fewest cycles; `balanced` the smallest product of LUTs and cycles, those
    outside of the core included;
    `max-clock` keeps every stage as short as one operation. With `latency`, the smallest layout
    that takes no more cycles than that. Constants are multiplied in up to `dsps` DSP blocks where
    that makes the layout better, and so are nodes laid out with sub-sums in common (`share`).
    Levels are looked up in LUTs (`tables="lut"`), in block RAM (`"block"`), or in block RAM where
    the LUTs don't suffice and that helps (`"auto"`). What fits comes before what is better
    otherwise. `ends` says what is around the core.
    """
    if mode not in MODES:
        raise OptionError(f"pipeline must be one of {', '.join(MODES)}, not {mode!r}")
    passes = source if isinstance(source, Passes) else Passes(source, BY_CHOICE)
    search = _Search(passes, clock_mhz, grade, mode, latency, dsps, share, fits, ends)
    layout = search.best(block_tables=tables == "block")
    if tables == "auto" and not fits(layout.cost):
        smaller = search.best(block_tables=True)
        return smaller if fits(smaller.cost) else layout
    return layout


@dataclass(frozen=True, eq=False)
class _Search:
    """The layouts of one program under all choices that are worth a try."""

    passes: Passes
    clock_mhz: float
    grade: str
    mode: str
    latency: int | None
    dsps: int
    share: bool
    fits: Fits
    ends: Ends

    def best(self, *, block_tables: bool) -> Layout:
        start = Choices(TECHNOLOGIES[self.grade], block_tables=block_tables)
        forms = [start]
        # Where the pass changes nothing, a second set of equal layouts is saved.
        if self.share and self._has_something_to_share(start):
            forms.append(replace(start, share_bits=True))
        found = [layout for form in forms for layout in self._forms(form)]
        found = [layout for layout in found if self.fits(layout.cost)] or found
        if self.latency is not None:
            return _within(found, self.latency, self.clock_mhz)
        if self.mode == "min-latency":
            return min(found, key=lambda layout: (layout.schedule.latency, layout.luts))
        return min(found, key=lambda layout: layout.luts * (layout.schedule.latency + OUTSIDE))

    def _has_something_to_share(self, choices: Choices) -> bool:
        stages = self.passes.run(replace(choices, share_bits=True), until="share_bits")
        return stages[-1].program != stages[-2].program

    def _forms(self, choices: Choices) -> list[Layout]:
        """Layouts in LUTs alone, and with multipliers where there are any to use."""
        found = self._layouts(choices)
        multiplying = replace(choices, multipliers=True)
        if self.dsps and self._has_multiplications(multiplying):
            # Multipliers may be too slow for the clock; LUTs have been tried by then.
            with suppress(OptionError):
                multiplied = self._layouts(multiplying)
                found += [layout for layout in multiplied if layout.cost.dsp <= self.dsps]
        return found

    def _has_multiplications(self, choices: Choices) -> bool:
        """Whether a sum has a term that a DSP block could multiply."""
        stages = self.passes.run(choices)
        return _products(stages[-1].program) > _products(stages[-2].program)

    def _layouts(self, choices: Choices) -> list[Layout]:
        """Layouts from the smallest on, as far as there are LUTs for them, and one at least."""
        found: dict[Program, Layout] = {}
        ways: list[tuple[float | None, bool]] = [(None, False), (HASTE, False)]
        if self.latency is not None or self.mode == "min-latency":
            # Full adders take more LUTs, so they are tried only where cycles come first.
            ways.append((HASTE, True))
        for rate, (totals, saved) in product(LUTS_PER_NS, ways):
            tried = replace(choices, luts_per_ns=rate, totals_per_ns=totals, carry_save=saved)
            stages = self.passes.run(tried)
            lowered = stages[-1].program
            # Neighbouring rates often give the same program.
            if lowered in found:
                continue
            plan = schedule(
                lowered,
                clock_mhz=self.clock_mhz,
                grade=self.grade,
                shortest_stages=self.mode == "max-clock",
                ends=self.ends,
            )
            found[lowered] = Layout(stages, plan, estimate(lowered, plan))
            # Rates rise, and a higher one costs more LUTs: if they don't suffice now, they won't
            # later. Haste in the outputs alone costs few, and decides nothing about other rates.
            if totals is None and not self.fits(Cost(lut=found[lowered].cost.lut)):
                break
        return list(found.values())


def _products(program: Program) -> int:
    return sum(isinstance(op, Product) for op in program.ops)


def _within(found: list[Layout], latency: int, clock_mhz: float) -> Layout:
    fewest = min(layout.schedule.latency for layout in found)
    if latency < fewest:
        raise OptionError(
            f"latency must be at least {fewest} cycles at {clock_mhz:g} MHz for this model, "
            f"not {latency}; allow more cycles or lower --clock"
        )
    fitting = [layout for layout in found if layout.schedule.latency <= latency]
    return min(fitting, key=lambda layout: (layout.luts, layout.schedule.latency))
