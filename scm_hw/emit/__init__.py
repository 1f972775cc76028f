"""What a build writes: Verilog, test bench, board top, Vivado scripts."""

from scm_hw.emit.formats import formats_files
from scm_hw.emit.interface import INTERFACES, CorePorts, interface_files, wrapper_name
from scm_hw.emit.testbench import testbench_files
from scm_hw.emit.vivado import board_files, out_of_context_files, uart_files

__all__ = [
    "INTERFACES",
    "CorePorts",
    "board_files",
    "formats_files",
    "interface_files",
    "out_of_context_files",
    "testbench_files",
    "uart_files",
    "wrapper_name",
]
