"""How many DSP blocks a multiplication takes."""

from __future__ import annotations

from scm_hw.ir import Range
from scm_hw.target.technology import Technology


def dsps(left: Range, right: Range, tech: Technology) -> int:
    """DSP blocks for a product of two values; 0 where it stays in LUTs."""
    return dsp_tiles(left.width, right.width, tech)


def dsp_tiles(left: int, right: int, tech: Technology) -> int:
    """The same by the widths of the factors."""
    short, long = sorted((left, right))
    if short * long < tech.min_dsp_bits:
        return 0
    return -(-short // (tech.dsp_widths[0] - 1)) * -(-long // (tech.dsp_widths[1] - 1))
