"""The registers of a readout that learns, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.errors import OptionError
from scm_hw.fold.trees import AdderTree, selecting_tree
from scm_hw.load.adaptive import Adaptive
from scm_hw.schedule import Cost
from scm_hw.schedule.schedule import USABLE, fastest_clock_mhz
from scm_hw.target import Technology, addition
from scm_model.adaptation import UPDATE_DELAY

# From the hidden bits to the changes, to their first sums, and from the error to where it waits.
BEFORE_SUMS, BEHIND_SUMS = 3, 3
# Distributed RAM for each bit of a table with two read ports, up to 32 words; of a memory with one.
TABLE_LUTS, MEMORY_LUTS = 4 / 3, 2 / 3
# Counters and comparisons that don't depend on the machine.
FIXED_LUTS, FIXED_FF = 90, 70


@dataclass(frozen=True)
class AdaptTiming:
    """How the changes are added up, the trained answer last; `loop_ns` is that of a change."""

    tree: AdderTree
    loop_ns: float

    @property
    def ranks(self) -> int:
        """Cycles from the hidden bits to the answer."""
        return BEFORE_SUMS + self.tree.ranks

    def max_clock_mhz(self, tech: Technology) -> float:
        return fastest_clock_mhz(max(self.tree.ns, self.loop_ns) * tech.scale, tech)


def adapt_timing(found: Adaptive, period_ns: float, tech: Technology) -> AdaptTiming:
    """As many additions to a cycle as the clock has time for."""
    own = found.adaptation
    terms = len(own.tables) or -(-own.terms // 2)
    width = max(reach.width for reach in found.answers) + own.guard_bits
    budget = period_ns * USABLE / tech.scale - tech.setup
    # One level more than the terms have: the answer of the trained machine.
    tree = selecting_tree(1 << ((terms - 1).bit_length() + 1), width, budget, tech)
    # Read where it is a table, add, saturate; a leak is one more addition.
    additions = 1 + (own.leak is not None)
    loop = tech.register + additions * addition(own.width + 2, tech) + tech.level
    loop += tech.level if own.tables else 0.0
    timing = AdaptTiming(tree, loop)
    # The delay is part of the model, equal in every form of it, so the registers have to fit
    # inside.
    if timing.ranks + BEHIND_SUMS >= UPDATE_DELAY:
        raise OptionError(
            f"clock must be slower for --adapt, not {1000 / period_ns:g} MHz: an error must be "
            f"known {UPDATE_DELAY - BEHIND_SUMS} cycles after the hidden bits; lower --clock"
        )
    if loop > budget:
        most = fastest_clock_mhz(loop * tech.scale, tech)
        raise OptionError(
            f"clock must be at most {most:.0f} MHz for --adapt, which changes its readout in one "
            f"cycle, not {1000 / period_ns:g} MHz; lower --clock, or leave --adapt out"
        )
    return timing


def adapt_cost(found: Adaptive, timing: AdaptTiming) -> Cost:
    """Changes, sums, errors and what is kept of earlier samples."""
    own = found.adaptation
    words = own.outputs * own.width
    sums = own.terms * own.outputs * (own.width + 2)
    if own.tables:
        luts = len(own.tables) * words * (TABLE_LUTS + 2 + bool(own.leak)) + sums
        registers = len(own.tables) * words
    else:
        luts = own.terms * words * (2 + bool(own.leak)) + sums
        registers = own.terms * words * 1.5
    hidden = len(found.program.outputs) - own.outputs
    errors = sum(reach.width for reach in found.errors)
    answers = sum(reach.width for reach in found.answers)
    luts += MEMORY_LUTS * (hidden + errors) * max(1, own.most_age // 32 + 1) + 6 * errors
    registers += 3 * hidden + 4 * errors + 3 * answers * timing.tree.ranks
    return Cost(lut=round(luts) + FIXED_LUTS, ff=round(registers) + FIXED_FF)
