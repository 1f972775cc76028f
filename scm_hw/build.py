"""One model, one folder: compile, check, synthesise, write, and only then put it in place."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scm_hw import boards
from scm_hw.boards import Board
from scm_hw.boards.toolchains import require_models, synthesis_family, toolchain_of
from scm_hw.common.digests import file_digest
from scm_hw.common.folders import replacing, write_files
from scm_hw.common.names import Names, identifier
from scm_hw.common.outputs import check_output, folder_of
from scm_hw.common.progress import expecting
from scm_hw.design import (
    Design,
    Measure,
    Options,
    compile_model,
    synthesised_cells,
    without_block_tables,
)
from scm_hw.emit import (
    bare_part_files,
    board_files,
    cocotb_files,
    driver_files,
    flow_files,
    formats_files,
    interface_files,
    litex_files,
    python_model_files,
    register_files,
    row_formats,
    testbench_files,
    uart_files,
    zynq_files,
)
from scm_hw.emit.identity import describe, identity
from scm_hw.emit.vivado import ACTIVITY
from scm_hw.emit.zynq import check_reached
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.load import Evaluation, Model, read_model
from scm_hw.report.html import html_report
from scm_hw.report.power import keep_vivado_reports, with_vivado
from scm_hw.report.report import make_report
from scm_hw.report.resources import Synthesis, surroundings
from scm_hw.target.resources import USABLE_SHARE, Resources, fits
from scm_hw.tools.nextpnr import Implementation, implement, require_tools
from scm_hw.tools.process import kill_all
from scm_hw.tools.synthesis import expected_seconds, synthesise, synthesise_around
from scm_hw.verify import SimResult
from scm_hw.verify.bench_rows import bench_files
from scm_hw.verify.check import (
    FAILED,
    FAILURE,
    Log,
    Tools,
    check_core,
    check_files,
    check_interface,
    check_netlist,
    choose_tools,
    clear_failure,
    select_vectors,
)
from scm_hw.verify.evaluation_file import evaluation_csv
from scm_hw.verify.rows import CheckRows, check_rows
from scm_hw.verify.saif import recorded_activity
from scm_hw.verify.tables import read_table
from scm_model.tables.dialect import TableOptions

DEFAULT_OUT = Path("rtl_out")
# Every build has it, and hardly any other folder: a folder with it may be replaced.
DIGEST = "digest.txt"
# What `load` needs to make an upload without the board.
RELOAD_FILE = "reload.json"
BUILD = folder_of("an earlier build", DIGEST)


@dataclass(frozen=True)
class BuildOptions:
    """The options of a build besides those of the compiler."""

    out: Path | None = None
    name: str | None = None
    data: Path | None = None
    bench: Path | None = None
    """A table of raw rows for the test bench, in place of those that the checks chose."""
    table: TableOptions | None = None
    simulators: tuple[str, ...] | None = None
    """None: all that are installed."""
    synthesis: bool = True
    gate_sim: bool = False
    bitstream: bool = True
    force: bool = False

    def __post_init__(self) -> None:
        if self.gate_sim and (self.simulators == () or not self.synthesis):
            raise OptionError(
                "gate-level simulation must have synthesis and the simulators before it; leave "
                "--no-synth and --no-sim out, or --gate-sim"
            )


@dataclass(frozen=True)
class Build:
    """A finished build."""

    folder: Path
    report: dict[str, Any]
    design: Design = field(repr=False)


def choose_board(board: str | None, part: str | None, clock_mhz: float | None) -> Board:
    """A board by name, or a bare part."""
    if board is not None and part is not None:
        raise OptionError("board and part must not both be given; a board has its part")
    if clock_mhz is not None and not 1.0 <= clock_mhz <= 600.0:
        raise OptionError(f"clock must be in [1, 600] MHz, not {clock_mhz:g}")
    if part is not None:
        return boards.by_part(part, clock_mhz or boards.DEFAULT_CLOCK_MHZ)
    chosen = boards.get(board or "arty-a7")
    return chosen if clock_mhz is None else chosen.at_clock(clock_mhz)


def load_design(
    path: str | os.PathLike[str], board: Board, options: Options, name: str | None = None
) -> Design:
    """Read and compile a model file as a build does, to modules that are called after it."""
    place, model = Path(path), read_model(path)
    return compile_model(
        model,
        board,
        options,
        model_digest=file_digest(place),
        names=Names(identifier(build_name(place, model, name))),
        measure=synthesised_cells,
    )


def build_name(path: Path, model: Model, name: str | None) -> str:
    """The name of the build: as given, as the model has it, or that of its file."""
    chosen = name or model.name or path.stem
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise OptionError(f"name must be letters, digits, '.', '_' and '-', not {name!r}")
    return re.sub(r"[^A-Za-z0-9._-]+", "_", chosen).strip("._-") or "model"


def build(
    path: str | os.PathLike[str],
    board: Board,
    options: Options | None = None,
    build_options: BuildOptions | None = None,
    log: Log = lambda _: None,
) -> Build:
    """All that `python -m scm_hw build` does; an earlier build stays until this one is good."""
    path, how, options = Path(path), build_options or BuildOptions(), options or Options()
    check_reached(board, options.interface, options.tdata)
    tools = _needed_tools(how, board, options)  # early: what follows takes minutes
    for left_out in tools.left_out:
        log(f"leaving out {left_out}")
    model = read_model(path)
    name = build_name(path, model, how.name)
    target = how.out if how.out is not None else DEFAULT_OUT / name
    failure = Path(f"{os.path.realpath(target)}.failed")  # beside the folder, not a link to it
    inputs = (path, how.data, how.bench)
    check_output(target, BUILD, inputs=inputs, force=how.force)
    check_output(failure, FAILED, inputs=inputs, force=how.force)
    own = read_table(model, how.data, how.table) if how.data else None
    log("compiling")
    design = compile_model(
        model,
        board,
        options,
        model_digest=file_digest(path),
        names=Names(identifier(name)),
        measure=_measuring(log) if how.synthesis else None,
    )
    without = without_block_tables(design)
    for what in without:
        log(f"leaving out {what}")
    fits(design.needs, board.room, USABLE_SHARE)  # or the simulations would be wasted
    samples = own or design.model.evaluation
    rows = check_rows(design, samples)
    with (
        replacing(target, BUILD, inputs=inputs, force=how.force) as folder,
        tempfile.TemporaryDirectory(prefix="scm_hw.") as scratch,
    ):
        log("writing Verilog")
        files = _files(design, rows, name, samples)
        files |= bench_files(design, how.bench, how.table)
        write_files(folder, files)
        places = _Places(folder, Path(scratch), failure)
        simulations, resources, routed = _checked(design, rows, files, how, tools, places, log)
        activity = recorded_activity(folder / ACTIVITY, design.schedule.period_ns)
        keep_vivado_reports(target, design.digest, folder)
        report = with_vivado(
            make_report(name, design, rows, simulations, resources, routed, activity=activity),
            folder,
        )
        report["left_out"] = [*tools.left_out, *without]
        if routed is not None:
            _write_bitstream(folder, design, routed)
        write_files(folder, _report_files(report, design, rows))
    clear_failure(failure)
    return Build(target, report, design)


def _measuring(log: Log) -> Measure:
    def measure(verilog: str, core: str, board: Board) -> Resources | None:
        log("synthesising, to see whether the unrolled core fits")
        return synthesised_cells(verilog, core, board)

    return measure


def _needed_tools(how: BuildOptions, board: Board, options: Options) -> Tools:
    """What the checks run with; ToolError where anything that the options need is missing."""
    if how.gate_sim:
        require_models(board)
    toolchain = toolchain_of(board, options.toolchain)
    if how.bitstream and how.synthesis and toolchain is not None:
        require_tools(toolchain)
    return choose_tools(how.simulators, gate_sim=how.gate_sim)


@dataclass(frozen=True)
class _Places:
    """Where the files of a build are, where its tools work, and what a failed one leaves."""

    folder: Path
    workdir: Path
    failure: Path


def _checked(
    design: Design,
    rows: CheckRows,
    files: dict[str, str],
    how: BuildOptions,
    tools: Tools,
    places: _Places,
    log: Log,
) -> tuple[list[SimResult], Synthesis | None, Implementation | None]:
    """Simulate while the core is synthesised and, where that makes a bitstream, routed."""
    workdir, failure = places.workdir, places.failure
    netlist = workdir / "netlist" / "netlist.v" if how.gate_sim else None
    with (
        _keeping_logs(workdir, failure),
        _synthesis(design, how, files, netlist) as (synthesis, implementation),
    ):
        began = time.monotonic()
        simulations = check_core(design, rows, tools.simulators, workdir, failure, log)
        if tools.simulators:
            check_files(places.folder, design, workdir, log, tools)
            check_interface(places.folder, design, rows, tools, workdir, log)
        log("synthesising with Yosys")
        whole = expected_seconds(design.estimate.lut + design.estimate.ff)
        with expecting(whole - (time.monotonic() - began)):  # it ran beside the simulations
            resources = synthesis()
        if _wants_bitstream(design, how):
            log("placing and routing")
        routed = implementation()
        if netlist is not None:
            checked = check_netlist(design, rows, netlist, netlist.parent, failure, log)
            simulations.append(checked)
    return simulations, resources, routed


@contextmanager
def _keeping_logs(workdir: Path, keep: Path) -> Iterator[None]:
    """Where an error names scratch files, copies of them and of all logs are kept and named."""
    try:
        yield
    except (ToolError, MismatchError) as error:
        if str(workdir) not in str(error):
            raise
        for path in workdir.rglob("*.*"):
            if path.suffix == ".log" or str(path) in str(error):
                copy = keep / path.relative_to(workdir)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        message = str(error).replace(str(workdir), str(keep))
        write_files(keep, {FAILURE: message + "\n"})
        raise type(error)(message) from None


def _wants_bitstream(design: Design, how: BuildOptions) -> bool:
    return how.bitstream and how.synthesis and design.toolchain is not None


def _write_bitstream(folder: Path, design: Design, routed: Implementation) -> None:
    assert design.toolchain is not None
    try:
        (folder / design.toolchain.bitstream).write_bytes(routed.bitstream)
    except OSError as error:
        raise OptionError(
            f"bitstream can't be written to {folder.parent} ({error.strerror}); make room or "
            "choose another folder with --out"
        ) from None


Synthesised = Callable[[], Synthesis | None]
Implemented = Callable[[], Implementation | None]


@contextmanager
def _synthesis(
    design: Design, how: BuildOptions, files: dict[str, str], netlist: Path | None
) -> Iterator[tuple[Synthesised, Implemented]]:
    """Synthesis, place and route beside the simulations; yields what waits for their results."""
    family = synthesis_family(design.board)
    if netlist is not None:
        netlist.parent.mkdir()

    def synthesised() -> Synthesis | None:
        if not how.synthesis or family is None:
            return None
        top, text = design.names.core, design.verilog
        with ThreadPoolExecutor() as beside:
            others = {
                part: beside.submit(synthesise_around, text, top, files[f"{m}.v"], m, family)
                for part, m in surroundings(design)
            }
            found = synthesise({f"{top}.v": text}, top, family, netlist=netlist)
        fits(found, design.board.room)
        return Synthesis(found, {part: other.result() for part, other in others.items()})

    def implemented() -> Implementation | None:
        if not _wants_bitstream(design, how):
            return None
        # The core alone may be too large already, and that is the clearer message.
        core.result()
        return implement(design.toolchain, files, design.board.clock_mhz)

    with ThreadPoolExecutor(max_workers=1) as pool:  # one after the other
        core = pool.submit(synthesised)
        whole = pool.submit(implemented)
        try:
            yield core.result, whole.result
        except BaseException:
            # The pool waits for its thread, and the thread for the program it runs.
            whole.cancel()
            kill_all()
            raise


def _files(design: Design, rows: CheckRows, name: str, own: Evaluation | None) -> dict[str, str]:
    vectors, names = select_vectors(design, rows), design.names
    files = {f"{names.core}.v": design.verilog}
    how = (design.latency, design.initiation_interval, names, design.options.handshake)
    files |= testbench_files(vectors, *how, reload=design.ports.reload)
    fields = describe(design, name)
    if design.reloads:
        files[RELOAD_FILE] = fields.encode().decode()
    tdata = design.options.tdata
    rows_in_c = None if tdata is None else row_formats(design.ports, tdata)
    files |= formats_files(fields, design.digest, design.latency, names, rows_in_c)
    files |= register_files(design.options.interface, fields, design.digest, names)
    files |= driver_files(design.options.interface, fields, design.digest, names)
    files |= interface_files(
        design.options.interface, design.ports, design.digest, design.board, names
    )
    if design.adaptive is None:
        files |= python_model_files(design.meaning, design.digest, names, design.records)
        files |= cocotb_files(design)
    bus = names.wrapper(design.options.interface)
    modules = {name: files[f"{name}.v"] for name in (names.core, bus) if f"{name}.v" in files}
    files |= flow_files(modules, design.digest, design.board, names) | litex_files(design, fields)
    board, handshake = design.board, design.options.handshake
    if board.platform is None:
        files |= bare_part_files(board, design.verilog, names, handshake)
        return files | zynq_files(design, evaluation_csv(design, rows, own))
    shared = (board, design.verilog)
    how = {"toolchain": design.options.toolchain, "names": names, "handshake": handshake}
    if design.options.top == "self-test":
        return files | board_files(*shared, vectors, latency=design.latency, **how)
    how["reload"] = design.ports.reload
    return files | uart_files(*shared, *identity(design, name), **how)


def _report_files(report: dict[str, Any], design: Design, rows: CheckRows) -> dict[str, str]:
    return {
        "report.json": json.dumps(report, indent=2) + "\n",
        "report.html": html_report(report, design, rows),
        DIGEST: report["digest"] + "\n",
    }
