"""Verilog in Icarus: compiled once, and run as often as is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scm_hw.errors import ToolError
from scm_hw.tools.process import run_tool, telling_line

# Verilog as old tools read it, with all warnings; that the core has no timescale is known.
STRICT = ("-g2001", "-Wall", "-Wno-timescale")


def compile_verilog(
    sources: Sequence[str | Path],
    program: Path,
    *,
    top: str,
    cwd: Path,
    log: Path,
    timeout: float,
    options: Sequence[str] = STRICT,
) -> None:
    """Write the compiled program; ToolError where the sources don't compile."""
    argv: list[str | Path] = ["iverilog", *options, "-s", top, "-o", program.resolve(), *sources]
    if run_tool(argv, name="iverilog", cwd=cwd, log=log, timeout=timeout):
        raise ToolError(f"can't compile {sources[0]}: {telling_line(log)}; see {log}")


def run_program(
    program: Path, *plusargs: str, cwd: Path, log: Path, timeout: float
) -> tuple[int, str]:
    """Exit code and output of a run."""
    argv: list[str | Path] = ["vvp", "-n", program.resolve(), *plusargs]
    code = run_tool(argv, name="vvp", cwd=cwd, log=log, timeout=timeout)
    return code, log.read_text(encoding="utf-8", errors="replace")
