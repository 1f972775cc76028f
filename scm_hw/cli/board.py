"""The commands that talk to a board, or stand in for one: `run`, `load` and `emulate`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scm_hw.boards import Board as Target
from scm_hw.build import (
    DEFAULT_OUT,
    RELOAD_FILE,
    build_name,
    choose_board,
    file_digest,
    load_design,
)
from scm_hw.cli.console import Progress, progress_bar, show_run
from scm_hw.cli.design_flags import add_load_key
from scm_hw.common.outputs import Kind, check_output
from scm_hw.design import DEFAULT_BAUD, Options
from scm_hw.errors import OptionError
from scm_hw.host import Board
from scm_hw.host.compare import as_record, compare, find_model, find_port
from scm_hw.host.emulator import LINK, Emulator, compile_emulator, fastest_baud
from scm_hw.host.link import announced, await_port
from scm_hw.host.loading import load, upload_of
from scm_hw.load import Model, read_model
from scm_hw.load.siphash import Seal, read_key
from scm_hw.load.upload import is_upload
from scm_hw.rtl.uart import MAX_BAUD, check_baud
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.check import choose_tools
from scm_hw.verify.tables import read_table
from scm_model.tables.flags import add_format_flags, table_options

AUTO = "auto"
UPLOAD = Kind("file", "an earlier upload", lambda path: is_upload(path.read_bytes()))
# Where a model file is looked for that isn't named.
MODEL_FOLDERS = (Path(), DEFAULT_OUT)

AddDesign = Callable[[argparse.ArgumentParser], None]
DesignOptions = Callable[[argparse.Namespace], Options]


def add_board_commands(commands: Any, add_design: AddDesign, options: DesignOptions) -> None:
    """Add all; how a design is told and compiled is the command line's to say."""
    _add_run(
        commands.add_parser(
            "run", help="run rows on a board, and compare it with the model on the PC"
        )
    )
    _add_load(commands.add_parser("load", help="give a board another model, or another readout"))
    emulating = commands.add_parser(
        "emulate", help="emulate the board in Verilator, behind a pseudo-terminal"
    )
    add_design(emulating)
    _add_emulate(emulating)
    emulating.set_defaults(run=lambda args: _emulate(args, options))


def add_baud(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--baud",
        type=int,
        default=DEFAULT_BAUD,
        help=f"baud rate of the serial port, up to {MAX_BAUD} (default %(default)s)",
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace existing files or folders that this command did not write; inputs are never "
        "replaced",
    )


