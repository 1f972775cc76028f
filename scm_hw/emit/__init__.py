"""What a build writes: Verilog, test bench, board top, Vivado scripts."""

from scm_hw.emit.bare_parts import bare_part_files
from scm_hw.emit.boards import board_files, uart_files
from scm_hw.emit.cocotb_bench import cocotb_files
from scm_hw.emit.drivers import driver_files
from scm_hw.emit.flows import flow_files
from scm_hw.emit.formats import formats_files
from scm_hw.emit.interface import INTERFACES, interface_files, row_formats
from scm_hw.emit.litex import litex_files
from scm_hw.emit.python_model import python_model_files
from scm_hw.emit.registers import register_files
from scm_hw.emit.testbench import testbench_files
from scm_hw.emit.vivado import out_of_context_files
from scm_hw.emit.zynq import default_bus, zynq_files

__all__ = [
    "INTERFACES",
    "bare_part_files",
    "board_files",
    "cocotb_files",
    "default_bus",
    "driver_files",
    "flow_files",
    "formats_files",
    "interface_files",
    "litex_files",
    "out_of_context_files",
    "python_model_files",
    "register_files",
    "row_formats",
    "testbench_files",
    "uart_files",
    "zynq_files",
]
