"""The arguments of `python -m scm_hw`, and what each command does with them."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any, NoReturn

from scm_hw import boards
from scm_hw.boards.toolchains import TOOLCHAINS
from scm_hw.build import BuildOptions, build, choose_board, load_design
from scm_hw.cli.board import add_baud, add_board_commands, add_force
from scm_hw.cli.console import (
    Progress,
    show_boards,
    show_build,
    show_c_build,
    show_comparison,
    show_steps,
)
from scm_hw.cli.design_flags import adapt_settings, add_data, add_design
from scm_hw.cli.explain import explain, program_after
from scm_hw.cli.text import printable
from scm_hw.cli.units import input_formats
from scm_hw.common.folders import write_file, write_files
from scm_hw.common.outputs import check_output, folder_of
from scm_hw.design import DEFAULT_BAUD, TOPS, Design, Options
from scm_hw.emit import INTERFACES, default_bus
from scm_hw.errors import OptionError
from scm_hw.ir import as_json
from scm_hw.load.siphash import read_key
from scm_hw.passes import NAMES
from scm_hw.report.compare import PAGE, comparison_page, read_reports, report_path, titles
from scm_hw.rtl.axi import TDATA_BITS
from scm_hw.software import TARGETS, build_c
from scm_hw.verify.check import SIMULATORS, choose_tools, parse_simulators, simulate
from scm_hw.verify.rows import check_rows
from scm_hw.verify.tables import read_table
from scm_model.suggestions import usage_remedy
from scm_model.tables.flags import table_options

# Entry points of this group are called with the subparsers, to add a command each.
COMMANDS = "scm_hw.commands"
# By this file the work folder of `sim` is told from other folders.
WORK_MARKER = ".scm_hw_sim"
WORK = folder_of("an earlier work folder", WORK_MARKER, option="--workdir", replaced=False)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise OptionError(message + usage_remedy(message, f"{self.prog} --help", self))


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m scm_hw",
        description="Compile a stochastic configuration machine (model.npz) to an FPGA design.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_build(commands.add_parser("build", help="compile a model file to a checked design"))
    _add_sim(commands.add_parser("sim", help="simulate a model's core in one simulator"))
    _add_show(commands.add_parser("show", help="print the integer program of a model"))
    _add_report(commands.add_parser("report", help="compare builds side by side"))
    add_board_commands(commands, add_design, _options)
    listing = commands.add_parser("boards", help="list the boards with their resources")
    listing.add_argument("--json", action="store_true", help="print them as JSON")
    listing.set_defaults(run=_boards)
    # Other packages add commands of their own: `explore` needs the trainer, which is not for us.
    for found in sorted(entry_points(group=COMMANDS), key=lambda point: point.name):
        found.load()(commands)
    for one in (parser, *commands.choices.values()):
        one.add_argument("--version", action="version", version=f"scm-hw {version('scm-hw')}")
    return parser


def _add_build(parser: argparse.ArgumentParser) -> None:
    add_design(parser)
    add_data(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="output folder (default rtl_out/NAME)"
    )
    add_force(parser)
    parser.add_argument(
        "--target",
        choices=TARGETS,
        default="fpga",
        help="fpga (default), or c: the same machine as C99, for a processor",
    )
    parser.add_argument(
        "--interface",
        choices=INTERFACES,
        help="stream (default): the bare core; axis, axil, wishbone: AXI4-Stream, AXI4-Lite or "
        "Wishbone around it; on a board with a Zynq the default is axis with --tdata 32",
    )
    parser.add_argument(
        "--tdata",
        type=int,
        choices=TDATA_BITS,
        metavar="N",
        help="bits of an AXI4-Stream of rows as in C: fields of 8, 16, 32 or 64 bits, several "
        "beats per row where needed (default: one packed word)",
    )
    parser.add_argument(
        "--crossing",
        action="store_true",
        help="AXI4-Stream on a clock of its own, with asynchronous FIFOs to the core's",
    )
    parser.add_argument(
        "--top",
        choices=TOPS,
        default="uart",
        help="uart (default): the board answers over USB; self-test: it tests itself",
    )
    add_baud(parser)
    parser.add_argument(
        "--name", help="name of the design (default: that of the model, or of its file)"
    )
    parser.add_argument(
        "--tb",
        type=Path,
        metavar="FILE",
        help="table of raw rows, without targets, for the self-checking test bench (default: rows "
        "chosen by the checks)",
    )
    parser.add_argument(
        "--sim",
        metavar="LIST",
        help=f"simulators, of {','.join(SIMULATORS)} (default: those that are installed)",
    )
    parser.add_argument("--no-sim", action="store_true", help="skip the simulations")
    parser.add_argument("--no-synth", action="store_true", help="skip synthesis")
    parser.add_argument(
        "--toolchain",
        choices=TOOLCHAINS,
        default="auto",
        help="auto (default): open tools for ECP5 and iCE40, Vivado scripts for the 7 series; "
        "xray: nextpnr-xilinx for the 7 series, where it is installed",
    )
    parser.add_argument(
        "--no-bitstream", action="store_true", help="skip place and route with open tools"
    )
    parser.add_argument(
        "--gate-sim", action="store_true", help="simulate the synthesised netlist as well"
    )
    parser.add_argument("--explain", action="store_true", help="print what each pass did and saved")
    # The demo sets it.
    parser.set_defaults(run=_build, beside_paper=False)


def _add_sim(parser: argparse.ArgumentParser) -> None:
    add_design(parser)
    add_data(parser)
    parser.add_argument("--simulator", choices=SIMULATORS, default="icarus")
    parser.add_argument("--waves", action="store_true", help="write a waveform")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random stalls")
    parser.add_argument(
        "--workdir", type=Path, default=Path("sim_build"), help="work folder (default %(default)s)"
    )
    add_force(parser)
    parser.set_defaults(run=_sim)


def _add_show(parser: argparse.ArgumentParser) -> None:
    add_design(parser)
    parser.add_argument(
        "--after",
        choices=NAMES,
        default=NAMES[-1],
        metavar="PASS",
        help=f"{', '.join(NAMES[:-1])} or {NAMES[-1]} (default)",
    )
    parser.set_defaults(run=_show)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("builds", type=Path, nargs="+", metavar="DIR", help="folders of builds")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the comparison as a page (.html)"
    )
    add_force(parser)
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    parser.set_defaults(run=_report)


def _options(args: argparse.Namespace) -> Options:
    return Options(
        tolerance=args.tolerance,
        frac_bits=args.frac_bits,
        output_bits=args.output_bits,
        clock_mhz=args.clock,
        pipeline=args.pipeline,
        latency=args.latency,
        fold=args.fold,
        multipliers=args.multipliers,
        tables=args.tables,
        handshake=args.handshake,
        reload=args.reload,
        capacity=args.capacity,
        flags=args.flags,
        adapt=adapt_settings(args),
        banks=args.banks,
        load_key=None if args.load_key is None else read_key(args.load_key),
        input_register=args.input_register,
        input_format=input_formats(args.input_format),
        output_units=args.output_units,
        # Not every command has these.
        interface=getattr(args, "interface", None) or "stream",
        tdata=getattr(args, "tdata", None),
        crossing=getattr(args, "crossing", False),
        top=getattr(args, "top", "uart"),
        baud=getattr(args, "baud", DEFAULT_BAUD),
        toolchain=getattr(args, "toolchain", "auto"),
    )


def _simulators(args: argparse.Namespace) -> tuple[str, ...] | None:
    if args.no_sim:
        return ()
    return None if args.sim is None else parse_simulators(args.sim)


def _build(args: argparse.Namespace) -> None:
    how = BuildOptions(
        out=args.out,
        name=args.name,
        data=args.data,
        bench=args.tb,
        table=table_options(args),
        simulators=_simulators(args),
        synthesis=not args.no_synth,
        gate_sim=args.gate_sim,
        bitstream=not args.no_bitstream,
        force=args.force,
    )
    progress = Progress(args.quiet or args.json)
    board = choose_board(args.board, args.part, args.clock)
    if args.target != "c":
        bus = (args.interface, args.tdata, args.reload)
        args.interface, args.tdata = default_bus(board, *bus, adapt=args.adapt)
    with progress.running():
        try:
            make = build_c if args.target == "c" else build
            done = make(args.model, board, _options(args), how, progress.log)
        except KeyboardInterrupt:
            kept = "nothing was written, an earlier build is untouched"
            raise KeyboardInterrupt(kept) from None
    if args.json:
        steps = {"passes": _steps(done.design)} if args.explain else {}
        print(json.dumps({"folder": str(done.folder), **done.report, **steps}))
    elif args.target == "c":
        show_c_build(done)
    else:
        show_build(done, beside_paper=args.beside_paper)
        if args.explain:
            _explain(done.design)


def _steps(design: Design) -> list[dict[str, Any]]:
    return [] if _has_no_passes(design) else [dataclasses.asdict(s) for s in explain(design)]


def _has_no_passes(design: Design) -> bool:
    return design.fold is not None or design.processor is not None


def _explain(design: Design) -> None:
    """What the passes did, or how the core is folded or filled: no pass has a part in that."""
    if _has_no_passes(design):
        print(printable(str(design.schedule)))
    else:
        show_steps(explain(design))


def _sim(args: argparse.Namespace) -> None:
    progress = Progress(args.quiet or args.json)
    board = choose_board(args.board, args.part, args.clock)
    check_output(args.workdir, WORK, force=args.force)
    choose_tools([args.simulator])
    with progress.running():
        progress.log("compiling")
        design = load_design(args.model, board, _options(args))
        own = args.data and read_table(design.model, args.data, table_options(args))
        evaluation = own or design.model.evaluation
        rows = check_rows(design, evaluation)
        progress.log(f"simulating in {args.simulator}")
        _make_workdir(args.workdir)
        result = simulate(
            design, rows, args.simulator, args.workdir, waves=args.waves, seed=args.seed
        )
    result.check()
    if args.json:
        print(json.dumps(dataclasses.asdict(result), default=str))
        return
    print(
        f"{result.simulator} {result.version}: {result.vectors:,} vectors, "
        f"{result.mismatches} mismatches, latency {result.cycles} cycles, "
        f"interval {result.interval}"
    )
    if result.waveform is not None:
        print(printable(f"waveform: {result.waveform}"))


def _make_workdir(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_files(folder, {WORK_MARKER: "made by python -m scm_hw sim\n"})
    except OSError as error:
        raise OptionError(
            f"work folder {folder} can't be written ({error.strerror}); choose another with "
            "--workdir"
        ) from None


def _show(args: argparse.Namespace) -> None:
    board = choose_board(args.board, args.part, args.clock)
    design = load_design(args.model, board, _options(args))
    program = program_after(design, args.after)
    print(json.dumps(as_json(program)) if args.json else printable(str(program)))


def _report(args: argparse.Namespace) -> None:
    if args.out is not None:
        inputs = [*args.builds, *map(report_path, args.builds)]
        check_output(args.out, PAGE, inputs=inputs, force=args.force)
    reports = read_reports(args.builds)
    names = titles(args.builds, reports)
    if args.out is not None:
        write_file(args.out, comparison_page(reports, names))
    if args.json:
        print(json.dumps(reports))
    else:
        show_comparison(reports, names)


def _boards(args: argparse.Namespace) -> None:
    found = [boards.get(name) for name in boards.names()]
    if not args.json:
        show_boards(found)
        return
    facts = [
        {
            "name": b.name,
            "part": b.part,
            "clock_mhz": b.clock_mhz,
            **{k: getattr(b.device, k) for k in ("lut", "ff", "dsp", "bram", "block")},
        }
        for b in found
    ]
    json.dump(facts, sys.stdout)
    print()