def _add_bank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bank",
        type=int,
        default=0,
        metavar="K",
        help="number of the model, on a board that was built with --banks (default 0)",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        type=Path,
        nargs="?",
        help="table with targets (default: the model's own test rows)",
    )
    add_format_flags(parser)
    parser.add_argument(
        "--port",
        default=AUTO,
        help="serial port, or auto (default): the first USB port where a board with this model "
        "answers",
    )
    add_baud(parser)
    parser.add_argument(
        "--model",
        type=Path,
        help="model file (default: the one that the board was built from, if it is here or in "
        "rtl_out/)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    _add_bank(parser)
    parser.set_defaults(run=_run)


def _add_load(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        type=Path,
        help="model file: any that fits, or one with the hidden layers that were built",
    )
    parser.add_argument(
        "data",
        type=Path,
        nargs="?",
        help="table with targets (default: the model's own test rows)",
    )
    add_format_flags(parser)
    parser.add_argument(
        "--port",
        default=AUTO,
        help="serial port, or auto (default): the first USB port where a board answers",
    )
    add_baud(parser)
    parser.add_argument(
        "--build",
        type=Path,
        metavar="DIR",
        help="folder of the core's build, for --out: no board is needed",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the bytes of the upload, and send nothing"
    )
    add_force(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    _add_bank(parser)
    add_load_key(parser)
    parser.set_defaults(run=_load)


def _add_emulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name", help="name of the design (default: that of the model, or of its file)"
    )
    parser.add_argument(
        "--baud",
        type=int,
        help="baud rate of the emulated board (default: the fastest that it can receive)",
    )
    parser.add_argument(
        "--link", type=Path, metavar="PATH", help="symbolic link to the pseudo-terminal to make"
    )
    add_force(parser)
    parser.add_argument(
        "--noise",
        type=float,
        default=0.0,
        metavar="FRACTION",
        help="fraction of bytes to corrupt on the serial line",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise")


def _run(args: argparse.Namespace) -> None:
    baud = check_baud(args.baud)
    wanted = file_digest(args.model) if args.model else None
    port = find_port(baud, wanted) if args.port == AUTO else args.port
    # An emulator that was just started is still compiling the board behind the port.
    await_port(port, lambda text: print(text, file=sys.stderr))
    with Board(port, baud=baud) as board:
        loaded = board.holds_loaded
        if loaded and args.model is None:
            raise OptionError(
                "model must be named with --model, as the board holds one that was loaded; or "
                "program the board again"
            )
        path = args.model or find_model(board.hello.model_digest.hex(), MODEL_FOLDERS)
        model = read_model(path)
        if not loaded:
            board.require_model(file_digest(path))
        own = args.data and read_table(model, args.data, table_options(args))
        rows = own or model.evaluation
        if rows is None:
            raise OptionError(f"{path} must have test rows, not none; name a CSV file with some")
        with progress_bar(args.quiet or args.json, len(rows)) as progress:
            found = compare(board, model, rows, progress, args.bank)
    if args.json:
        print(json.dumps(as_record(found)))
    else:
        show_run(found)
    found.check()


def _load(args: argparse.Namespace) -> None:
    if (args.build is None) != (args.out is None):
        raise OptionError(
            "build and out must be given together, to write an upload without a board"
        )
    model = read_model(args.model)
    if args.out is not None:
        _write_upload(args, model)
        return
    rows = read_table(model, args.data, table_options(args)) if args.data else None
    baud = check_baud(args.baud)
    port = find_port(baud) if args.port == AUTO else args.port
    await_port(port, lambda text: print(text, file=sys.stderr))
    with Board(port, baud=baud) as board:
        seal = _seal(args)
        total = len(upload_of(board.description, model, args.bank, seal).data)
        with progress_bar(args.quiet or args.json, total) as progress:
            found = load(
                board, model, rows, progress, args.bank, None if seal is None else seal.key
            )
    if args.json:
        print(json.dumps({"upload_bytes": found.upload_bytes} | as_record(found.comparison)))
    else:
        print(f"loaded {found.upload_bytes:,} bytes, and the board answers with them")
        show_run(found.comparison)


def _seal(args: argparse.Namespace) -> Seal | None:
    return None if args.load_key is None else Seal(read_key(args.load_key))


def _write_upload(args: argparse.Namespace, model: Model) -> None:
    """The bytes for a write port, or for whatever software writes the registers."""
    path = args.build / RELOAD_FILE
    try:
        meaning = Description.decode(path.read_bytes())
    except OSError as error:
        raise OptionError(
            f"build must be the folder of a build with --reload readout or all, not {args.build} "
            f"({error.strerror})"
        ) from None
    data = upload_of(meaning, model, args.bank, _seal(args)).data
    check_output(args.out, UPLOAD, inputs=(args.model, path), force=args.force)
    try:
        args.out.write_bytes(data)
    except OSError as error:
        raise OptionError(
            f"can't write {args.out}: {error.strerror}; choose another --out"
        ) from None
    print(
        json.dumps({"upload_bytes": len(data)}) if args.json else f"{args.out}: {len(data):,} bytes"
    )


def _emulate(args: argparse.Namespace, options: DesignOptions) -> None:
    board = choose_board(args.board, args.part, args.clock)
    if args.link is not None:
        check_output(args.link, LINK, force=args.force)
    # A missing tool is told before the design is compiled, which takes a while.
    choose_tools(["verilator"])
    if args.baud is None:
        args.baud = fastest_baud(board)
    try:
        _run_emulator(args, board, options(args))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the emulator has ended") from None


def _run_emulator(args: argparse.Namespace, board: Target, options: Options) -> None:
    progress = Progress(args.quiet or args.json)
    with tempfile.TemporaryDirectory(prefix="scm_hw.") as scratch, ExitStack() as running:
        with announced(args.link):
            with progress.running():
                progress.log("compiling the board")
                design = load_design(args.model, board, options, args.name)
                name = build_name(args.model, design.model, args.name)
                program = compile_emulator(design, Path(scratch), name)
            emulator = Emulator(program, link=args.link, noise=args.noise, seed=args.seed)
            running.enter_context(emulator.running())
        print(args.link or emulator.port, flush=True)
        emulator.wait()
