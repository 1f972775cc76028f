"""`python -m scm_hw demo`: the paper's case on a simulated servo, from data to checked Verilog."""

from __future__ import annotations

import argparse
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NAME = "servo_demo"
# The paper's part, and a board that many have.
BOARDS = ("nexys-a7", "arty-a7")


def add_demo(commands: Any) -> None:
    """Add `demo` to the commands of `python -m scm_hw`."""
    parser = commands.add_parser(
        "demo",
        help="train the paper's case on a simulated servo, compile and check it",
        description="Train 60 sign nodes on a simulated servo, compile them for the paper's part "
        f"and for an Arty A7, and check them: {', '.join(BOARDS)}.",
    )
    parser.add_argument(
        "--board", action="append", help=f"board to build for (default {' and '.join(BOARDS)})"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("rtl_out"), metavar="DIR", help="default %(default)s"
    )
    parser.add_argument("--no-synth", action="store_true", help="estimate LUTs, without Yosys")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="the results as JSON on stdout")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    if not args.json:
        folders = _demonstrate(args)
        print(f"\nopen {folders[-1] / 'report.html'} in a browser, or the Verilog in Vivado:")
        print(f"  cd {folders[-1]} && vivado -mode batch -source build.tcl")
        return
    args.quiet = True
    with redirect_stdout(io.StringIO()):
        folders = _demonstrate(args)
    reports = [json.loads((folder / "report.json").read_text("utf-8")) for folder in folders]
    builds = [
        {"folder": str(folder), **report} for folder, report in zip(folders, reports, strict=True)
    ]
    print(json.dumps({"model": str(_model_file(args)), "builds": builds}))


def _model_file(args: argparse.Namespace) -> Path:
    folder: Path = args.out
    return folder / f"{NAME}.npz"


def _demonstrate(args: argparse.Namespace) -> list[Path]:
    """Train and build, each command shown as it would be typed; the folders of the builds."""
    # The trainer takes a while to import, and only this command needs it.
    from scm_hw import boards
    from scm_hw.cli.commands import build_parser
    from scm_hw.errors import OptionError
    from scm_train.cli.fit import fit
    from scm_train.cli.parser import build_parser as train_parser
    from scm_train.errors import ScmTrainError

    names = args.board or BOARDS
    for name in names:
        boards.get(name)
    model = _model_file(args)
    quiet = ["--quiet"] if args.quiet else []
    training = ["fit", "--dataset", "servo_sim", "--max-nodes", "60", "--name", NAME]
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        fit(_shown("scm_train", train_parser(), [*training, "--out", str(model), *quiet]))
    except ScmTrainError as error:
        raise OptionError(str(error)) from None
    more = quiet + (["--no-synth"] if args.no_synth else [])
    folders = [args.out / f"servo_{board.partition('-')[0]}" for board in names]
    for board, folder in zip(names, folders, strict=True):
        words = ["build", str(model), "--board", board, "--out", str(folder), *more]
        build = _shown("scm_hw", build_parser(), words)
        build.beside_paper = True
        build.run(build)
    return folders


def _shown(program: str, parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The arguments of a command, which is printed as a user would type it."""
    print(f"\n$ python -m {program} {' '.join(words)}", flush=True)
    return parser.parse_args(words)
