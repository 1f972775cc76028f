"""Checks of the emitted design against the interpreter's integers, in three simulators.

A fourth check takes the netlist that synthesis made of it.
"""

from scm_hw.sim.model import Mismatch
from scm_hw.sim.vectors import Probe, Vectors
from scm_hw.simulate._amaranth import run_amaranth
from scm_hw.simulate._cocotb import run_icarus, run_verilator
from scm_hw.simulate._interface import run_interface
from scm_hw.simulate._lint import PRIMITIVES, lint
from scm_hw.simulate._netlist import NETLIST, run_netlist
from scm_hw.simulate._process import kill_all, kill_group, run_tool, telling_line
from scm_hw.simulate._result import SimResult
from scm_hw.simulate._testbench import run_testbench

__all__ = [
    "NETLIST",
    "PRIMITIVES",
    "Mismatch",
    "Probe",
    "SimResult",
    "Vectors",
    "kill_all",
    "kill_group",
    "lint",
    "run_amaranth",
    "run_icarus",
    "run_interface",
    "run_netlist",
    "run_testbench",
    "run_tool",
    "run_verilator",
    "telling_line",
]
