"""What `design` says: the designs in a table, what can't be had, and what to do next."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scm_explore.design.candidate import Candidate
from scm_explore.design.goal import Goal
from scm_explore.design.search import Search, knee, pareto
from scm_hw.cli.text import printable
from scm_hw.errors import OptionError

MAX_TARGETS = 4


def show_designs(search: Search, final: Candidate) -> None:
    """The designs that were tried and can be built, and the one that was."""
    targets = search.job.data.rows.target_names
    front = pareto([one for one in search.built if search.goal.fits(one)])
    marked = knee(front).budget if front and search.goal == Goal() else None
    table = Table(title=f"designs for {search.job.board.name}, scores on held-out rows")
    table.title_justify = "left"
    for column in (*_score_names(search, targets), "LUT", "FF", "DSP", "cycles", "latency"):
        table.add_column(Text(printable(column)), justify="right")
    table.add_column("")
    for one in search.built:
        mark = "the knee" if one.budget == marked else ""
        if not search.goal.met(one):
            mark = "outside the limits"
        table.add_row(*_cells(one), mark)
    on_all = _cells(final)
    table.add_section()
    table.add_row(*on_all, "built: trained on all rows but the test's, which score it")
    # A pipe has no width of its own; the table must not be folded in it.
    console = Console() if sys.stdout.isatty() else Console(width=130, highlight=False)
    console.print(table)


def _score_names(search: Search, targets: Sequence[str]) -> list[str]:
    if search.job.data.task == "classification":
        return ["accuracy"]
    if len(targets) <= MAX_TARGETS:
        return [f"RMSE of {target[:24]}" for target in targets]
    return ["RMSE of all, in [0, 1]"]


def _scores(one: Candidate) -> list[str]:
    if one.accuracy is not None:
        return [f"{one.accuracy:.2%}"]
    shown = one.rmse if len(one.rmse) <= MAX_TARGETS else (one.error,)
    return [f"{value:.5g}" for value in shown]


def _cells(one: Candidate) -> list[str]:
    figures = (f"{one.lut:,}", f"{one.ff:,}", f"{one.dsp:,}", f"{one.latency_cycles}")
    return [*_scores(one), *figures, f"{one.latency_ns:,g} ns"]


def in_short(one: Candidate) -> str:
    """A design in a few words."""
    score = "accuracy " if one.accuracy is not None else "RMSE "
    return f"{score}{', '.join(_scores(one))} with {one.lut:,} LUT and {one.latency_ns:,g} ns"


def no_design(search: Search) -> OptionError:
    """The line for a goal that no design meets, with the nearest that there is."""
    goal, built = search.goal, search.built
    if not built:
        fault = next((one.fault for one in search.tried.values()), None)
        return OptionError(f"can't build a design for {search.job.board.name}: {fault}")
    fitting = [one for one in built if goal.fits(one)]
    if fitting:
        nearest = min(fitting, key=lambda one: (one.error, one.lut))
        remedy = "ask for that, or allow more LUTs or latency" if _limited(goal) else "ask for that"
    else:
        nearest = min(built, key=lambda one: _excess(goal, one))
        remedy = f"ask for {_enough(goal, nearest)}"
    return OptionError(
        f"can't reach {goal.in_words()}: the nearest design has {in_short(nearest)} "
        f"(on held-out rows); {remedy}{', or more --budget' if search.late else ''}"
    )


def _limited(goal: Goal) -> bool:
    return goal.luts is not None or goal.latency_ns is not None


def _excess(goal: Goal, one: Candidate) -> float:
    """By how much a design is beyond the limits, as a factor."""
    luts = one.lut / goal.luts if goal.luts else 1.0
    latency = one.latency_ns / goal.latency_ns if goal.latency_ns else 1.0
    return max(luts, 1.0) * max(latency, 1.0)


def _enough(goal: Goal, one: Candidate) -> str:
    """The limits that a design would need."""
    flags = []
    if goal.luts is not None and one.lut > goal.luts:
        flags.append(f"--luts {one.lut}")
    if goal.latency_ns is not None and one.latency_ns > goal.latency_ns + 1e-9:
        flags.append(f"--latency {one.latency_ns:g}ns or a higher --clock")
    return " and ".join(flags)


def score_note(goal: Goal, final: Candidate) -> None:
    """Say where the test rows have it otherwise than those that the design was chosen by."""
    if goal.wants_score and not goal.reached(final):
        print(
            f"note: the test rows have {in_short(final)}, which is short of {goal.in_words()}; "
            "the design was chosen by held-out rows, as the test rows have no part in any choice",
            file=sys.stderr,
        )


def show_next_steps(args: argparse.Namespace, final: Candidate, model: str) -> None:
    """How to go on from here."""
    more, less = 2 * max(final.lut, 50), max(final.lut // 2, 25)
    print(f"model file {printable(model)}; next:")
    print(f"  more accurate    design ... --luts {more}")
    print(f"  smaller          design ... --luts {less}")
    print("  to an error      design ... --rmse E, or --accuracy A for classes")
    print(f"  other options    python -m scm_hw build {printable(model)} --help")
    print("  on the board     python -m scm_hw run, see docs/uart.md")
