"""What logic costs on the target: LUTs, and the delays of 7-series cells and nets."""

from scm_hw.target.delays import (
    ABSORBED_INPUTS,
    DSP_WIDTHS,
    GRADE_SCALE,
    LUT_INPUTS,
    REGISTER,
    SETUP,
    addition,
    delay,
    free_ops,
)
from scm_hw.target.luts import varying_bits

__all__ = [
    "ABSORBED_INPUTS",
    "DSP_WIDTHS",
    "GRADE_SCALE",
    "LUT_INPUTS",
    "REGISTER",
    "SETUP",
    "addition",
    "delay",
    "free_ops",
    "varying_bits",
]
