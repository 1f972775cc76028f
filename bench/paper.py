"""The paper's evaluation again with this trainer, its figures beside ours.

    python -m bench.paper [--trials N] [--tables ...] [--datasets ...] [--algorithms ...] [--quick]

A finished trial is kept in a journal at once, and a repeated run does only what is missing there.
Tables go to the terminal, and as Markdown and JSON to bench/results/. With --keep the lines that
are there stay, unless the journal has as many trials of them. CatBoost is left out where the extra
`bench` is not installed; data sets that are not at hand are named and left out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from joblib import Parallel, delayed
from rich.console import Console

from bench.paper_cases import KEPT_LABEL, NAMES, SECTIONS, Line, Section
from bench.paper_journal import Journal, JournalError
from bench.paper_kept import earlier
from bench.paper_report import show, write
from bench.paper_rivals import available
from bench.paper_trial import Job, run_trial
from scm_train import datasets
from scm_train.errors import DataError

RESULTS = Path(__file__).parent / "results"
#: Where trials are kept between runs; not part of the repository.
CACHE = Path(__file__).parent / "cache"
TRIALS = 10
#: Left out of a quick run: at the paper's settings these take from minutes to hours each.
SLOW_TABLES = ("images", "images-hardware")
SLOW_DATASET, SLOW_LEARNERS = "rastrigin", ("SCN", "DeepSCN", "SCM")
#: Left out as well: its trials would take half of the time of all others.
LARGEST_PLANT = "rolling_force"
#: Data sets of at most so many rows come first, so that a run cut short has most lines.
SMALL_ROWS = 5000
QUICK_TRIALS, QUICK_MINUTES = 2, 9.0


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    try:
        chosen = select(SECTIONS, options)
        journal = Journal(options.journal)
    except (ValueError, JournalError) as error:
        sys.exit(f"bench.paper: {error}")
    console = Console(width=None if sys.stdout.isatty() else 150)
    chosen, missing = at_hand(chosen)
    for sentence in missing:
        console.print(sentence, highlight=False)
    if not options.show:
        until = None if options.minutes is None else monotonic() + 60 * options.minutes
        todo = pending(chosen, journal, options.trials)
        try:
            run(todo, journal, options.jobs, until, console)
        except KeyboardInterrupt:
            sys.exit(f"bench.paper: interrupted; finished trials are in {options.journal}")
    show(chosen, journal, console)
    path = options.out / ("paper_quick" if options.quick else "paper")
    if options.keep:
        # What is not at hand today stays as well.
        chosen, missing = SECTIONS, at_hand(without_results(SECTIONS, path))[1]
    write(chosen, journal, missing, path, options.keep)


def select(all_sections: Sequence[Section], options: argparse.Namespace) -> list[Section]:
    """The tables and lines that the options ask for."""
    tables = _among("table", options.tables, [section.name for section in all_sections])
    if not options.tables and options.quick:
        tables = [name for name in tables if name not in SLOW_TABLES]
    names = _among("data set", [_ours(n) for n in options.datasets], list(NAMES))
    labels = sorted({_plain(line.label) for section in all_sections for line in section.lines})
    learners = _among("algorithm", options.algorithms, labels)

    def wanted(line: Line) -> bool:
        fits = options.protocol in ("both", line.job.protocol) or line.job.protocol == "either"
        named = line.dataset in names and _plain(line.label) in learners
        return fits and named and not (options.quick and _slow(line))

    kept = (
        Section(s.name, s.title, tuple(filter(wanted, s.lines)), s.same_data)
        for s in all_sections
        if s.name in tables
    )
    return [section for section in kept if section.lines]


def _slow(line: Line) -> bool:
    """The largest data, searches by the paper's settings on much data, and its other reading."""
    job = line.job
    searched = job.learner in SLOW_LEARNERS and "search_rows" not in job.parameters
    slow = job.dataset == LARGEST_PLANT or (job.dataset == SLOW_DATASET and searched)
    return slow or line.label == KEPT_LABEL


def _plain(label: str) -> str:
    """A learner's name without its weights and what else a table adds."""
    return label.split(",")[0].split("(")[0]


