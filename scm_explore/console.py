"""The front as it grows, on a terminal; and the table at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scm_explore.journal import Journal
from scm_explore.space import Point
from scm_hw.cli.text import printable

SHOWN = 12


class FrontView:
    """Redrawn after every point on a terminal; nothing in a pipe or when quiet."""

    def __init__(self, journal: Journal, score: str, quiet: bool, seconds: float | None) -> None:
        self.journal = journal
        self.score = score
        self.seconds = seconds
        self.shown = not quiet and sys.stderr.isatty()
        self.console = Console(stderr=True)
        self.live: Live | None = None
        self.start = time.monotonic()
        # The step under way: when it began, and how much of it was done by then.
        self.step, self.since, self.before = "", self.start, 0

    def log(self, step: str, done: int, total: int | None) -> None:
        if step != self.step:
            self.step, self.since, self.before = step, time.monotonic(), done
        if self.live is not None:
            self.live.update(Group(self._line(step, done, total), self._front()))

    @contextmanager
    def running(self) -> Iterator[None]:
        if not self.shown:
            yield
            return
        with Live(console=self.console, transient=True, refresh_per_second=4) as live:
            self.live = live
            yield

    def _line(self, step: str, done: int, total: int | None) -> Text:
        spent = time.monotonic() - self.start
        of = f" of {total:,}" if total is not None else ""
        left = self._left(done, total, spent)
        words = f", about {_clock(left)} left" if left is not None else ""
        return Text(f"{step}: {done:,}{of} done in {_clock(spent)}{words}")

    def _left(self, done: int, total: int | None, spent: float) -> float | None:
        """Seconds to the end of the step at the pace so far, or of the budget if that is sooner."""
        ends = [] if self.seconds is None else [self.seconds - spent]
        if total is not None and done > self.before:
            pace = (time.monotonic() - self.since) / (done - self.before)
            ends.append(pace * (total - done))
        return min(ends, default=None)

    def _front(self) -> Table:
        numbers = self.journal.front()
        table = Table(title=f"front of {len(numbers)} designs", title_justify="left")
        for column in ("design", self.score, "LUT", "latency", "nodes", "encoder"):
            table.add_column(column, justify="right" if column in ("LUT", "latency") else "left")
        # Evenly along the front, where it is too long for the screen.
        stride = -(-len(numbers) // SHOWN)
        for number in numbers[:: max(stride, 1)]:
            record = self.journal.points[number]
            error, lut, latency = record.objectives
            table.add_row(
                f"p{number:04d}",
                f"{error:.6f}" if self.score == "rmse" else f"{1 - error:.2%}",
                f"{lut:,}" if record.synthesised else f"~{lut:,}",
                f"{latency:,g} ns",
                "+".join(map(str, record.found["nodes"])),
                record.point.coding,
            )
        return table


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes}:{rest:02d}"


def show_front(result: dict[str, Any], folder: str) -> None:
    """The whole front as lines of text, and where to find it."""
    score = result["score"]
    # A pipe has no width of its own; the table must not be folded in it.
    console = Console() if sys.stdout.isatty() else Console(width=120, highlight=False)
    table = Table()
    for column in ("design", f"{score}, held out", f"{score}, test", "LUT", "cycles", "latency"):
        table.add_column(column, justify="right" if column != "design" else "left")
    table.add_column("nodes")
    table.add_column("encoder")
    for row in result["front"]:
        mark = "~" if row["lut_source"] == "estimate" else ""
        table.add_row(
            f"p{row['point']:04d}",
            f"{row[f'held_out_{score}']:.6f}",
            f"{row[f'test_{score}']:.6f}",
            f"{mark}{row['lut']:,}",
            f"{row['latency_cycles']:,}",
            f"{row['latency_ns']:,g} ns",
            "+".join(map(str, row["trained_nodes"])),
            Point.from_json(row["design"]).coding,
        )
    console.print(
        f"{result['points']:,} designs tried, {result['buildable']:,} can be built, "
        f"{len(result['front']):,} on the front (~: estimated LUTs):"
    )
    console.print(table)
    console.print(
        f"{printable(folder)}/front.html to look at, front.csv, and a model file for each to build",
        markup=False,
    )
