"""What other flows ask for: a FuseSoC core, a VHDL component, and scripts of simulators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib.wiring import Component, Out

from scm_hw.boards import Board
from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.emit.interface import ip_version, wrapped_core
from scm_hw.rtl.ports import CorePorts, VerilogCore

# File by simulator, with the template of the same name.
SCRIPTS = ("sim_questa.sh", "sim_riviera.sh", "sim_xsim.sh")


@dataclass(frozen=True)
class Port:
    """A port of a module as text needs it."""

    name: str
    direction: str
    width: int

    @property
    def vhdl(self) -> str:
        kind = "std_logic" if self.width == 1 else f"std_logic_vector({self.width - 1} downto 0)"
        return f"{self.direction} {kind}"


def flow_files(
    interface: str, ports: CorePorts, digest: str, board: Board, names: Names = DEFAULT
) -> dict[str, str]:
    """File name to text."""
    core = VerilogCore(sum(ports.in_widths), sum(ports.out_widths), names.core, ports.handshake)
    clocked = [Port("clk", "in", 1), Port("rst", "in", 1)]
    modules = {names.core: clocked + _ports(core)}
    if interface != "stream":
        wrapper = wrapped_core(interface, ports, digest, names)
        modules[names.wrapper(interface)] = _ports(wrapper)
    words: dict[str, Any] = {
        "names": names,
        "modules": modules,
        "top": list(modules)[-1],
        "sources": [f"{module}.v" for module in modules],
        "version": ip_version(digest),
        "digest": digest,
        "part": board.part,
        "xilinx": board.family == "xc7",
        # Those that Yosys has a script for.
        "synthesis": {"xc7": "xilinx", "ecp5": "ecp5", "ice40": "ice40"}.get(board.family),
    }
    texts = {f"{names.prefix}.core": "fusesoc.core", f"{names.prefix}.vhd": "component.vhd"}
    texts |= {script: script for script in SCRIPTS}
    return {name: render(__package__, template, **words) for name, template in texts.items()}


def _ports(component: Component) -> list[Port]:
    return [
        Port(name, "out" if member.flow is Out else "in", Shape.cast(member.shape).width)
        for name, member in component.signature.members.items()
    ]
