"""Small searches: a plant of three inputs, nodes by the handful, and a journal in a folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from scm_explore.command import add_command
from scm_explore.journal import FILE
from scm_hw.cli.commands import _Parser

QUICK = ("--max-nodes", "5", "--no-synth", "-q")


def plant_csv(path: Path, rows: int = 120, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 3, (rows, 3))
    y = x[:, 0] ** 2 + x[:, 1] * x[:, 2] + 0.01 * rng.normal(size=rows)
    np.savetxt(
        path, np.column_stack([x, y]), delimiter=",", header="speed,load,heat,force", comments=""
    )
    return path


def labels_csv(path: Path, rows: int = 120) -> Path:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, (rows, 2))
    lines = [f"{a},{b},{('low', 'mid', 'high')[int(a)]}" for a, b in x]
    path.write_text("a,b,grade\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def arguments(*words: str | Path) -> argparse.Namespace:
    """The arguments of `explore` as the command line reads them."""
    parser = _Parser(prog="scm_hw")
    add_command(parser.add_subparsers())
    return parser.parse_args(["explore", *map(str, words)])


def journal_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def points_of(folder: Path) -> dict[int, dict[str, Any]]:
    """The finished points by number, each there once, without the time that they took."""
    found = {}
    for line in journal_lines(folder):
        if "point" in line:
            assert line["point"] not in found
            line["found"].pop("seconds")
            found[line["point"]] = line
    return found


def front_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "front" / "front.json").read_text())
