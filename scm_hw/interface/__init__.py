"""The core's ports, and the bus interfaces that can be put around them."""

from scm_hw.interface.axi_lite import AxiLiteCore
from scm_hw.interface.axi_stream import AxiStreamCore, byte_width
from scm_hw.interface.core import VerilogCore, core_members

__all__ = ["AxiLiteCore", "AxiStreamCore", "VerilogCore", "byte_width", "core_members"]
