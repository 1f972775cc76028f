"""What other flows ask for: a FuseSoC core, a VHDL component, and scripts of simulators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scm_hw.boards import Board
from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.emit.interface import ip_version

# By family, those that Yosys has a script for.
_ARCHITECTURES = {"xc7": "xilinx", "ecp5": "ecp5", "ice40": "ice40", "gowin": "gowin"}
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
    modules: Mapping[str, str], digest: str, board: Board, names: Names = DEFAULT
) -> dict[str, str]:
    """File name to text; `modules` are names and Verilog, the core's first, the outermost last."""
    words: dict[str, Any] = {
        "names": names,
        "modules": {name: ports_of(name, verilog) for name, verilog in modules.items()},
        "top": list(modules)[-1],
        "sources": [f"{module}.v" for module in modules],
        "version": ip_version(digest),
        "digest": digest,
        "part": board.part,
        "xilinx": board.family == "xc7",
        "synthesis": _ARCHITECTURES.get(board.family),
    }
    texts = {f"{names.prefix}.core": "fusesoc.core", f"{names.prefix}.vhd": "component.vhd"}
    texts |= {script: script for script in SCRIPTS}
    return {name: render(__package__, template, **words) for name, template in texts.items()}


def ports_of(module: str, verilog: str) -> list[Port]:
    """The ports of a module in Verilog that we wrote."""
    # We write a port to a line, so a pattern finds all of them.
    text = re.search(rf"^module {module}\(.*?^endmodule", verilog, re.M | re.S)
    assert text is not None
    found = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);$", text[0], re.M)
    # A port of one bit has no range.
    return [Port(name, side.removesuffix("put"), int(high or 0) + 1) for side, high, name in found]
