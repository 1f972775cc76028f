"""What a build writes: Verilog, test bench, board top, Vivado scripts."""

from scm_hw.emit.boards import board_files, uart_files
from scm_hw.emit.formats import formats_files
from scm_hw.emit.interface import INTERFACES, CorePorts, interface_files, wrapper_name
from scm_hw.emit.registers import REGISTERS_HEADER, register_files
from scm_hw.emit.testbench import testbench_files
from scm_hw.emit.toolchains import TOOLCHAINS, Toolchain, synthesis_family, toolchain_of
from scm_hw.emit.vivado import out_of_context_files

__all__ = [
    "INTERFACES",
    "REGISTERS_HEADER",
    "TOOLCHAINS",
    "CorePorts",
    "Toolchain",
    "board_files",
    "formats_files",
    "interface_files",
    "out_of_context_files",
    "register_files",
    "synthesis_family",
    "testbench_files",
    "toolchain_of",
    "uart_files",
    "wrapper_name",
]
