"""All passes in their order, what decides whether and how each runs, and the one place they run in.

The first of them run on every program. What the others are worth is a matter of the clock and of
the room on the device, so `scm_hw.schedule.pipeline` runs the list several times with different
`Choices`, lays each result out, and keeps the best. Passes with equal choices run once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scm_hw.common.progress import advance
from scm_hw.ir import Program
from scm_hw.passes.block_tables import block_tables
from scm_hw.passes.family_tables import family_tables
from scm_hw.passes.level_tables import level_tables
from scm_hw.passes.lower_argmax import lower_argmax
from scm_hw.passes.lower_sums import LUTS_PER_NS, lower_sums
from scm_hw.passes.node_digits import node_digits
from scm_hw.passes.node_tables import node_tables
from scm_hw.passes.reference import Reference, Rows
from scm_hw.passes.share_bits import share_bits
from scm_hw.passes.share_parity import share_parity
from scm_hw.passes.shared_comparisons import shared_comparisons
from scm_hw.passes.simplify import simplify
from scm_hw.target import Technology


@dataclass(frozen=True)
class Choices:
    """What is left open by the program itself, and depends on device, clock and room."""

    tech: Technology
    # Two levels are looked up in one block RAM: on request, or where LUTs alone don't suffice.
    block_tables: bool = False
    # Nodes add what they have in common once: taken where the finished layout is better for it.
    share_bits: bool = False
    # What a nanosecond may cost in each sum, and in those that are not compared: where the clock is
    # fast, long chains cost registers and cycles; otherwise they are the smallest.
    luts_per_ns: float = LUTS_PER_NS
    totals_per_ns: float | None = None
    # Constants are multiplied in DSP blocks: taken where they are fast enough and there are any.
    multipliers: bool = False
    # Outputs are added up by full adders: tried where cycles count more than LUTs.
    carry_save: bool = False


Options = dict[str, Any]


def _always(_: Choices) -> Options:
    return {}


def _of_technology(choices: Choices) -> Options:
    return {"tech": choices.tech}


@dataclass(frozen=True)
class Pass:
    """A function from Program to Program. `options` are its arguments, None to leave it out."""

    name: str
    function: Callable[..., Program]
    options: Callable[[Choices], Options | None] = _always


# Each pass relies on those before it: comparisons are in lowest terms before levels are derived
# from them, tables exist before nodes become one, nodes are tables before those of the same few
# bits are added up, and parity is shared among the nodes that remain. All of these take comparisons
# as single bits, so how comparisons of codes are built is decided last.
ALWAYS = (
    Pass("simplify", simplify),
    Pass("level_tables", level_tables, _of_technology),
    # Comparisons of single tables, which are tables of bits, and nodes that are constant by now.
    Pass("simplify_tables", simplify),
    Pass("node_tables", node_tables, _of_technology),
    Pass("family_tables", family_tables, _of_technology),
    Pass("share_parity", share_parity),
    Pass("node_digits", node_digits, _of_technology),
    Pass("lower_argmax", lower_argmax),
    Pass("shared_comparisons", shared_comparisons, _of_technology),
)
# lower_sums is last: it leaves sums of two operands, in which the others would no longer see which
# terms nodes have in common.
BY_CHOICE = (
    Pass("block_tables", block_tables, lambda c: {} if c.block_tables else None),
    Pass("share_bits", share_bits, lambda c: {} if c.share_bits else None),
    Pass(
        "lower_sums",
        lower_sums,
        lambda c: {
            "luts_per_ns": c.luts_per_ns,
            "totals_per_ns": c.totals_per_ns,
            "multipliers": c.multipliers,
            "carry_save": c.carry_save,
            "tech": c.tech,
        },
    ),
)
PASSES = ALWAYS + BY_CHOICE
LITERAL = "load"
NAMES = (LITERAL, *(one.name for one in PASSES))


@dataclass(frozen=True)
class Stage:
    """The program after a pass; the one before it, where the pass was left out."""

    name: str
    program: Program
    left_out: bool = False


class Passes:
    """One program, and what the passes make of it. After each pass outputs are compared.

    `rows` are inputs that matter most, such as evaluation rows; corners and random codes are added.
    """

    def __init__(
        self, program: Program, passes: tuple[Pass, ...] | None = None, rows: Rows | None = None
    ) -> None:
        self.program = program
        self.passes = PASSES if passes is None else passes
        self.reference = Reference(program, rows)
        # Programs by the passes and options that led to them, since many choices begin alike.
        self._known: dict[tuple[object, ...], Program] = {}
        self._told = 0

    def run(self, choices: Choices, until: str | None = None) -> tuple[Stage, ...]:
        """The literal program, then the program after each pass, or those to `until`."""
        stages = [Stage(LITERAL, self.program)]
        key: tuple[object, ...] = ()
        for number, one in enumerate(self.passes):
            self._tell(number)
            options = one.options(choices)
            if options is not None:
                key = (*key, one.name, *options.items())
            stages.append(self._stage(one, stages[-1].program, options, key))
            if one.name == until:
                break
        return tuple(stages)

    def _stage(
        self, one: Pass, before: Program, options: Options | None, key: tuple[object, ...]
    ) -> Stage:
        if options is None:
            return Stage(one.name, before, left_out=True)
        after = self._known.get(key)
        if after is None:
            after = self._applied(one, before, options)
            # What the last one makes, of many choices, would take too much memory.
            if one is not self.passes[-1]:
                self._known[key] = after
        return Stage(one.name, after)

    def _applied(self, one: Pass, before: Program, options: Options) -> Program:
        after = one.function(before, **options)
        # A pass that finds nothing to do returns its argument, which has been compared already.
        if after is not before:
            self.reference.check(one.name, after)
        return after

    def _tell(self, number: int) -> None:
        if number == self._told:
            advance(number, len(self.passes))
            self._told += 1


def optimise(program: Program, tech: Technology) -> Program:
    """The program after the passes that always run: equal outputs on every input."""
    return Passes(program, ALWAYS).run(Choices(tech))[-1].program
