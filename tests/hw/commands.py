"""The command line as a user runs it, and small models to run it on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from tests.support import model_arrays, write_model

# What a board's build and a bare part's build have in common, besides files with its own name.
COMMON_FILES = {
    "vectors_in.hex",
    "vectors_out.hex",
    "cocotb/Makefile",
    "sim_questa.sh",
    "sim_riviera.sh",
    "sim_xsim.sh",
    "build.tcl",
    "project.tcl",
    "report.json",
    "report.html",
    "digest.txt",
}


def own_files(name: str) -> set[str]:
    """The files of every build that carry its name."""
    suffixes = ("_core.v", "_formats.h", "_formats.py", "_model.py", "_litex.py", ".core", ".vhd")
    benches = {f"tb_{name}_core.v", f"cocotb/test_{name}_core.py"}
    return {*benches, *(f"{name}{suffix}" for suffix in suffixes)}


SMALL: dict[str, Any] = {"features": 2, "layers": (3,), "bits": 3, "input_bits": 4, "rows": 10}


def small_arrays(seed: int = 1, **options: Any) -> dict[str, np.ndarray]:
    """A model of three nodes on two features of four bits, unless told otherwise."""
    return model_arrays(seed, **(SMALL | options))


def small_model(path: Path, seed: int = 1, **options: Any) -> Path:
    return write_model(path, small_arrays(seed, **options))


def quick_build(model: Path, out: Path, board: str = "arty-a7", **options: Any) -> Build:
    """A build that nothing is proven of."""
    how = BuildOptions(out=out, simulators=(), synthesis=False, **options)
    return build(model, boards.get(board), None, how)


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "scm_hw", *map(str, arguments)]


def run(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`python -m scm_hw` in a process of its own."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, by its path; a folder without files as b''."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
        elif not any(path.iterdir()):
            found[str(path.relative_to(folder))] = b""
    return found


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    lines = [",".join(map(str, row)) for row in [header, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
