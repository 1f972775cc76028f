"""Gradient-boosted trees laid out in gates, as TreeLUT does it (arXiv 2501.01511).

Features are quantised to a few bits before training. In hardware each distinct comparison of a
feature with a threshold is made once, each bit of a tree's leaves is one function of these
comparisons, and adders sum the trees up. Leaves are unsigned integers: the least leaf of each tree
is subtracted from all of its leaves, and what was subtracted goes, with the bias, into the
threshold of a decision or into one constant per class. This is written for the comparison alone and
shares nothing with the compiler.
"""

from bench.trees.boosting import BOOSTING, Boosted, Boosting, boost
from bench.trees.codes import Codes
from bench.trees.cost import estimate, estimates
from bench.trees.icarus import simulate
from bench.trees.quantised import Quantised, quantise
from bench.trees.verilog import to_verilog

__all__ = [
    "BOOSTING",
    "Boosted",
    "Boosting",
    "Codes",
    "Quantised",
    "boost",
    "estimate",
    "estimates",
    "quantise",
    "simulate",
    "to_verilog",
]
