"""What logic costs on the target: LUTs, and the delays of cells and nets, by device family."""

from scm_hw.target.delays import ABSORBING, addition, delay, free_ops, is_clocked
from scm_hw.target.dsp import dsps
from scm_hw.target.luts import luts_per_bit, varying_bits
from scm_hw.target.technology import GRADE_SCALE, TECHNOLOGIES, XC7, Technology

# The passes make tables for the LUTs of the 7 series, whatever the family.
LUT_INPUTS = XC7.lut_inputs
ABSORBED_INPUTS = XC7.absorbed_inputs
REGISTER = XC7.register
SETUP = XC7.setup

__all__ = [
    "ABSORBED_INPUTS",
    "ABSORBING",
    "GRADE_SCALE",
    "LUT_INPUTS",
    "REGISTER",
    "SETUP",
    "TECHNOLOGIES",
    "XC7",
    "Technology",
    "addition",
    "delay",
    "dsps",
    "free_ops",
    "is_clocked",
    "luts_per_bit",
    "varying_bits",
]