def _ours(name: str) -> str:
    """Our name of a data set, given by either."""
    return next((ours for ours, paper in NAMES.items() if paper == name), name)


def _among(thing: str, given: Sequence[str], known: Sequence[str]) -> list[str]:
    for name in given:
        if name not in known:
            raise ValueError(f"{thing} must be one of {', '.join(known)}, not {name!r}")
    return list(given) or list(known)


def at_hand(chosen: Sequence[Section]) -> tuple[list[Section], list[str]]:
    """The tables without what can't be run here, and a sentence for each thing left out."""
    names = dict.fromkeys(line.dataset for section in chosen for line in section.lines)
    lacking = {name: reason for name in names if (reason := _why_missing(name))}
    sentences = [f"{NAMES[name]} {name} is not at hand: {why}" for name, why in lacking.items()]
    learners = {line.job.learner for section in chosen for line in section.lines}
    absent = sorted(name for name in learners if not available(name))
    sentences += [f"{name} is not installed: pip install -e '.[bench]'" for name in absent]

    def runs(line: Line) -> bool:
        return line.dataset not in lacking and line.job.learner not in absent

    kept = [Section(s.name, s.title, tuple(filter(runs, s.lines)), s.same_data) for s in chosen]
    return kept, sentences


def without_results(sections: Sequence[Section], path: Path) -> list[Section]:
    """The tables without the data sets that have results there."""
    kept = earlier(path.with_suffix(".json"))
    known = {row["dataset"] for rows in kept.values() for row in rows}
    return [replace(s, lines=tuple(y for y in s.lines if y.dataset not in known)) for s in sections]


def _why_missing(name: str) -> str | None:
    try:
        datasets.load(name)
    except DataError as error:
        return str(error)
    return None


def pending(chosen: Sequence[Section], journal: Journal, trials: int) -> list[tuple[Job, int]]:
    """What is missing, each once: a trial of everything, then the next; small data sets first."""
    jobs = {line.job.key: line.job for section in chosen for line in section.lines}
    rows = {summary.name: summary.rows for summary in datasets.describe()}
    missing = (
        (job, trial)
        for trial in range(trials)
        for job in jobs.values()
        if trial not in journal.trials(job)
    )
    return sorted(missing, key=lambda item: rows[item[0].dataset] > SMALL_ROWS)


def run(
    todo: Sequence[tuple[Job, int]],
    journal: Journal,
    jobs: int,
    until: float | None,
    console: Console,
) -> None:
    """Run trials side by side and keep each as it ends; none is begun after `until`."""

    def begun() -> Iterator[tuple[Job, int]]:
        for job, trial in todo:
            if until is not None and monotonic() > until:
                return
            yield job, trial

    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs, batch_size=1)
    done = 0
    with console.status("") as status:
        for job, trial, found in pool(delayed(_kept)(job, trial) for job, trial in begun()):
            journal.add(job, trial, found)
            done += 1
            status.update(f"{done} of {len(todo)} trials: {job.dataset}, {job.learner}")
    console.print(f"{done} trials run, {len(todo) - done} left", highlight=False)


def _kept(job: Job, trial: int) -> tuple[Job, int, dict]:
    return job, trial, run_trial(job, trial)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = _parser().parse_args(arguments)
    if options.trials is None:
        options.trials = QUICK_TRIALS if options.quick else TRIALS
    if options.minutes is None and options.quick:
        options.minutes = QUICK_MINUTES
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.paper", description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=_positive, help=f"of every line; {TRIALS} unless told")
    for name in ("tables", "datasets", "algorithms"):
        parser.add_argument(f"--{name}", nargs="+", default=[], metavar="NAME", help="these alone")
    parser.add_argument("--protocol", choices=("paper", "clean", "both"), default="both")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, help="begin no trial after so many")
    parser.add_argument("--quick", action="store_true", help="ten minutes on two cores")
    parser.add_argument("--show", action="store_true", help="run nothing, show what is there")
    parser.add_argument("--keep", action="store_true", help="keep the other lines of the results")
    parser.add_argument("--journal", type=Path, default=CACHE / "paper.jsonl")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
