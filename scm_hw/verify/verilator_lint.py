"""Verilator's lint on emitted Verilog."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scm_hw.errors import ToolError
from scm_hw.tools import simulators
from scm_hw.tools.process import run_tool

# What Amaranth's Verilog back end writes by nature; all other warnings count.
INHERENT = {
    "DECLFILENAME": "a board top holds several modules in one file",
    "WIDTHEXPAND": "Yosys leaves the extension of operands to the language",
    "PROCASSINIT": "registers have an initial value, which the bitstream sets, and a reset",
    "CASEINCOMPLETE": "what holds where no case applies is assigned before the cases",
    "UNUSEDSIGNAL": "signals keep their names for the waveform, and carries may be dropped",
}
# Of classes whose other warnings count: a comparison with zero is written as a logical not, a table
# is the low bits of a constant shifted to the right, and a pin of iCE40 is an input or an output.
INHERENT_TEXT = re.compile(
    "Logical operator LOGNOT expects 1 bit"
    "|expects [0-9]+ bits on the Assign RHS, but Assign RHS's SHIFTR generates"
    "|missing pin: '(D_IN_0|D_OUT_0|OUTPUT_ENABLE)'"
)

# The primitives of a board top, with the pins and parameters that Amaranth's platform uses.
PRIMITIVES = """\
/* verilator lint_off UNUSEDPARAM */
module IBUF(input I, output O); assign O = I; endmodule
module OBUFT(input I, T, output O); assign O = T ? 1'bz : I; endmodule
module STARTUPE2(output EOS); assign EOS = 1'b1; endmodule
module BUFGCTRL #(parameter SIM_DEVICE = "7SERIES")
  (input I0, I1, S0, S1, CE0, CE1, IGNORE0, IGNORE1, output O);
  assign O = S0 && CE0 ? I0 : I1;
endmodule
module FDPE #(parameter INIT = 1'b1) (input C, CE, D, PRE, output reg Q);
  initial Q = INIT;
  always @(posedge C or posedge PRE) if (PRE) Q <= 1'b1; else if (CE) Q <= D;
endmodule
module BUFG(input I, output O); assign O = I; endmodule
// A clock is a clock here, whatever its frequency.
module MMCME2_BASE #(
    parameter real CLKIN1_PERIOD = 0.0, CLKFBOUT_MULT_F = 5.0, CLKOUT0_DIVIDE_F = 1.0,
    parameter integer DIVCLK_DIVIDE = 1)
  (input CLKIN1, CLKFBIN, RST, PWRDWN, output CLKFBOUT, CLKOUT0, LOCKED);
  assign CLKFBOUT = CLKIN1;
  assign CLKOUT0 = CLKIN1;
  assign LOCKED = !(RST || PWRDWN || (CLKFBIN && !CLKFBIN));
endmodule
module IB(input I, output O); assign O = I; endmodule
module OBZ(input I, T, output O); assign O = T ? 1'bz : I; endmodule
module SGSR(input CLK, GSR); wire unused = CLK ^ GSR; endmodule
module FD1S3AX #(parameter GSR = "ENABLED") (input CK, D, output reg Q);
  initial Q = 1'b0;
  always @(posedge CK) Q <= D;
endmodule
module SB_GB_IO #(parameter IO_STANDARD = "", parameter [5:0] PIN_TYPE = 6'd0)
  (inout PACKAGE_PIN, output GLOBAL_BUFFER_OUTPUT);
  assign GLOBAL_BUFFER_OUTPUT = PACKAGE_PIN;
endmodule
module SB_IO #(parameter IO_STANDARD = "", parameter [5:0] PIN_TYPE = 6'd0, parameter PULLUP = 1'b0)
  (inout PACKAGE_PIN, input D_OUT_0, OUTPUT_ENABLE, output D_IN_0);
  // Outputs that may be turned off, or inputs.
  assign PACKAGE_PIN = PIN_TYPE[5:4] == 2'b10 && OUTPUT_ENABLE ? D_OUT_0 : 1'bz;
  assign D_IN_0 = PACKAGE_PIN;
endmodule
"""


def lint(verilog: Sequence[Path], top: str, *, timeout: float = 300.0) -> None:
    """Raise ToolError where `verilator --lint-only -Wall` has a word to say about the files."""
    environment = simulators.require("verilator")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "primitives.v").write_text(PRIMITIVES)
        log = folder / "lint.log"
        argv = ["verilator", "--lint-only", "--timing", "-Wall", "-Wno-fatal", "--top-module", top]
        argv += [f"-Wno-{warning}" for warning in INHERENT]
        argv += ["--timescale", "1ns/1ps", "-v", "primitives.v"]
        argv += [str(path.resolve()) for path in verilog]
        code = run_tool(
            argv, name="verilator", cwd=folder, log=log, timeout=timeout, env=environment
        )
        lines = log.read_text(errors="replace").splitlines()
    words = [line for line in lines if line[:1] == "%" and not INHERENT_TEXT.search(line)]
    if code or words:
        raise ToolError(
            f"{top} must pass Verilator's lint, not {(words or ['fail'])[0]!r}; this is a fault of "
            "the compiler, please report it with the model"
        )
