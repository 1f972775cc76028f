"""What logic costs on the target: LUTs, and the delays of cells and nets, by device family."""

from scm_hw.target.delays import ABSORBING, addition, delay, enable_delay, free_ops, is_clocked
from scm_hw.target.dsp import dsp_sums, dsps
from scm_hw.target.luts import luts_per_bit, varying_bits
from scm_hw.target.technology import GRADE_SCALE, TECHNOLOGIES, XC7, Technology

__all__ = [
    "ABSORBING",
    "GRADE_SCALE",
    "TECHNOLOGIES",
    "XC7",
    "Technology",
    "addition",
    "delay",
    "dsp_sums",
    "dsps",
    "enable_delay",
    "free_ops",
    "is_clocked",
    "luts_per_bit",
    "varying_bits",
]
