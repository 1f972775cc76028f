"""The checks of a design: every vector in every simulator, the test bench, and lint."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scm_hw.common.folders import write_files
from scm_hw.common.outputs import folder_of
from scm_hw.design import Design
from scm_hw.emit import testbench_files
from scm_hw.emit.testbench import CLOCK_PS, DUT
from scm_hw.emit.vivado import ACTIVITY, core_path
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.sim.vectors import Probe, Vectors
from scm_hw.tools.simulators import missing
from scm_hw.verify import (
    SimResult,
    lint,
    run_amaranth,
    run_icarus,
    run_interface,
    run_netlist,
    run_testbench,
    run_verilator,
)
from scm_hw.verify.probes import expected_probes, wrong_output
from scm_hw.verify.rows import CheckRows, in_order
from scm_hw.verify.saif import read_vcd, saif_file

SIMULATORS = ("amaranth", "icarus", "verilator")
# Those that take the emitted Verilog, and are programs of their own.
VERILOG = ("icarus", "verilator")
# Amaranth's own simulator is slow; it sees the first of the rows and the corners.
AMARANTH_VECTORS = 24
# A folded core takes many cycles for each vector, and simulators are slower with more lanes: the
# most cycles and lane cycles in all, and the fewest vectors.
FOLDED_CYCLES = 100_000
FOLDED_LANE_CYCLES = 8_000_000
FEWEST_VECTORS = 24
# Of an unrolled core, the most operations times vectors in simulators that interpret the Verilog:
# ten seconds in Icarus. Verilator, which compiles it, takes all vectors.
INTERPRETED_STEPS = 2_000_000
# The core is checked by then; a wrapper has few states.
INTERFACE_VECTORS = 100
# With more lanes or operations than this Amaranth's simulator takes many minutes.
AMARANTH_LANES = 256
AMARANTH_OPERATIONS = 4000

# What a failed build leaves beside the place of a good one; this file says why it failed.
FAILURE = "failed.txt"
FAILED = folder_of("what a failed build left", FAILURE)

Log = Callable[[str], None]


@dataclass(frozen=True)
class Tools:
    """What the checks of a build run; `left_out` says what they do without, and why."""

    simulators: tuple[str, ...] = SIMULATORS
    bench: bool = True
    lint: bool = True
    left_out: tuple[str, ...] = ()


def choose_tools(simulators: Sequence[str] | None, *, gate_sim: bool = False) -> Tools:
    """The simulators that were asked for, or (None) all that are here; to be asked first.

    ToolError where one that was asked for is missing, or where none that reads Verilog is here.
    """
    absent = {name: reason for name in VERILOG if (reason := missing(name)) is not None}
    needed = {name for name in simulators or () if name in VERILOG}
    needed |= {"icarus"} if gate_sim else set()
    if simulators is None and len(absent) == len(VERILOG) and not needed:
        # Amaranth's simulator never sees the Verilog that is handed out.
        reasons = " and ".join(reason.partition(";")[0] for reason in absent.values())
        raise ToolError(
            f"can't simulate the Verilog: {reasons}; install one of {' and '.join(absent)}, or "
            "skip the simulations with --no-sim"
        )
    for name in absent:
        if name in needed:
            raise ToolError(absent[name])
    chosen = tuple(simulators if simulators is not None else set(SIMULATORS) - absent.keys())
    if not chosen:
        return Tools(chosen, bench=False, lint=False)
    left_out = []
    if simulators is None:
        left_out = [f"simulation in {name} ({reason})" for name, reason in absent.items()]
    if "icarus" in absent:
        left_out.append("the Verilog test bench and switching activity, which need icarus")
    if "verilator" in absent:
        left_out.append("lint, which needs verilator")
    return Tools(
        tuple(name for name in SIMULATORS if name in chosen),
        bench="icarus" not in absent,
        lint="verilator" not in absent,
        left_out=tuple(left_out),
    )


def parse_simulators(text: str) -> tuple[str, ...]:
    """A comma-separated choice of simulators."""
    chosen = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    unknown = [name for name in chosen if name not in SIMULATORS]
    if unknown or not chosen:
        raise OptionError(
            f"simulator must be one of {', '.join(SIMULATORS)}, not {(unknown or [text])[0]!r}"
        )
    return chosen


def simulate(
    design: Design,
    rows: CheckRows,
    simulator: str,
    workdir: Path,
    *,
    waves: bool = False,
    seed: int = 0,
) -> SimResult:
    """One simulator's verdict on a design."""
    numbers = simulated_rows(design, rows, simulator)
    vectors = rows.vectors(design, numbers)

    def probes(index: int) -> list[Probe]:
        return expected_probes(design, rows.seen(design)[numbers[index]])

    if simulator == "amaranth":
        return run_amaranth(
            design.new_core,
            vectors,
            design.latency,
            design.initiation_interval,
            seed=seed,
            waveform=workdir / "amaranth.vcd" if waves else None,
            failed=workdir / "amaranth_failed.vcd",
            probes=probes,
            ready=design.ports.ready,
        )
    source = workdir / f"{design.names.core}.v"
    write_files(workdir, {source.name: design.verilog})
    run = run_icarus if simulator == "icarus" else run_verilator
    return run(
        source,
        vectors,
        design.latency,
        design.initiation_interval,
        workdir=workdir,
        waves=waves,
        seed=seed,
        top=design.names.core,
        probes=probes,
        ready=design.ports.ready,
    )


