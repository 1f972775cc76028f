"""A core whose readout can be loaded while it runs."""

from scm_hw.rtl.reload.core import ReloadCore
from scm_hw.rtl.reload.loader import Loader
from scm_hw.rtl.reload.timing import ReadoutTiming, readout_timing

__all__ = ["Loader", "ReadoutTiming", "ReloadCore", "readout_timing"]
