"""What logic costs on the target: LUTs, and the delays of 7-series cells and nets."""

from scm_hw.target.block_ram import half_blocks
from scm_hw.target.delays import (
    ABSORBED_INPUTS,
    GRADE_SCALE,
    LUT_INPUTS,
    REGISTER,
    SETUP,
    addition,
    delay,
    free_ops,
    is_clocked,
)
from scm_hw.target.dsp import DSP_WIDTHS, MIN_DSP_BITS, dsps
from scm_hw.target.luts import varying_bits

__all__ = [
    "ABSORBED_INPUTS",
    "DSP_WIDTHS",
    "GRADE_SCALE",
    "LUT_INPUTS",
    "MIN_DSP_BITS",
    "REGISTER",
    "SETUP",
    "addition",
    "delay",
    "dsps",
    "free_ops",
    "half_blocks",
    "is_clocked",
    "varying_bits",
]
