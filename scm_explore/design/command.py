"""`python -m scm_hw design`: its arguments. What they ask for is imported when it runs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from scm_explore.command import positive, seconds, seed
from scm_hw import boards
from scm_hw.design import TOPS
from scm_hw.emit import INTERFACES
from scm_hw.verify.check import SIMULATORS
from scm_train.cli.learner_flags import add_promise_flags, add_sequence_flags
from scm_train.cli.parser import add_table_flags

NOTHING = "nothing was written, earlier outputs are untouched"
DEFAULT_MODEL = Path("model.npz")
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6}


def add_command(commands: Any) -> None:
    """Add `design` to the commands of `python -m scm_hw`."""
    parser = commands.add_parser(
        "design",
        help="from a table to a checked design within a budget of LUTs and latency",
        description="Train for a budget, build, check and report. Without any budget, a handful "
        "of designs from small to accurate is tried, and the one at the knee is built.",
    )
    add_table_flags(parser)
    add_sequence_flags(parser.add_argument_group("records in the order of time").add_argument)
    add_promise_flags(parser.add_argument_group("learner, as for `fit`").add_argument)
    _add_goals(parser)
    _add_hardware(parser)
    _add_outputs(parser)
    parser.set_defaults(run=_run)


def _add_goals(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what to reach").add_argument
    add("--luts", type=positive, metavar="N", help="maximum number of LUTs, by synthesis")
    add(
        "--latency",
        type=nanoseconds,
        metavar="TIME",
        help="maximum time from a sample to its result, such as 30ns or 0.2us",
    )
    add(
        "--rmse",
        type=errors,
        metavar="E[,E...]",
        help="the smallest design with this RMSE, in the target's units; of several targets one "
        "for all, or one for each",
    )
    add(
        "--accuracy",
        type=share,
        metavar="A",
        help="the smallest design with this fraction of correct classes, such as 0.95 or 95%%",
    )


def _add_hardware(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("hardware, as for `build`").add_argument
    add("--board", help=f"one of {', '.join(boards.names())} (default arty-a7)")
    add("--part", help="another part, without a board top")
    add("--clock", type=float, metavar="MHZ", help="default: the board's")
    add("--interface", choices=INTERFACES, help="default stream; axis on a board with a Zynq")
    add("--top", choices=TOPS, default="uart", help="default %(default)s")
    add("--sim", metavar="LIST", help=f"simulators, of {','.join(SIMULATORS)} (default: all)")
    add("--no-sim", action="store_true", help="skip the simulations")
    add("--no-bitstream", action="store_true", help="skip place and route with open tools")


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--model",
        type=Path,
        default=DEFAULT_MODEL,
        metavar="FILE",
        help="model file to write (%(default)s)",
    )
    add("--out", type=Path, metavar="DIR", help="folder of the build (rtl_out/NAME)")
    add("--name", help="name of model and build (that of the table)")
    add("--force", action="store_true", help="replace outputs that are something else")
    add(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="time limit of the whole command, such as 90s or 5m: no further designs are tried "
        "when most of it is over, and the best of those so far is built",
    )
    add("--seed", type=seed, default=0, help="random seed of splits and training (%(default)s)")
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="number of processes on this machine (one per core)",
    )
    add("-q", "--quiet", action="store_true", help="show no progress")
    add("--json", action="store_true", help="print the result as JSON")


def _run(args: argparse.Namespace) -> None:
    try:
        # The trainer and its libraries take a while to import, and only this command needs them.
        from scm_explore.design.run import run

        run(args)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(NOTHING) from None


def nanoseconds(text: str) -> float:
    """A time: a number with ns, us or ms, or of nanoseconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|ms)?", text.strip(), re.ASCII)
    if match is None or not float(match[1]) > 0:
        raise argparse.ArgumentTypeError(f"must be a time such as 30ns or 0.2us, not {text!r}")
    return float(match[1]) * _NANOSECONDS[match[2] or "ns"]


def errors(text: str) -> tuple[float, ...]:
    """Positive numbers separated by commas."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < one < float("inf") for one in found):
        raise argparse.ArgumentTypeError(f"must be positive numbers, not {text!r}")
    return found


def share(text: str) -> float:
    """A share in (0, 1], or in percent."""
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(
            f"must be a share of right classes such as 0.95 or 95%, not {text!r}"
        )
    return found
