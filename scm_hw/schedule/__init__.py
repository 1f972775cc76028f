"""When things happen and what they cost: a delay model, a cost model, and a cycle for each op."""

from scm_hw.schedule.around import Around
from scm_hw.schedule.costs import Cost, by_operation, estimate, registers_by_rank
from scm_hw.schedule.ends import Ends
from scm_hw.schedule.pipeline import MODES, Layout, lay_out
from scm_hw.schedule.schedule import Schedule, schedule, sums_in_blocks

__all__ = [
    "MODES",
    "Around",
    "Cost",
    "Ends",
    "Layout",
    "Schedule",
    "by_operation",
    "estimate",
    "lay_out",
    "registers_by_rank",
    "schedule",
    "sums_in_blocks",
]
