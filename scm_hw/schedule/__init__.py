"""When things happen and what they cost: a delay model, a cost model, and a cycle for each op."""

from scm_hw.schedule.costs import Cost, by_operation, estimate
from scm_hw.schedule.delays import free_ops
from scm_hw.schedule.schedule import Schedule, schedule

__all__ = ["Cost", "Schedule", "by_operation", "estimate", "free_ops", "schedule"]
