"""The test bench that goes to Vivado, run in Icarus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from scm_hw.common.names import DEFAULT, Names
from scm_hw.errors import MismatchError
from scm_hw.tools import simulators
from scm_hw.tools.icarus import compile_verilog, run_program
from scm_hw.tools.process import telling_line

_PASS = re.compile(r"^PASS: (\d+) vectors, (\d+) cycles$", re.MULTILINE)


def run_testbench(
    folder: Path,
    verilog: Sequence[str] = (),
    *,
    names: Names = DEFAULT,
    workdir: Path,
    timeout: float = 1800.0,
    activity: Path | None = None,
) -> tuple[int, int]:
    """Run the test bench in `folder` on the Verilog beside it; its vectors and latency in cycles.

    Other `verilog` than the core's takes its place.

    Everything this writes goes to `workdir`, and a waveform of its first cycles to `activity`.
    MismatchError where the bench finds a fault.
    """
    simulators.require("icarus")
    workdir.mkdir(parents=True, exist_ok=True)
    program, log = workdir / f"{names.testbench}.vvp", workdir / "testbench.log"
    sources = [names.testbench_file, *(verilog or [f"{names.core}.v"])]
    top = names.testbench
    compile_verilog(sources, program, top=top, cwd=folder, log=log, timeout=timeout)
    if activity is not None:
        # Icarus is slow once it has recorded anything, so recording has a run of its own.
        recorded = f"+activity={activity.resolve()}"
        run_program(program, recorded, cwd=folder, log=workdir / "activity.log", timeout=timeout)
    code, text = run_program(program, cwd=folder, log=log, timeout=timeout)
    passed = _PASS.search(text)
    if passed is None or code:
        raise MismatchError(f"{names.testbench_file} fails ({telling_line(log)}); see {log}")
    return int(passed[1]), int(passed[2])
