"""A core whose readout learns from targets that come with the samples."""

from scm_hw.rtl.adapt.core import AdaptCore
from scm_hw.rtl.adapt.timing import AdaptTiming, adapt_cost, adapt_timing

__all__ = ["AdaptCore", "AdaptTiming", "adapt_cost", "adapt_timing"]
