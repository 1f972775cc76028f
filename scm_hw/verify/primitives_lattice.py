"""Models of ECP5's and iCE40's primitives: Yosys' own, and a multiplier of ECP5."""

from __future__ import annotations

import re
from pathlib import Path

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
            f"netlist must have no block memories of ECP5 ({found[1]}) to be simulated, as there "
            "is no model of them; leave --gate-sim out"
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
    product = [f"P{bit}" for bit in range(36)]
    left, right, result = (
        "{" + ", ".join(f"{side}{bit}" for bit in reversed(range(bits))) + "}"
        for side, bits in (("A", 18), ("B", 18), ("P", 36))
    )
    return f"""
module MULT18X18D (
  input {", ".join(sides)},
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  output {", ".join(product)}
);
  wire [17:0] a = {left}, b = {right};
  wire signed [35:0] wide_a = {{{{18{{SIGNEDA & a[17]}}}}, a}};
  wire signed [35:0] wide_b = {{{{18{{SIGNEDB & b[17]}}}}, b}};
  assign {result} = wide_a * wide_b;
endmodule
"""
