"""What the command line shows while it works and when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RowProgress
from rich.table import Table
from rich.text import Text

from scm_hw.boards import Board
from scm_hw.build import Build
from scm_hw.cli.explain import Step
from scm_hw.cli.text import one_line, printable
from scm_hw.common.progress import heard_by
from scm_hw.host.compare import Comparison
from scm_hw.report.compare import lines
from scm_hw.report.paper import has_papers_shape, paper_rows
from scm_hw.report.power import power_words


class _TimeLeft(ProgressColumn):
    """What is left of a step at the pace so far, where it says how far it has come."""

    def render(self, task: Task) -> str:
        spent = task.elapsed or 0.0
        if not task.total or not task.completed or spent < 1:
            return ""
        left = spent * max(0.0, task.total - task.completed) / task.completed
        minutes, seconds = divmod(round(left), 60)
        return f"about {minutes}:{seconds:02d} left"


class Progress:
    """The step under way, with its time and what is left of it, on a terminal.

    Nothing in a pipe or when quiet.
    """

    def __init__(self, quiet: bool) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self.console = Console(stderr=True)
        self.bar: RowProgress | None = None
        self.task: TaskID | None = None
        self.step = ""
        self.since = 0.0

    def log(self, step: str) -> None:
        """A new step begins, so the one before it is done."""
        if self.bar is None:
            return
        self._done()
        self.step, self.since = step, time.monotonic()
        self.task = self.bar.add_task(escape(one_line(step)), total=None)

    @contextmanager
    def running(self) -> Iterator[None]:
        if not self.shown:
            yield
            return
        columns = (SpinnerColumn(), "{task.description}", TimeElapsedColumn(), _TimeLeft())
        bar = RowProgress(*columns, console=self.console, transient=True)
        with bar, heard_by(self._advance):
            self.bar = bar
            yield
            self._done()
            self.bar = None

    def _advance(self, done: float, total: float) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, total=total)

    def _done(self) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.remove_task(self.task)
            spent = time.monotonic() - self.since
            self.console.print(f"  {one_line(self.step)}, {spent:.1f} s", style="dim", markup=False)
        self.task = None


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # Rich would leave the program from here, with another exit code than `print`.
        raise BrokenPipeError

    def print(self, *objects: Any, **how: Any) -> None:
        """Texts are shown as they are, whatever a model file or a report calls its things."""
        shown = (Text(printable(o)) if isinstance(o, str) else o for o in objects)
        super().print(*shown, **how)


def _console() -> _Output:
    # A pipe has no width of its own; tables must not be folded in it.
    return _Output() if sys.stdout.isatty() else _Output(width=110, highlight=False)


def _cells(texts: Iterable[object]) -> list[Text]:
    return [Text(printable(str(text))) for text in texts]


def show_build(build: Build, *, beside_paper: bool = False) -> None:
    """The figures of a build, and which files to open; the paper's case beside one of its shape."""
    console = _console()
    report = build.report
    title = Text(printable(report["name"]), style="bold")
    console.print(title + f" for {printable(report['board'])} ({printable(report['part'])})")
    for line in summary_lines(report):
        console.print(f"  {line}")
    if beside_paper or has_papers_shape(report):
        console.print(paper_table(report))
    console.print(f"digest {report['digest'][:16]}, files in {build.folder}/:")
    for what, name in _files_to_open(build):
        console.print(f"  {name:<14} {what}")


def show_c_build(build: Build) -> None:
    """What the machine in C gives and takes, and its files."""
    report, names = build.report, build.design.names
    lines = [_accuracy_line(report), *_interval_lines(report), *_flag_lines(report)]
    checked = report["vectors"]
    lines.append("not run (--no-sim)" if checked is None else f"{checked:,} vectors, 0 mismatches")
    for size in report["sizes"]:
        lines.append(f"{size['core']}: {size['text']:,} bytes of code, {size['ram']:,} of memory")
    if not report["sizes"]:
        lines.append("sizes for Cortex-M need arm-none-eabi-gcc")
    print(printable(f"{report['name']} in C"))
    for line in lines:
        print(f"  {line}")
    print(f"digest {report['digest'][:16]}, files in {printable(str(build.folder))}/:")
    for name in (names.model_source, names.model_header, names.formats_header, names.model_test):
        print(f"  {name}")


def summary_lines(report: dict[str, Any]) -> list[str]:
    """Accuracy, time, resources and checks, a line each."""
    lines = [_accuracy_line(report), *_interval_lines(report), *_flag_lines(report)]
    lines += [_time_line(report), _resource_line(report)]
    lines += [_around_line(report, part) for part in ("wrapper", "top")]
    lines.append(_routed_line(report))
    lines.append(_power_line(report))
    for name, verdict in report["bit_exact"].items():
        lines.append(
            f"{name}: {verdict['vectors']:,} vectors, {verdict['mismatches']} mismatches, "
            f"{_cycles(verdict['cycles'])}"
        )
    if not report["bit_exact"]:
        lines.append("not simulated (--no-sim)")
    lines += [f"left out: {what}" for what in report.get("left_out", ())]
    return [line for line in lines if line]


