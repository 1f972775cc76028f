"""Checks of the emitted design against the interpreter's integers, in three simulators.

A fourth check takes the netlist that synthesis made of it.
"""

from scm_hw.verify.amaranth_run import run_amaranth
from scm_hw.verify.cocotb_run import run_icarus, run_verilator
from scm_hw.verify.netlist import NETLIST, run_netlist
from scm_hw.verify.result import SimResult
from scm_hw.verify.testbench import run_testbench
from scm_hw.verify.verilator_lint import PRIMITIVES, lint
from scm_hw.verify.wrapper import run_interface

__all__ = [
    "NETLIST",
    "PRIMITIVES",
    "SimResult",
    "lint",
    "run_amaranth",
    "run_icarus",
    "run_interface",
    "run_netlist",
    "run_testbench",
    "run_verilator",
]