def simulated_rows(design: Design, rows: CheckRows, simulator: str) -> list[int]:
    """The numbers of the rows that one simulator sees."""
    most = _most(design) if simulator == "amaranth" else None
    return chosen_rows(design, rows, most, compiled=simulator == "verilator")


def _most(design: Design) -> int:
    """Rows for Amaranth's simulator, in which a history fills and empties several times."""
    return AMARANTH_VECTORS * (3 if in_order(design) else 1)


def select_vectors(design: Design, rows: CheckRows, most: int | None = None) -> Vectors:
    """The vectors that simulators see, at most `most` of them."""
    return rows.vectors(design, chosen_rows(design, rows, most))


def chosen_rows(
    design: Design, rows: CheckRows, most: int | None = None, *, compiled: bool = False
) -> list[int]:
    """The numbers of the rows that simulators see.

    All, or as many as there is time for on a folded core, or on a large unrolled one unless its
    Verilog is `compiled`, and no more than `most`: then half of them are evaluation rows, where
    there are so many, and the rest corners and random codes behind them.
    """
    count = len(rows.inputs) if most is None else most
    if design.processor is not None:
        count = min(count, max(FOLDED_CYCLES // design.initiation_interval, FEWEST_VECTORS))
    if design.fold is not None:
        cycles, lanes = design.fold.initiation_interval, design.fold.lanes
        affordable = min(FOLDED_CYCLES // cycles, FOLDED_LANE_CYCLES // (cycles * lanes))
        count = min(count, max(affordable, FEWEST_VECTORS))
    elif not compiled:
        affordable = INTERPRETED_STEPS // len(design.program.ops)
        count = min(count, max(affordable, FEWEST_VECTORS))
    if in_order(design):
        # Each depends on those before it.
        return list(range(min(count, len(rows.inputs))))
    if count >= len(rows.inputs):
        return list(range(len(rows.inputs)))
    evaluation = 0 if rows.evaluation is None else len(rows.evaluation)
    return [*range(min(count // 2, evaluation)), *range(evaluation, len(rows.inputs))][:count]


def check_core(
    design: Design,
    rows: CheckRows,
    simulators: Sequence[str],
    workdir: Path,
    keep_failure: Path,
    log: Log,
) -> list[SimResult]:
    """Run the simulators in turn; the first that differs ends the build.

    Amaranth's own is left out for a core that is too large for it, where there are others.
    What it takes to look into a failure (design, vectors, waveform) is left in `keep_failure`.
    """
    results = []
    too_large = _too_large_for_amaranth(design)
    for simulator in simulators:
        if simulator == "amaranth" and too_large is not None and len(simulators) > 1:
            log(f"leaving out amaranth: its simulator is too slow for that many {too_large}")
            continue
        log(f"simulating in {simulator}{_shortened(design, rows, simulator)}")
        folder = workdir / simulator
        folder.mkdir(parents=True)
        result = simulate(design, rows, simulator, folder)
        if not result.ok:
            _kept(result, design, rows, folder, keep_failure).check()
        results.append(result)
    return results


def _too_large_for_amaranth(design: Design) -> str | None:
    """What a core has too many of for Amaranth's simulator."""
    if design.fold is not None:
        return "lanes" if design.fold.lanes > AMARANTH_LANES else None
    return "operations" if len(design.program.ops) > AMARANTH_OPERATIONS else None


def _shortened(design: Design, rows: CheckRows, simulator: str) -> str:
    """Says so where a large unrolled core sees some of the vectors only."""
    count, every = len(simulated_rows(design, rows, simulator)), len(rows.inputs)
    if design.fold is not None or simulator == "amaranth" or count == every:
        return ""
    return f" ({count} of {every} vectors, as the core is large)"


def check_netlist(
    design: Design, rows: CheckRows, netlist: Path, workdir: Path, keep_failure: Path, log: Log
) -> SimResult:
    """What synthesis made of the design, on the vectors of the simulators."""
    log("simulating the netlist")
    numbers = chosen_rows(design, rows)
    result = run_netlist(
        netlist,
        rows.vectors(design, numbers),
        design.latency,
        design.initiation_interval,
        workdir=workdir,
        family=design.board.family,
        top=design.names.core,
        probes=lambda index: expected_probes(design, rows.inputs[numbers[index]]),
        ready=design.ports.ready,
    )
    if not result.ok:
        _kept(result, design, rows, workdir, keep_failure).check()
    return result


def _kept(
    result: SimResult, design: Design, rows: CheckRows, folder: Path, keep: Path
) -> SimResult:
    """The result with its waveform where the user can find it, beside design and vectors."""
    # What an earlier failure left would be taken for this one's.
    clear_failure(keep)
    shutil.copytree(folder, keep, dirs_exist_ok=True)
    if result.stage is None and result.first_mismatch is not None:
        result = replace(result, stage=wrong_output(design, result.first_mismatch))
    vectors, names = select_vectors(design, rows), design.names
    how = (design.latency, design.initiation_interval, names, design.options.handshake)
    # With the test bench beside it, the failure can be replayed without this program.
    bench = testbench_files(vectors, *how, reload=design.ports.reload)
    if result.waveform is not None and result.waveform.is_relative_to(folder):
        result = replace(result, waveform=keep / result.waveform.relative_to(folder))
    verilog = {f"{names.core}.v": design.verilog}
    write_files(keep, {**verilog, **bench, FAILURE: f"{result.verdict}\n"})
    return result


def clear_failure(folder: Path) -> None:
    """Remove what an earlier failed build left, and nothing else."""
    if folder.is_dir() and FAILED.ours(folder):
        shutil.rmtree(folder, ignore_errors=True)


def check_files(
    folder: Path, design: Design, workdir: Path, log: Log, found: Tools | None = None
) -> None:
    """What is about to be handed out: the test bench passes, and lint has nothing to say.

    What switched in the test bench is put beside it. What `found` has no tool for is left out.
    """
    found = found or Tools()
    if found.bench:
        _run_bench(folder, design, workdir, log)
    if found.lint:
        log("linting")
        _lint(folder, design)


def _lint(folder: Path, design: Design) -> None:
    """Core and board top in one run; the core alone where there is no top that is ours to know."""
    core, top = folder / f"{design.names.core}.v", folder / "scm_top.v"
    # Only the primitives of these families are known to lint.
    if not top.exists() or design.board.family not in ("xc7", "ecp5", "ice40"):
        return lint([core], design.names.core)
    try:
        lint([top, core], "scm_top")
    except ToolError:
        # Where the fault is the core's own, the message names the core.
        lint([core], design.names.core)
        raise


def _run_bench(folder: Path, design: Design, workdir: Path, log: Log) -> None:
    log("running the Verilog test bench")
    # Only Vivado can read what is made of it.
    waveform = workdir / "activity.vcd" if design.board.family == "xc7" else None
    vectors, cycles = run_testbench(
        folder, workdir=workdir / "testbench", names=design.names, activity=waveform
    )
    if cycles != design.latency:
        raise MismatchError(
            f"test bench must take {design.latency} cycles, not {cycles} (over {vectors} vectors)"
        )
    if waveform is not None:
        write_files(folder, {ACTIVITY: _activity(waveform, design)})


def _activity(waveform: Path, design: Design) -> str:
    """What switches in the core at full speed on the first rows, in its place in the top."""
    with waveform.open(encoding="utf-8") as lines:
        wave = read_vcd(lines)
    inside = (
        core_path(design.options.top, design.options.handshake)
        if design.board.platform is not None
        else ()
    )
    period = 1e6 / design.clock_mhz
    return saif_file(
        wave, top=(design.names.testbench, DUT), inside=inside, scale=period / CLOCK_PS
    )


def check_interface(
    folder: Path,
    design: Design,
    rows: CheckRows,
    found: Tools,
    workdir: Path,
    log: Log,
) -> None:
    """The wrapper, where there is one, with bus models in the simulators that cocotb drives."""
    interface = design.options.interface
    if interface == "stream":
        return
    name = design.names.wrapper(interface)
    sources = [folder / f"{design.names.core}.v", folder / f"{name}.v"]
    if found.lint:
        log(f"linting {name}")
        lint(sources, name)
    for simulator in found.simulators:
        if simulator != "amaranth":
            log(f"simulating {name} in {simulator}")
            run_interface(
                interface,
                sources,
                select_vectors(design, rows, INTERFACE_VECTORS),
                design.ports,
                design.digest,
                simulator,
                workdir=workdir,
                names=design.names,
            )
