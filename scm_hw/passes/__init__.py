"""Rewrites of a Program that keep its integers, in the order in which they run.

Each pass is a function from Program to Program in a file of its own name. `optimise` runs them all
and verifies the rules of the IR after each. More follow them: `block_tables`, where LUTs are short
or it was asked for (`scm_hw.design`), and `share_sums` and `lower_sums`: what they are worth is a
matter of the clock, so the schedule calls them (`scm_hw.schedule.pipeline`).
"""

from __future__ import annotations

from collections.abc import Callable

from scm_hw.ir import Program, verify
from scm_hw.passes.block_tables import block_tables
from scm_hw.passes.integer_thresholds import integer_thresholds
from scm_hw.passes.level_tables import level_tables
from scm_hw.passes.lower_argmax import lower_argmax
from scm_hw.passes.lower_sums import lower_sums
from scm_hw.passes.node_tables import node_tables
from scm_hw.passes.share_bits import SHARED, share_bits
from scm_hw.passes.share_parity import share_parity
from scm_hw.passes.simplify import simplify
from scm_hw.progress import advance

__all__ = [
    "PASSES",
    "SHARED",
    "block_tables",
    "integer_thresholds",
    "lower_argmax",
    "lower_sums",
    "optimise",
    "share_bits",
    "share_sums",
]

Pass = Callable[[Program], Program]

PASSES: tuple[Pass, ...] = (
    integer_thresholds,
    simplify,
    level_tables,
    simplify,
    node_tables,
    share_parity,
    lower_argmax,
)


def optimise(program: Program) -> Program:
    """The program, ready for its sums to be laid out: equal outputs on every input."""
    for number, apply in enumerate(PASSES):
        advance(number, len(PASSES))
        program = apply(program)
        verify(program)
    return program


def share_sums(program: Program) -> Program:
    """The program with what its nodes can add in common; an equal one where that is nothing."""
    shared = share_bits(program)
    verify(shared)
    return shared
