"""Cores that are given another model while they run: a readout, or all of it."""

from scm_hw.rtl.reload.core import ReloadCore
from scm_hw.rtl.reload.loader import Loader
from scm_hw.rtl.reload.plan import ProcessorPlan
from scm_hw.rtl.reload.processor import ProcessorCore
from scm_hw.rtl.reload.timing import ReadoutTiming, readout_timing

__all__ = [
    "Loader",
    "ProcessorCore",
    "ProcessorPlan",
    "ReadoutTiming",
    "ReloadCore",
    "readout_timing",
]
