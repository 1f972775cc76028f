"""Models of ECP5's and iCE40's primitives: Yosys' own, and a multiplier of ECP5."""

from __future__ import annotations

import re
from pathlib import Path

from scm_hw.common.templates import render
from scm_hw.errors import ToolError

_BLOCK_MEMORIES = re.compile(r"^  (DP16KD|PDPW16KD) ", re.M)
# nextpnr's, not Yosys', and not in the Verilog that Icarus takes.
_PACKED_LUT = re.compile(r"^module TRELLIS_COMB\b.*?^endmodule\n", re.M | re.S)
_INCLUDE = re.compile(r'^\s*`include "([\w.]+)"\n', re.M)


def lattice_models(netlist: str, models: Path) -> str:
    """Verilog of every primitive in a netlist, given Yosys' file of models.

    ToolError for block memories of ECP5, of which there is no model.
    """
    if found := _BLOCK_MEMORIES.search(netlist):
        raise ToolError(
            f"can't simulate the netlist: there is no model of ECP5's block memories ({found[1]}); "
            "leave --gate-sim out"
        )
    if "ice40" in models.parts:
        # Icarus has no defaults for inputs; all inputs that matter are connected.
        return "`define NO_ICE40_DEFAULT_ASSIGNMENTS\n" + models.read_text(encoding="utf-8")
    return _PACKED_LUT.sub("", _included(models, set())) + multiplier()


def _included(path: Path, seen: set[str]) -> str:
    """The file with what it includes, once each: Icarus would look for them beside ours."""

    def text(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        return _included(path.parent / found[1], seen)

    return _INCLUDE.sub(text, path.read_text(encoding="utf-8"))


def multiplier() -> str:
    """MULT18X18D without any of its registers, as Yosys uses it."""
    sides = [f"{side}{bit}" for side in "ABC" for bit in range(18)]
    return render(
        __package__,
        "multiplier_ecp5.v",
        sides=sides,
        product=[f"P{bit}" for bit in range(36)],
        left=sides[17::-1],
        right=sides[35:17:-1],
    )
