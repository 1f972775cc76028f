"""The registers of a loadable readout, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.fold.trees import AdderTree, selecting_tree
from scm_hw.load.readout import ReadoutPlan
from scm_hw.schedule import Cost
from scm_hw.schedule.schedule import USABLE, fastest_clock_mhz
from scm_hw.target import Technology

# LUTs of distributed RAM for each bit of a table with both banks, up to 32 and up to 64 words, and
# those of the loader besides its counters.
RAM32_LUTS, RAM64_LUTS = 2 / 3, 4 / 3
LOADER_LUTS, LOADER_FF = 120, 110
# What a key adds: SipHash, the counter, and the hash of the upload, found with Yosys.
KEY_COST = Cost(lut=930, ff=530)


@dataclass(frozen=True)
class ReadoutTiming:
    """How the entries of an output are added up, and in how many levels classes are compared."""

    tree: AdderTree
    compared: int

    @property
    def ranks(self) -> int:
        """Cycles from the hidden bits to the result: tables, sums, and comparisons."""
        return 1 + self.tree.ranks + self.compared

    def max_clock_mhz(self, tech: Technology) -> float:
        return fastest_clock_mhz(self.tree.ns * tech.scale, tech)


def readout_timing(plan: ReadoutPlan, period_ns: float, tech: Technology) -> ReadoutTiming:
    """As many additions to a cycle as the clock has time for, and one comparison."""
    each = len(plan.tables) // plan.outputs
    reaches = [plan.score_range(j).width for j in range(plan.outputs)]
    # An entry and its successors in the tree are narrower than their total.
    width = max(max(table.width + table.shift for table in plan.tables), 2)
    budget = period_ns * USABLE / tech.scale - tech.setup
    tree = selecting_tree(each + 1, min(width, max(reaches)), budget, tech)
    compared = (plan.outputs - 1).bit_length() if plan.kind == "argmax" else 0
    return ReadoutTiming(tree, compared)


def readout_cost(plan: ReadoutPlan, timing: ReadoutTiming) -> Cost:
    """Tables, sums, comparisons and the loader."""
    luts, registers = 0.0, 0
    for table in plan.tables:
        words = (plan.models + 1) * table.depth
        per_bit = RAM32_LUTS if words <= 32 else RAM64_LUTS * -(-words // 64)
        # An addition takes a LUT for each bit of the entry and of the places that it grows by.
        luts += table.width * (per_bit + 1) + 2
        registers += table.width
    for output in range(plan.outputs):
        width = plan.score_range(output).width
        luts += width * (1 + 2 * bool(timing.compared))
        registers += width * (timing.tree.ranks + timing.compared)
    return Cost(lut=round(luts) + LOADER_LUTS, ff=registers + LOADER_FF)
