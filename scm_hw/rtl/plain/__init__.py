"""RTLIL made plain before it becomes Verilog: names, widths and ports as a person writes them."""

from scm_hw.rtl.plain.design import plain_rtlil

__all__ = ["plain_rtlil"]
