"""How many DSP blocks a multiplication takes."""

from __future__ import annotations

from scm_hw.ir import Range

# Of the two factors, sign included.
DSP_WIDTHS = (18, 25)
# Multipliers below this many partial product bits stay in LUTs.
MIN_DSP_BITS = 40


def dsps(left: Range, right: Range) -> int:
    """DSP blocks for a product of two values; 0 where it stays in LUTs."""
    short, long = sorted((left.width, right.width))
    if short * long < MIN_DSP_BITS:
        return 0
    return -(-short // (DSP_WIDTHS[0] - 1)) * -(-long // (DSP_WIDTHS[1] - 1))
