"""C compilers: the machine's own, which runs what it makes, and that of Cortex-M for its size."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scm_hw.errors import ToolError
from scm_hw.tools.process import run_tool, telling_line

HOST = "cc"
ARM, ARM_SIZE = "arm-none-eabi-gcc", "arm-none-eabi-size"
CORES = ("cortex-m0plus", "cortex-m4")
# Everything that a careful user's own build may complain of.
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")


@dataclass(frozen=True)
class CodeSize:
    """Bytes of one object file: code with constants, and memory that is written to."""

    core: str
    text: int
    ram: int


def compile_c(sources: Sequence[Path], program: Path, *, timeout: float = 300.0) -> None:
    """A program for this machine; ToolError where a source gives as much as a warning."""
    if shutil.which(HOST) is None:
        raise ToolError("can't compile C: cc is not on the path; install the system package gcc")
    log = program.with_suffix(".log")
    argv: list[str | Path] = [HOST, *STRICT, "-O1", "-o", program.resolve()]
    argv += [path.resolve() for path in sources]
    if run_tool(argv, name=HOST, cwd=program.parent, log=log, timeout=timeout):
        raise ToolError(f"can't compile {sources[0].name}: {telling_line(log)}; see {log}")


def cortex_sizes(source: Path, workdir: Path, *, timeout: float = 300.0) -> list[CodeSize]:
    """What the source takes on each of `CORES`, optimised for size; none without the compiler."""
    if shutil.which(ARM) is None or shutil.which(ARM_SIZE) is None:
        return []
    return [_size(source, core, workdir, timeout) for core in CORES]


def _size(source: Path, core: str, workdir: Path, timeout: float) -> CodeSize:
    made, log = workdir / f"{core}.o", workdir / f"{core}.log"
    argv: list[str | Path] = [ARM, *STRICT, "-ffreestanding", "-Os", "-mthumb", f"-mcpu={core}"]
    argv += ["-c", "-o", made.resolve(), source.resolve()]
    if run_tool(argv, name=ARM, cwd=workdir, log=log, timeout=timeout):
        raise ToolError(f"can't compile {source.name} for {core}: {telling_line(log)}")
    run_tool([ARM_SIZE, made.resolve()], name=ARM_SIZE, cwd=workdir, log=log, timeout=timeout)
    found = re.search(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s", log.read_text(), re.MULTILINE)
    if found is None:
        raise ToolError(f"{ARM_SIZE} must print sizes, not {telling_line(log)!r}")
    text, data, bss = map(int, found.groups())
    return CodeSize(core, text + data, data + bss)
