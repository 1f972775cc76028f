"""Rewrites of a Program that keep its integers.

Each pass is a function from Program to Program in a file of its own name. `scm_hw.passes.order` has
them all in their order, runs them, and compares the outputs before and after each.
"""

from scm_hw.passes.block_tables import block_tables
from scm_hw.passes.lower_argmax import lower_argmax
from scm_hw.passes.lower_sums import lower_sums
from scm_hw.passes.order import (
    ALWAYS,
    BY_CHOICE,
    LITERAL,
    NAMES,
    PASSES,
    Choices,
    Pass,
    Passes,
    Stage,
    optimise,
)
from scm_hw.passes.reference import OWN_ROWS, Reference
from scm_hw.passes.share_bits import share_bits

__all__ = [
    "ALWAYS",
    "BY_CHOICE",
    "LITERAL",
    "NAMES",
    "OWN_ROWS",
    "PASSES",
    "Choices",
    "Pass",
    "Passes",
    "Reference",
    "Stage",
    "block_tables",
    "lower_argmax",
    "lower_sums",
    "optimise",
    "share_bits",
]
