"""When things happen: a delay model, and the cycle of every operation."""

from scm_hw.schedule.delays import free_ops
from scm_hw.schedule.schedule import Schedule, schedule

__all__ = ["Schedule", "free_ops", "schedule"]
