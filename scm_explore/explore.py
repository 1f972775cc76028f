"""The search itself: batches of points by the cost model, then synthesis of the front."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from scm_explore.evaluate import Outcome, Task, synthesise_point, try_point
from scm_explore.journal import Journal
from scm_explore.pools import Pool
from scm_explore.proposals import BATCH, next_batch
from scm_explore.space import Point, Space

# What is left of a budget for the synthesis of the front, if there is to be any.
SYNTHESIS_SHARE = 0.3

Log = Callable[[str, int, int | None], None]
"""Told the step under way, how much of it is done, and how much there is to do, if known."""


@dataclass(frozen=True)
class Limits:
    """When to stop: after a number of points, or of seconds, whichever comes first."""

    points: int | None = None
    seconds: float | None = None
    synthesis: bool = True


def explore(
    task: Task, space: Space, limits: Limits, journal: Journal, pool: Pool, log: Log
) -> None:
    """Add points to the journal until the limits are met, then synthesise those on the front."""
    start = time.monotonic()
    share = 1 - SYNTHESIS_SHARE if limits.synthesis else 1.0
    until = None if limits.seconds is None else start + share * limits.seconds
    number = 0
    while _search_batch(number, task, space, limits, journal, pool, log, until):
        number += 1
    if limits.synthesis:
        until = None if limits.seconds is None else start + limits.seconds
        synthesise_front(task.board, journal, pool, log, until)


def _search_batch(
    number: int,
    task: Task,
    space: Space,
    limits: Limits,
    journal: Journal,
    pool: Pool,
    log: Log,
    until: float | None,
) -> bool:
    """Finish a batch; whether another may follow."""
    first = number * BATCH
    batch = _batch(number, task.seed, space, journal)
    if limits.points is not None:
        batch = batch[: max(0, limits.points - first)]
    missing = {
        first + i: (point,) for i, point in enumerate(batch) if first + i not in journal.points
    }
    log("searching", len(journal.points), limits.points)
    outcome: Outcome
    for index, outcome in pool.run(try_point, task, missing, until):
        journal.add_point(index, missing.pop(index)[0], outcome)
        log("searching", len(journal.points), limits.points)
    # What is missing now has been cut off by the time limit.
    return bool(batch) and not missing


def _batch(number: int, seed: int, space: Space, journal: Journal) -> list[Point]:
    """The points of a batch; they follow from the batches before it and from nothing else."""
    first = number * BATCH
    front = [journal.points[i].point for i in journal.front(below=first, estimated=True)]
    tried = [record.point for i, record in journal.points.items() if i < first]
    return next_batch(space, seed, number, front, tried)


def _next_to_synthesise(journal: Journal) -> list[int]:
    front = journal.front()
    return [*front, *(number for number in journal.contenders() if number not in front)]


def synthesise_front(
    board: str, journal: Journal, pool: Pool, log: Log, until: float | None = None
) -> None:
    """Real resources for every point that may be on the front, which is then that of real ones.

    Estimates choose what is synthesised, with a margin for their error. A point may drop out and
    let others in: those are synthesised as well, until the front is real throughout or the time is
    up. What the front needs comes first.
    """
    done = 0
    while True:
        jobs = {
            number: (
                journal.points[number].point,
                journal.model_path(number).read_bytes(),
                journal.points[number].found.get("output_bits"),
            )
            for number in _next_to_synthesise(journal)
            if journal.points[number].synthesised is None
        }
        if not jobs:
            return
        total = done + len(jobs)
        log("synthesising the front", done, total)
        outcome: Outcome
        for number, outcome in pool.run(synthesise_point, board, jobs, until):
            journal.add_synthesis(number, outcome)
            done += 1
            log("synthesising the front", done, total)
        # The time is up before all jobs could begin.
        if done < total:
            return
