"""From a scheduled Program to Amaranth, and from there to Verilog."""

from scm_hw.rtl.core import Probe, ScmCore
from scm_hw.rtl.verilog import to_verilog

__all__ = ["Probe", "ScmCore", "to_verilog"]
