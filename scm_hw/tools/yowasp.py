"""Tools of the YoWASP project, which are compiled on their first run.

What is compiled goes to a file that others may map before it is whole, and then they die of a bus
error. So the first run of each is a single one, and who comes second waits for it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
import tempfile
from pathlib import Path

from scm_hw.common.cache import cache_root, file_lock
from scm_hw.errors import ToolError
from scm_hw.tools.process import run_tool
from scm_hw.tools.toolchain import PACKAGES

COMPILE_SECONDS = 900.0


def command(tool: str) -> list[str]:
    """The words that run a tool, without its arguments, once it is compiled."""
    if PACKAGES[tool][1].startswith("yowasp_"):
        _compiled(tool)
    return _command(tool)


def _command(tool: str) -> list[str]:
    _, module, function = PACKAGES[tool]
    given = "sys.argv[1:]" if module.startswith("yowasp_") else ""
    program = f"import sys, {module}; sys.exit({module}.{function}({given}))"
    return [sys.executable, "-c", program]


def _compiled(tool: str) -> None:
    """Wait for a first run, or make it; ToolError where there is no place for what is compiled."""
    distribution, module, _ = PACKAGES[tool]
    # Beside what YoWASP keeps: who removes that removes this.
    folder = _cache() / module
    mark = folder / f"{tool}-{importlib.metadata.version(distribution)}.complete"
    if mark.exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            f"can't compile {tool}: can't write to {folder} ({error.strerror}); set "
            "YOWASP_CACHE_DIR to a folder that can be written to"
        ) from error
    # A folder that exists may have been filled by another user.
    with contextlib.suppress(OSError), file_lock(folder / f"{tool}.lock"):
        if not mark.exists():
            _first_run(tool)
            mark.touch()


def _first_run(tool: str) -> None:
    with tempfile.TemporaryDirectory(prefix="scm_hw.") as name:
        folder = Path(name)
        argv = [*_command(tool), "--version"]
        # Not all of them know their version; compiled they are either way.
        run_tool(argv, name=tool, cwd=folder, log=folder / "log", timeout=COMPILE_SECONDS)


def _cache() -> Path:
    told = os.environ.get("YOWASP_CACHE_DIR")
    return Path(told) if told else cache_root() / "YoWASP"
