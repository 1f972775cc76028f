"""Bus interfaces around the core's ports: AXI4-Stream and AXI4-Lite."""

from scm_hw.rtl.axi.axi_lite import AxiLiteCore
from scm_hw.rtl.axi.axi_stream import AxiStreamCore, byte_width
from scm_hw.rtl.axi.crossing import CrossedStream
from scm_hw.rtl.axi.rows import TDATA_BITS, RowFormat, RowStream
from scm_hw.rtl.axi.wishbone import WishboneCore

__all__ = [
    "TDATA_BITS",
    "AxiLiteCore",
    "AxiStreamCore",
    "CrossedStream",
    "RowFormat",
    "RowStream",
    "WishboneCore",
    "byte_width",
]