def _accuracy_line(report: dict[str, Any]) -> str:
    if "rmse_pc" in report:
        ratio = report["rmse_ratio"]
        tail = f", ratio {ratio:.6f}" if ratio is not None else ""
        return (
            f"RMSE on {_rows(report)}: PC {report['rmse_pc']:.6f}, "
            f"hardware {report['rmse_hw']:.6f}{tail}, "
            f"largest difference {report['max_difference']:.2g}"
        )
    if "accuracy_pc" in report:
        return (
            f"accuracy on {_rows(report)}: PC {report['accuracy_pc']:.4f}, "
            f"hardware {report['accuracy_hw']:.4f}"
        )
    return "no evaluation rows in the model file; give --data to compare PC and hardware"


def _interval_lines(report: dict[str, Any]) -> list[str]:
    """How the intervals of a model with bounds do, a line per target."""
    interval = report.get("interval")
    if interval is None:
        return []
    return [
        f"interval of {name}, level {interval['level']:.2%}: holds {one['coverage_pc']:.2%} of the "
        f"rows on the PC, {one['coverage_hw']:.2%} in hardware, mean width {one['width_hw']:.5g}"
        for name, one in interval["targets"].items()
    ]


def _flag_lines(report: dict[str, Any]) -> list[str]:
    """How often flags are set on the test rows, and what they promise."""
    flags = report.get("flags", {})
    lines = []
    if (unsure := flags.get("unsure")) is not None:
        sure = unsure["accuracy_of_sure_hw"]
        lines.append(
            f"unsure of {unsure['share_hw']:.2%} of the rows; wrong without the flag: "
            f"{unsure['wrong_unflagged_hw']:.2%}, of {unsure['level']:.2%} promised"
            + ("" if sure is None else f"; accuracy where sure {sure:.4f}")
        )
    if (novel := flags.get("novel")) is not None:
        lines.append(
            f"novel: {novel['share_hw']:.2%} of the rows, of {novel['rate']:.2%} false alarms "
            f"promised, by {novel['groups']} groups of hidden bits"
        )
    if (outside := flags.get("outside")) is not None:
        lines.append(f"outside of the training range: {outside['share_hw']:.2%} of the rows")
    return lines


def _rows(report: dict[str, Any]) -> str:
    """How many rows PC and hardware are compared on, and of how many they are a sample."""
    every = report.get("sampled_from")
    rows = f"{report['rows']:,} rows"
    return rows if every is None else f"{rows} (a sample of the {every:,} test rows)"


def _time_line(report: dict[str, Any]) -> str:
    return (
        f"latency {_cycles(report['latency_cycles'])} = {report['latency_ns']:g} ns at "
        f"{report['clock_mhz']:g} MHz, a sample every {_cycles(report['initiation_interval'])}"
        f"{_HANDSHAKES[report['handshake']]}{_rates(report)}"
    )


def _rates(report: dict[str, Any]) -> str:
    serial = report["serial"]
    own = f"; {report['samples_per_second']:,.0f} samples a second"
    return own if serial is None else f"{own}, {serial['samples_per_second']:,.0f} over serial"


_HANDSHAKES = {"global": "", "skid": ", ready registered", "none": ", no handshake"}


def _cycles(count: int) -> str:
    return f"{count} cycle" if count == 1 else f"{count} cycles"


def _resource_line(report: dict[str, Any]) -> str:
    used, device = report["resources"], report["device"]
    parts = [f"{used['lut']:,} LUT of {device['lut']:,}", f"{used['ff']:,} FF"]
    if used["lut_sites"] != used["lut"]:
        parts.insert(1, f"{used['lut_sites']:,} LUT sites")
    parts += [f"{used[kind]:g} {kind.upper()}" for kind in ("carry4", "dsp", "bram") if used[kind]]
    return f"{', '.join(parts)} ({used['source']})"


def _around_line(report: dict[str, Any], part: str) -> str:
    """The core together with its wrapper, or in the board top."""
    used = report["resources"].get(part)
    if used is None:
        return ""
    parts = [f"{used['lut']:,} LUT, {used['lut_sites']:,} LUT sites, {used['ff']:,} FF"]
    parts += [f"{used[kind]:g} {kind.upper()}" for kind in ("carry4", "dsp", "bram") if used[kind]]
    return (
        f"with the {part} {used['module']}: {', '.join(parts)} ({used['source']}), "
        f"{used['max_clock_mhz_modelled']:g} MHz by the delay model"
    )


def _power_line(report: dict[str, Any]) -> str:
    words = power_words(report.get("power"))
    return f"power: {words}" if words else ""


