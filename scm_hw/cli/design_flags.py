"""The options that describe a design, of every command that compiles one."""

from __future__ import annotations

import argparse
from pathlib import Path

from scm_hw import boards
from scm_hw.cli.units import add_units
from scm_hw.design import RELOADS
from scm_hw.errors import OptionError
from scm_hw.load import DEFAULT_TOLERANCE
from scm_hw.rtl.ports import HANDSHAKES
from scm_hw.schedule import MODES
from scm_model.adaptation import DEFAULT_STEP, AdaptSettings
from scm_model.tables.flags import add_format_flags


def add_design(parser: argparse.ArgumentParser) -> None:
    """The model, the board, and how the model is compiled for it."""
    parser.add_argument("model", type=Path, help="the model file, as scm_train writes it")
    parser.add_argument(
        "--board",
        help=f"one of {', '.join(boards.names())} (default arty-a7), or any board of "
        "amaranth-boards with a UART, by its module or class",
    )
    parser.add_argument("--part", help="another part, of any maker, without a board top")
    parser.add_argument(
        "--clock",
        type=float,
        metavar="MHZ",
        help="clock of the core (default: the board's); another is generated in the board top "
        "(7 series), or the build has no board top",
    )
    _add_shape(parser)
    _add_reload(parser)
    _add_adaptation(parser)
    _add_precision(parser)
    add_units(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_data(parser: argparse.ArgumentParser) -> None:
    """Rows with targets, and how their table is written."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help="table of rows to check on, with targets (default: the model's own test rows)",
    )
    add_format_flags(parser)


def _add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pipeline",
        choices=MODES,
        default="balanced",
        help="how many registers: balanced (default), min-latency or max-clock",
    )
    parser.add_argument("--latency", type=int, metavar="CYCLES", help="maximum latency in cycles")
    parser.add_argument(
        "--fold",
        default="auto",
        metavar="FOLD",
        help="auto (default): unrolled if that fits, else the fastest fold that fits; none: "
        "unrolled; PExSIMD, such as 8x32: nodes and inputs per cycle, for all layers, or a list "
        "with one for each layer",
    )
    parser.add_argument(
        "--tables",
        choices=("auto", "lut", "block"),
        default="auto",
        help="where tables of levels are stored: lut; block, for block RAM (fewer LUTs, one more "
        "cycle); auto (default), for LUTs if they fit",
    )
    parser.add_argument(
        "--multipliers",
        choices=("auto", "lut"),
        default="auto",
        help="auto (default): multiply constants in DSP blocks where that saves LUTs; lut: never",
    )
    parser.add_argument(
        "--handshake",
        choices=HANDSHAKES,
        default="global",
        help="global (default): the pipeline stands still while a result waits; skid: it runs on "
        "into a queue, and ready is a register; none: no ready, each result is valid for one cycle",
    )
    parser.add_argument(
        "--input-register", action="store_true", help="register the samples first: one cycle more"
    )
    parser.add_argument(
        "--flags",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the model's flags (unsure, novel, outside) are outputs of the core (default: "
        "where the model has them)",
    )


def _add_reload(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reload",
        choices=RELOADS,
        default="none",
        help="readout: its coefficients can be loaded while the core runs, without synthesis; all: "
        "whole models can, into a processor of some capacity (default none)",
    )
    parser.add_argument(
        "--banks",
        type=int,
        default=1,
        metavar="N",
        help="how many models a core of --reload holds, one of which a field of each sample "
        "chooses (default 1)",
    )
    add_load_key(parser)
    parser.add_argument(
        "--capacity",
        metavar="ROOM",
        help="what a processor of --reload all has room for, such as '16 inputs,400 nodes,3 layers,"
        "4 outputs', also steps and bits (default: for this model, with room to grow)",
    )


def _add_adaptation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--adapt",
        action="store_true",
        help="the core takes targets beside its samples, and its readout learns from them",
    )
    parser.add_argument(
        "--adapt-step",
        type=int,
        metavar="K",
        help=f"with --adapt: learn by 2**-K of the error (default {DEFAULT_STEP})",
    )
    parser.add_argument(
        "--adapt-leak",
        type=int,
        metavar="K",
        help="with --adapt: forget 2**-K of what was learned with each change (default: nothing)",
    )
    parser.add_argument(
        "--adapt-delay",
        type=int,
        metavar="N",
        help="with --adapt: how many samples late a target may come (default 0)",
    )


def adapt_settings(args: argparse.Namespace) -> AdaptSettings | None:
    """How the readout learns; None where it doesn't."""
    given = {
        "step": args.adapt_step,
        "leak": args.adapt_leak,
        "most_age": args.adapt_delay,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if args.adapt:
        return AdaptSettings(**given)
    if given:
        raise OptionError(
            "adapt step, leak and delay must be left out without --adapt; add --adapt"
        )
    return None


def add_load_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--load-key",
        metavar="FILE",
        help="file with the key of uploads, 32 hex digits, or env:NAME for an environment variable:"
        " a core of --reload that has one refuses uploads that were made without it",
    )


def _add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tolerance",
        type=float,
        default=DEFAULT_TOLERANCE,
        help="increase of the RMSE, relative, that fixed point may cause; for a classifier, the "
        "share of rows whose class may change (default %(default)g)",
    )
    parser.add_argument(
        "--frac-bits",
        type=int,
        metavar="N",
        help="fraction bits of coefficients (default: as few as --tolerance allows)",
    )
    parser.add_argument(
        "--output-bits",
        type=int,
        metavar="N",
        help="fraction bits of the outputs of an unrolled core, to which products are rounded "
        "(default: as few as the tolerance allows, at least those of the coefficients)",
    )
