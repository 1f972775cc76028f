"""The machine in C, compiled and run on all vectors."""

from __future__ import annotations

import re
from pathlib import Path

from scm_hw.common.names import Names
from scm_hw.errors import MismatchError
from scm_hw.tools.c_compilers import compile_c
from scm_hw.tools.process import run_tool, telling_line

_PASS = re.compile(r"^PASS: (\d+) vectors, 0 errors$", re.MULTILINE)


def run_c(folder: Path, names: Names, workdir: Path, *, timeout: float = 600.0) -> int:
    """How many vectors the test program in `folder` was right on, which is all of them.

    MismatchError where an output differs from the interpreter's.
    """
    program, log = workdir / "test_model", workdir / "test_model.txt"
    compile_c([folder / names.model_test, folder / names.model_source], program)
    code = run_tool(
        [program.resolve()], name="the C program", cwd=workdir, log=log, timeout=timeout
    )
    passed = _PASS.search(log.read_text(errors="replace"))
    if passed is None or code:
        raise MismatchError(
            f"{names.model_source} differs from the interpreter ({telling_line(log)})"
        )
    return int(passed[1])
