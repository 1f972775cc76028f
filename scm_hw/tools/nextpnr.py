"""From a board top to a bitstream, one program after the other, kept by digest."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scm_hw.common.cache import user_cache, write_atomically
from scm_hw.errors import FitError, ToolError
from scm_hw.tools import yowasp
from scm_hw.tools.nextpnr_log import routed_mhz, utilisation
from scm_hw.tools.process import run_tool, telling_line
from scm_hw.tools.toolchain import PACKAGES, Step, Toolchain

# Another placement is tried where a clock is missed, so many in all.
SEEDS = 3


@dataclass(frozen=True)
class Implementation:
    """A routed design: the clock it reaches, the cells it takes, and its bitstream."""

    tools: dict[str, str]
    fmax_mhz: float
    utilisation: dict[str, tuple[int, int]]
    bitstream: bytes

    def meets(self, clock_mhz: float) -> bool:
        return self.fmax_mhz >= clock_mhz


def require_tools(toolchain: Toolchain) -> None:
    """Raise ToolError where one of the programs is missing, before anything else is done."""
    for step in toolchain.steps:
        if step.tool not in PACKAGES:
            if shutil.which(step.tool) is None:
                raise ToolError(
                    f"can't use the toolchain {toolchain.name}: {step.tool!r} is not on the path; "
                    "install it, or leave --toolchain out"
                )
        elif importlib.util.find_spec(PACKAGES[step.tool][1].partition(".")[0]) is None:
            raise ToolError(
                f"can't make a bitstream: {PACKAGES[step.tool][0]} is not installed; run "
                "pip install 'scm-hw[open]', or skip the bitstream with --no-bitstream"
            )


def implement(
    toolchain: Toolchain,
    sources: Mapping[str, str],
    clock_mhz: float,
    *,
    cache_dir: Path | None = None,
    timeout: float = 3600.0,
) -> Implementation:
    """The bitstream of the sources (file name to text), at least as fast as the clock.

    Up to `SEEDS` placements are tried. FitError where the device is too small, or the clock is
    missed by all of them: then with the fastest that was had.
    """
    best: Implementation | None = None
    for seed in range(1, SEEDS + 1):
        found = _recalled(_seeded(toolchain, seed), sources, cache_dir, timeout)
        if found.meets(clock_mhz):
            return found
        best = found if best is None or found.fmax_mhz > best.fmax_mhz else best
    assert best is not None
    raise FitError(
        f"clock must be at most {int(best.fmax_mhz * 10) / 10:.1f} MHz for the routed design (the "
        f"best of {SEEDS} placements), not {clock_mhz:g}; take --pipeline max-clock, a smaller "
        "model, or a board with a slower clock"
    )


def _seeded(toolchain: Toolchain, seed: int) -> Toolchain:
    def with_seed(step: Step) -> Step:
        words = list(step.arguments)
        if step.tool == toolchain.router:
            words[words.index("--seed") + 1] = str(seed)
        return replace(step, arguments=tuple(words))

    return replace(toolchain, steps=tuple(map(with_seed, toolchain.steps)))


def _recalled(
    toolchain: Toolchain, sources: Mapping[str, str], cache_dir: Path | None, timeout: float
) -> Implementation:
    versions = {name: importlib.metadata.version(name) for name in toolchain.packages}
    if any(step.tool not in PACKAGES for step in toolchain.steps):
        # Nobody knows which versions of the others gave what is kept.
        return _run(toolchain, sources, versions, timeout)
    facts = [versions, asdict(toolchain), sorted(sources.items())]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    stem = (cache_dir or user_cache("bitstreams")) / digest
    found = _recall(stem)
    if found is None:
        found = _run(toolchain, sources, versions, timeout)
        _store(stem, found)
    return found


def _recall(stem: Path) -> Implementation | None:
    """What the cache has; None where it is missing or damaged."""
    try:
        record = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        bitstream = stem.with_suffix(".bit").read_bytes()
        if hashlib.sha256(bitstream).hexdigest() != record["sha256"]:
            return None
        cells = {str(k): (int(used), int(have)) for k, (used, have) in record["cells"].items()}
        tools = {str(k): str(v) for k, v in record["tools"].items()}
        return Implementation(tools, float(record["fmax_mhz"]), cells, bitstream)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _store(stem: Path, found: Implementation) -> None:
    """Keep the result; a cache that can't be written is only slow."""
    record: dict[str, Any] = {
        "tools": found.tools,
        "fmax_mhz": found.fmax_mhz,
        "cells": found.utilisation,
        "sha256": hashlib.sha256(found.bitstream).hexdigest(),
    }
    with contextlib.suppress(OSError):
        stem.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(stem.with_suffix(".bit"), found.bitstream)
        write_atomically(stem.with_suffix(".json"), json.dumps(record).encode())


def _run(
    toolchain: Toolchain, sources: Mapping[str, str], versions: dict[str, str], timeout: float
) -> Implementation:
    with tempfile.TemporaryDirectory(prefix="scm_hw.") as name:
        folder = Path(name)
        for source in toolchain.sources:
            (folder / source).write_text(sources[source], encoding="utf-8")
        logs = {step.tool: _run_step(toolchain, step, folder, timeout) for step in toolchain.steps}
        log = logs[toolchain.router]
        fmax = routed_mhz(log)
        path = folder / toolchain.bitstream
        if fmax is None or not path.exists() or not path.stat().st_size:
            missing = "a clock" if fmax is None else toolchain.bitstream
            raise ToolError(
                f"toolchain {toolchain.name} must give {missing}, and gave none; take other "
                "versions of its tools"
            )
        return Implementation(versions, fmax, utilisation(log), path.read_bytes())


def _run_step(toolchain: Toolchain, step: Step, folder: Path, timeout: float) -> str:
    """One program, and what it said."""
    log = folder / (step.output or f"{step.tool}.log")
    code = run_tool(_argv(toolchain, step), name=step.tool, cwd=folder, log=log, timeout=timeout)
    text = log.read_text(encoding="utf-8", errors="replace")
    if code:
        _check_room(toolchain, text)
        raise ToolError(f"can't run {step.tool}: it ended with code {code} ({telling_line(log)})")
    return text


def _check_room(toolchain: Toolchain, log: str) -> None:
    over = [
        f"{used:,} {cell} of {have:,}"
        for cell, (used, have) in utilisation(log).items()
        if used > have
    ]
    if over:
        raise FitError(
            f"board top must fit the device, not need {', '.join(over)} as placed by "
            f"{toolchain.router}; take a larger device, --fold, or a model with fewer nodes or bits"
        )


def _argv(toolchain: Toolchain, step: Step) -> list[str]:
    folders = {f"${name}": os.environ.get(name) or default for name, default in toolchain.folders}
    words = list(step.arguments)
    for variable, folder in folders.items():
        words = [word.replace(variable, folder, 1) for word in words]
    if step.tool not in PACKAGES:
        return [step.tool, *words]
    return [*yowasp.command(step.tool), *words]
