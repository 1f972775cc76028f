"""From a scheduled Program to Amaranth, and from there to Verilog."""

from scm_hw.rtl.core import OpProbe, Probe, ScmCore, StreamCore
from scm_hw.rtl.values import expressions
from scm_hw.rtl.verilog import to_verilog

__all__ = ["OpProbe", "Probe", "ScmCore", "StreamCore", "expressions", "to_verilog"]
