"""Models of the primitives of ECP5, iCE40 and Gowin: Yosys' own, and a multiplier of ECP5."""

from __future__ import annotations

import re
from pathlib import Path

from scm_hw.common.templates import render
from scm_hw.errors import ToolError

_BLOCK_MEMORIES = re.compile(r"^  (DP16KD|PDPW16KD|SP|SPX9|S?DPB|S?DPX9B|pROM|pROMX9) ", re.M)
# nextpnr's, not Yosys', and not in the Verilog that Icarus takes.
_PACKED_LUT = re.compile(r"^module TRELLIS_COMB\b.*?^endmodule\n", re.M | re.S)
_GOWIN_ALU = re.compile(r"^module ALU\b.*?^endmodule\n", re.M | re.S)
# By Gowin's mode: the condition under which a bit passes the carry on, and else the new carry.
_ALU_MODES = (
    (0, "~same", "I0"),
    (1, "same", "I0"),
    (2, "I3 ? ~same : same", "I0"),
    (3, "same", "1'b1"),
    (4, "same", "I0"),
    (5, "same", "I1"),
    (6, "I0", "1'b0"),
    (7, "~I0", "1'b1"),
    (8, "I3 ? I0 : ~I0", "I0"),
    (9, "(I0 & I1) ^ I3", "I0 & I1"),
)
_INCLUDE = re.compile(r'^\s*`include "([\w.]+)"\n', re.M)


def lattice_models(netlist: str, models: Path) -> str:
    """Verilog of every primitive in a netlist, given Yosys' file of models.

    ToolError for block memories of ECP5 and Gowin, of which there is no model.
    """
    if found := _BLOCK_MEMORIES.search(netlist):
        raise ToolError(
            f"can't simulate the netlist: there is no model of its block memories ({found[1]}); "
            "leave --gate-sim out"
        )
    if "ice40" in models.parts:
        # Icarus has no defaults for inputs; all inputs that matter are connected.
        return "`define NO_ICE40_DEFAULT_ASSIGNMENTS\n" + models.read_text(encoding="utf-8")
    if "gowin" in models.parts:
        return _GOWIN_ALU.sub("", models.read_text(encoding="utf-8")) + carry_cell()
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


def carry_cell() -> str:
    """Gowin's ALU in all of its modes."""
    modes = [(mode, f"({passes})", makes) for mode, passes, makes in _ALU_MODES]
    return render(__package__, "alu_gowin.v", modes=modes)
