"""A progress bar for training: on a terminal and when asked for, never in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["Report", "progress_bar", "reading_bar"]

#: Files of fewer bytes are read before a bar could be looked at.
LARGE_FILE = 32 << 20

#: Called after every node with nodes so far, layer, training RMSE and validation RMSE.
Report = Callable[[int, int, float, float], None]


@contextmanager
def progress_bar(
    verbose: bool | int, total: int | None, console: Console | None = None
) -> Iterator[Report]:
    """Yield the function that training calls after every node; it shows nothing unless it should.

    ``total`` is the largest number of nodes, None where there is no limit.
    """
    console = console or Console(stderr=True)
    if not verbose or not console.is_terminal:
        yield lambda nodes, layer, train, validation: None
        return
    columns = (
        TextColumn("layer {task.fields[layer]}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} nodes  {task.fields[errors]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("training", total=total, layer=1, errors="")

        def report(nodes: int, layer: int, train: float, validation: float) -> None:
            errors = f"RMSE {train:.6f}"
            # NaN without validation rows.
            if validation == validation:
                errors += f", validation {validation:.6f}"
            progress.update(task, completed=nodes, layer=layer, errors=errors)

        yield report


@contextmanager
def reading_bar(
    name: str, size: int, console: Console | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield the function to call with the number of bytes of a file that have been read."""
    console = console or Console(stderr=True)
    if size < LARGE_FILE or not console.is_terminal:
        yield lambda done: None
        return
    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        # A name may hold what the library takes for markup.
        task = progress.add_task(escape(name), total=size)
        yield lambda done: progress.update(task, completed=done)