def _routed_line(report: dict[str, Any]) -> str:
    routed = report.get("implementation")
    if routed is None:
        return ""
    cells = ", ".join(
        f"{n['used']:,} {cell} of {n['available']:,}" for cell, n in routed["utilisation"].items()
    )
    return (
        f"routed at {routed['fmax_mhz']:g} MHz, the board's clock is {routed['clock_mhz']:g} MHz "
        f"({routed['toolchain']}): {cells}"
    )


def paper_table(report: dict[str, Any]) -> Table:
    table = Table(title="beside the paper's FPGA case (other, private data)", title_justify="left")
    for column in ("", "paper", "here"):
        table.add_column(column, justify="left" if not column else "right")
    for row in paper_rows(report):
        table.add_row(*_cells(row))
    return table


def _files_to_open(build: Build) -> list[tuple[str, str]]:
    names = build.design.names
    known = [
        ("the core", f"{names.core}.v"),
        ("the core behind AXI4-Stream", f"{names.wrapper('axis')}.v"),
        ("the core behind AXI4-Lite", f"{names.wrapper('axil')}.v"),
        ("the core behind Wishbone", f"{names.wrapper('wishbone')}.v"),
        ("its registers, for software in C", names.registers_header),
        ("vivado -mode batch -source package_ip.tcl", "package_ip.tcl"),
        ("the board top, around the core", "scm_top.v"),
        ("the bitstream", "scm_top.bit"),
        ("the bitstream", "scm_top.bin"),
        ("makes the bitstream once more", "build.sh"),
        ("vivado -mode batch -source build.tcl", "build.tcl"),
        ("vivado -mode batch -source project.tcl, then open the project", "project.tcl"),
        ("self-checking test bench, with its vectors", names.testbench_file),
        ("all figures", "report.json"),
        ("the same to look at, in a browser", "report.html"),
    ]
    return [(what, name) for what, name in known if (build.folder / name).exists()]


def show_comparison(reports: list[dict[str, Any]], names: list[str]) -> None:
    table = Table("")
    for name in _cells(names):
        table.add_column(name)
    for line in lines(reports):
        table.add_row(*_cells((line.label, *line.values)))
    _console().print(table)


@contextmanager
def progress_bar(quiet: bool, total: int) -> Iterator[Callable[[int], None]]:
    """Yields what to tell the number of rows done; nothing is shown in a pipe or when quiet."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RowProgress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda done: bar.update(task, completed=done)


def show_run(found: Comparison) -> None:
    """The board's figures, a line each."""
    digits = 6 if found.score == "RMSE" else 4
    scores = (("board", found.board), ("PC", found.pc), ("interpreter", found.interpreter))
    text = ", ".join(f"{name} {value:.{digits}f}" for name, value in scores)
    print(f"{found.score} on {found.rows:,} rows: {text}")
    for name, (coverage, width) in found.intervals.items():
        held = f"holds {coverage:.2%} of the rows, mean width {width:.5g}"
        print(printable(f"interval of {name} on the board: {held}"))
    for name, share in found.flags.items():
        print(printable(f"{name} on the board: {share:.2%} of the rows"))
    print(f"mismatches with the interpreter: {found.mismatches}")
    latency = found.cycles / found.clock_mhz * 1e3
    print(f"latency {_cycles(found.cycles)} = {latency:g} ns at {found.clock_mhz:g} MHz")
    print(f"{found.rows_per_second:,.0f} rows a second over the serial port")
    if found.repeated or found.returns:
        print(f"{found.repeated} requests sent again, {found.returns} reconnections")


def show_boards(found: list[Board]) -> None:
    table = Table()
    for column in ("board", "part", "clock"):
        table.add_column(column)
    for column in ("LUT", "FF", "DSP", "BRAM"):
        table.add_column(column, justify="right")
    table.add_column("what it is")
    for board in found:
        device = board.device
        table.add_row(
            board.name,
            board.part,
            f"{board.clock_mhz:g} MHz",
            f"{device.lut:,}",
            f"{device.ff:,}",
            f"{device.dsp:,}",
            f"{device.bram:,} {device.block}",
            board.description,
        )
    _console().print(table)


def show_steps(steps: list[Step]) -> None:
    """What each pass did: operations, and LUTs and cycles if it were the last."""
    table = Table(title="passes, with what the design would cost after each", title_justify="left")
    table.add_column("after")
    for column in ("operations", "LUT", "saved", "cycles"):
        table.add_column(column, justify="right")
    table.add_column("")
    before = steps[0].luts
    for step in steps:
        saved = f"{before - step.luts:,}" if before != step.luts else ""
        note = "left out" if step.left_out else ""
        cells = (f"{step.operations:,}", f"{step.luts:,}", saved, str(step.cycles), note)
        table.add_row(*_cells((step.name, *cells)))
        before = step.luts
    _console().print(table)
