"""Accuracy against LUTs on every table at hand, beside boosted trees laid out in gates.

    python -m bench.frontier [--quick] [--tables ...] [--learners ...] [--budgets ...] [--splits N]
                             [--grid coarse] [--minutes M] [--jobs N] [--out bench/results/frontier]

At each budget of LUTs stand our machine and the best gradient-boosted trees that keep it, laid out
as TreeLUT does (`bench.trees`), chosen on validation rows and counted by the same call of Yosys.
Histogram boosting and CatBoost with their defaults are the ceilings. All learners have the same
splits (`bench.tables`). A finished trial is kept in a journal at once, and a repeated run does only
what is missing there, small tables first. With `--minutes` no trial begins after that time; results
say how many splits they are of. They go to the terminal, and as JSON, Markdown and SVG to `--out`.
CatBoost is left out where the extra `bench` is not installed, tables that are not at hand are too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from joblib import Parallel, delayed
from rich.console import Console

from bench import tables
from bench.frontier_learners import CEILINGS, OURS, TREES, Job, jobs_of, run_trial
from bench.frontier_report import rows_of, show, write
from bench.paper_journal import Journal, JournalError
from bench.paper_rivals import available
from bench.trees.search import GRIDS
from scm_train.errors import DataError

__all__ = ["main"]

BUDGETS = (300, 1_000, 3_000, 10_000)
LEARNERS = (TREES, OURS, *CEILINGS)
RESULTS = Path(__file__).parent / "results" / "frontier"
JOURNAL = Path(__file__).parent / "cache" / "frontier.jsonl"
#: A table of each kind that takes seconds.
QUICK_TABLES, QUICK_BUDGETS = ("boston", "steel_plates_known", "steel_plates"), (300, 1_000)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    console = Console(width=None if sys.stdout.isatty() else 150)
    try:
        journal = Journal(options.journal)
    except JournalError as error:
        sys.exit(f"bench.frontier: {error}")
    learners, at_hand = _at_hand(options, console)
    if not options.show:
        try:
            _run(_jobs(at_hand, learners, options), options, journal, console)
        except KeyboardInterrupt:
            sys.exit(f"bench.frontier: interrupted; finished trials are in {options.journal}")
    # What earlier runs found of other tables stays in the results.
    rows = rows_of(_jobs(tables.NAMES, LEARNERS, options), options.splits, journal)
    if not rows:
        sys.exit(f"bench.frontier: no finished trial in {options.journal}; set SCM_DATA and run")
    show(rows, console)
    write(rows, options.out)


def _jobs(names: Sequence[str], learners: Sequence[str], options: argparse.Namespace) -> list[Job]:
    return [job for name in names for job in jobs_of(name, learners, options.budgets, options.grid)]


def _at_hand(options: argparse.Namespace, console: Console) -> tuple[list[str], list[str]]:
    """Learners that are installed, and tables that can be read, small ones first.

    A line for each of the others.
    """
    learners = [name for name in options.learners if available(name)]
    sizes: dict[str, int] = {}
    if len(learners) < len(options.learners):
        console.print("CatBoost is not installed: pip install -e '.[bench]'", highlight=False)
    for name in options.tables:
        try:
            sizes[name] = tables.load(name).X.size
        except (tables.TableError, DataError) as error:
            console.print(f"{name} is not at hand: {error}", highlight=False)
    return learners, sorted(sizes, key=sizes.__getitem__)


def _run(
    jobs: Sequence[Job], options: argparse.Namespace, journal: Journal, console: Console
) -> None:
    """The first split of everything, then the next; each trial is kept as it ends."""
    todo = [
        (job, number)
        for number in range(options.splits)
        for job in jobs
        if number not in journal.trials(job)
    ]
    end = monotonic() + 60 * options.minutes
    # Trials begin one by one, each as another ends.
    pool = Parallel(options.jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
    done = 0
    with console.status("") as status:
        for job, number, found in pool(delayed(_trial)(job, number, end) for job, number in todo):
            if found is None:
                continue
            journal.add(job, number, found)
            done += 1
            status.update(f"{done} of {len(todo)} trials: {job.table}, {job.learner}")
    left = f", {len(todo) - done} left for the next run" if done < len(todo) else ""
    console.print(f"{done} trials run{left}", highlight=False)


def _trial(job: Job, number: int, end: float) -> tuple[Job, int, dict | None]:
    """What a trial finds; nothing after the end of the run."""
    return job, number, run_trial(job, number) if monotonic() < end else None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.frontier", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables, few trees, one split")
    parser.add_argument("--tables", nargs="+", choices=tables.NAMES, metavar="NAME")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS, metavar="NAME")
    parser.add_argument("--budgets", nargs="+", type=_positive, metavar="LUTS")
    parser.add_argument("--splits", type=_positive, help=f"{tables.SPLITS} by default")
    parser.add_argument(
        "--grid", choices=GRIDS, help="settings of trees that are tried, coarse by default"
    )
    parser.add_argument(
        "--minutes", type=_positive, default=sys.maxsize, help="begin no trial after so many"
    )
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1)
    parser.add_argument("--show", action="store_true", help="run nothing, show what is there")
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--out", type=Path, help="results without the suffix")
    options = parser.parse_args(arguments)
    quick = options.quick
    options.tables = options.tables or (QUICK_TABLES if quick else tables.NAMES)
    options.budgets = sorted(options.budgets or (QUICK_BUDGETS if quick else BUDGETS))
    options.splits = options.splits or (1 if quick else tables.SPLITS)
    options.grid = options.grid or ("quick" if quick else "coarse")
    options.out = options.out or (RESULTS.with_name("frontier_quick") if quick else RESULTS)
    return options


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
