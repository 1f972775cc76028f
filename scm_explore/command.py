"""`python -m scm_hw explore`: its arguments. What they ask for is imported when it runs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from scm_train.cli.parser import add_table_flags

DEFAULT_SECONDS = 600.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def add_command(commands: Any) -> None:
    """Add `explore` to the commands of `python -m scm_hw`."""
    parser = commands.add_parser(
        "explore",
        help="search encodings, nodes, bits, schedules and folds for the best designs",
        description="Train and compile many designs for a data set, and keep those that are "
        "Pareto-optimal in held-out error, LUTs and latency.",
    )
    add_table_flags(parser)
    add = parser.add_argument
    _add_mechanism_flags(parser)
    add("--board", default="arty-a7", help="board to build for (%(default)s)")
    add(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="time limit: 30m, 2h or 90s (10m without --points)",
    )
    add(
        "--points",
        type=positive,
        metavar="N",
        help="number of designs to try; makes the result repeatable",
    )
    add(
        "--max-nodes",
        type=positive,
        default=120,
        help="maximum number of nodes in a layer (%(default)s)",
    )
    add(
        "--seed",
        type=seed,
        default=0,
        help="random seed of splits, training and search (%(default)s)",
    )
    add("--out", type=Path, metavar="DIR", help="output folder (explore_out/NAME)")
    add("--resume", action="store_true", help="resume the search in the output folder")
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="number of processes on this machine (one per core)",
    )
    add(
        "--scheduler",
        metavar="ADDRESS",
        help="run on a Dask cluster instead, such as tcp://host:8786",
    )
    add(
        "--no-synth",
        "--no-synthesis",
        action="store_true",
        help="choose the front by estimated LUTs, whose error may exceed a third",
    )
    add("-q", "--quiet", action="store_true", help="show no progress")
    add("--json", action="store_true", help="print the front as JSON")
    parser.set_defaults(run=_run)


def _add_mechanism_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--mechanism",
        help="module:function of the raw inputs, or `dataset` for that of a built-in data set",
    )
    add(
        "--mechanism-kind",
        choices=("polynomial", "table", "external"),
        help="how hardware computes it (default: try none, polynomial and, with "
        "--mechanism-inputs, table)",
    )
    add("--mechanism-inputs", action="append", help="features that it depends on")
    add("--mechanism-points", type=positive, default=33, help="points per input of a table (33)")
    add("--mechanism-degree", type=positive, default=2, help="degree of a polynomial (2)")


def _run(args: argparse.Namespace) -> None:
    # The trainer and its libraries take a while to import, and only this command needs them.
    from scm_explore.run import run

    run(args)


def seconds(text: str) -> float:
    """A time: a number with s, m or h, or of seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", text.strip(), re.ASCII)
    if match is None or not float(match[1]) > 0:
        raise argparse.ArgumentTypeError(f"must be a time such as 90s, 30m or 2h, not {text!r}")
    return float(match[1]) * _UNITS[match[2] or "s"]


def positive(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text, re.ASCII) or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text, re.ASCII) or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**32 - 1, not {text!r}")
    return int(text)
