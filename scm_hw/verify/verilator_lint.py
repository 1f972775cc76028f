"""Verilator's lint on emitted Verilog."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scm_hw.common.templates import render
from scm_hw.errors import ToolError
from scm_hw.tools import simulators
from scm_hw.tools.process import run_tool

# What Amaranth's Verilog back end writes by nature; all other warnings count.
INHERENT = {
    "DECLFILENAME": "a board top holds several modules in one file",
    "PROCASSINIT": "registers have an initial value, which the bitstream sets, and a reset",
    "SYNCASYNCNET": "a reset that crosses clocks is set at once, and released by a synchroniser",
    "UNUSEDSIGNAL": "signals keep their names for the waveform, and carries may be dropped",
}
# Texts of warnings in classes whose others count: operands of multipliers stay as narrow as DSP
# blocks take them, and a pin of iCE40 is an input or an output.
INHERENT_TEXT = re.compile(
    r"Operator MULS? expects \d+ bits on the [LR]HS"
    "|missing pin: '(D_IN_0|D_OUT_0|OUTPUT_ENABLE)'"
)

# The primitives of a board top, with the pins and parameters that Amaranth's platform uses.
PRIMITIVES = render("scm_hw.verify", "top_primitives.v")


def lint(verilog: Sequence[Path], top: str, *, timeout: float = 300.0) -> None:
    """Raise ToolError where `verilator --lint-only -Wall` has a word to say about the files."""
    environment = simulators.require("verilator")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "primitives.v").write_text(PRIMITIVES)
        log = folder / "lint.log"
        # Warnings don't end the run: which of them count is decided on the whole log.
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
            f"{top} fails Verilator's lint: {(words or ['no message'])[0]!r}; this is a fault of "
            "the compiler, please report it with the model"
        )
