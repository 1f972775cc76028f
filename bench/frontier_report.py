"""The front as rows, and from these tables for the terminal, Markdown, JSON and SVG."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console
from rich.table import Table

from bench import tables
from bench.frontier_learners import CEILINGS, OURS, TREES, Job
from bench.paper_journal import Journal

__all__ = ["rows_of", "show", "write"]

Row = dict[str, Any]
Found = Mapping[str, Any]
HEADS = ("table", "learner", "budget", "score", "LUTs", "settings", "training, s", "search, s")


def rows_of(jobs: Sequence[Job], splits: int, journal: Journal) -> list[Row]:
    """A row for each table, learner and budget, over the finished splits among the first ones.

    Where a machine needs more LUTs than the budget in any split, its row has no score.
    """
    rows = []
    for job in jobs:
        done = [found for number, found in journal.trials(job).items() if number < splits]
        if not done:
            continue
        if job.learner == TREES:
            rows += [_trees(job, budget, done) for budget in job.budgets]
        else:
            rows.append(_row(job, job.budgets[0] if job.budgets else None, done))
    order = {name: i for i, name in enumerate((TREES, OURS, *CEILINGS))}
    names = list(tables.NAMES)
    return sorted(
        rows, key=lambda r: (names.index(r["table"]), order[r["learner"]], r["budget"] or 0)
    )


def _trees(job: Job, budget: int, done: Sequence[Found]) -> Row:
    designs = [found["budgets"][str(budget)] for found in done]
    if None in designs:
        return _empty(job, budget, len(done), "no design is as small in every split")
    row = _row(job, budget, designs)
    row["search_seconds"] = _mean(found["search_seconds"] for found in done)
    row["settings"] = "; ".join(dict.fromkeys(_settings(design) for design in designs))
    ratios = [built["lut"] / max(1, built["estimate"]) for f in done for built in f["built"]]
    row["lut_to_estimate"] = [float(min(ratios)), float(np.median(ratios)), float(max(ratios))]
    return row


def _settings(design: Found) -> str:
    return (
        f"{design['trees']} trees of depth {design['depth']}, rate {design['rate']:g}, "
        f"{design['feature_bits']} and {design['leaf_bits']} bits"
    )


def _row(job: Job, budget: int | None, done: Sequence[Found]) -> Row:
    reasons = [found["not_built"] for found in done if "not_built" in found]
    if reasons:
        return _empty(job, budget, len(done), reasons[0])
    scores = [found["test"] for found in done]
    row = _empty(job, budget, len(done), "")
    row["score"] = {
        "mean": _mean(scores),
        "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
    }
    row["seconds"] = _mean(found["seconds"] for found in done)
    if "lut" in done[0]:
        row["lut"] = _mean(found["lut"] for found in done)
        row["most_lut"] = max(found["lut"] for found in done)
        row["dsp"] = max(found["dsp"] for found in done)
    return row


def _empty(job: Job, budget: int | None, splits: int, settings: str) -> Row:
    return {
        "table": job.table,
        "task": tables.load(job.table).task,
        "learner": job.learner,
        "budget": budget,
        "splits": splits,
        "score": None,
        "lut": None,
        "seconds": None,
        "search_seconds": None,
        "settings": settings,
    }


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _cells(row: Row) -> list[str]:
    over = row["lut"] is not None and row["budget"] and row["most_lut"] > row["budget"]
    return [
        row["learner"],
        f"{row['budget']:,}" if row["budget"] else "",
        _score(row["score"]),
        "" if row["lut"] is None else f"{row['lut']:,.0f}" + (" (over)" if over else ""),
        row["settings"],
        _seconds(row["seconds"]),
        _seconds(row["search_seconds"]),
    ]


def _score(spread: Mapping[str, float | None] | None) -> str:
    if spread is None:
        return ""
    return f"{spread['mean']:.4f}" + (f" ± {spread['std']:.4f}" if spread["std"] else "")


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def show(rows: Sequence[Row], console: Console) -> None:
    table = Table(title="score on test rows against LUTs")
    for head in HEADS:
        words = head in ("table", "learner", "settings")
        table.add_column(head, justify="left" if words else "right")
    for row in rows:
        table.add_row(row["table"], *_cells(row))
    console.print(table)


def write(rows: Sequence[Row], path: Path) -> None:
    """JSON, Markdown and SVG beside each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps({"rows": rows}, indent=2) + "\n")
    path.with_suffix(".md").write_text(_markdown(rows, path.with_suffix(".svg").name))
    draw(rows, path.with_suffix(".svg"))


def _markdown(rows: Sequence[Row], figure: str) -> str:
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    sections = [
        {
            "name": name,
            "measure": _measure(group),
            "splits": _splits(group),
            "rows": [_cells(row) for row in group],
        }
        for name, group in _by_table(rows)
    ]
    return templates.get_template("frontier.md.jinja").render(tables=sections, figure=figure)


def _by_table(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    return [(name, list(group)) for name, group in groupby(rows, key=itemgetter("table"))]


def _splits(group: Sequence[Row]) -> str:
    """One number, or that of each learner where a run was cut short."""
    counts = Counter({row["learner"]: row["splits"] for row in group})
    if len(set(counts.values())) == 1:
        return str(group[0]["splits"])
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _measure(group: Sequence[Row]) -> str:
    return "RMSE / std" if group[0]["task"] == "regression" else "accuracy"


def draw(rows: Sequence[Row], path: Path) -> None:
    """One panel per table: points at their LUTs, ceilings as lines across."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # Names in the file are random without a salt, and text as outlines is large.
    matplotlib.rcParams |= {"svg.hashsalt": "frontier", "svg.fonttype": "none"}
    groups = _by_table(rows)
    columns = min(3, max(1, len(groups)))
    lines = -(-len(groups) // columns) or 1
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(4.2 * columns, 3.2 * lines), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(groups) :]:
        axis.set_axis_off()
    for axis, (name, group) in zip(axes.flat, groups, strict=False):
        _panel(axis, name, group)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


STYLES = {TREES: ("tab:green", "s-"), OURS: ("tab:blue", "o-")}
#: LUTs with a tick of their own.
MARKS = (100, 300, 1_000, 3_000, 10_000)
CEILING_STYLES = dict(zip(CEILINGS, (("tab:gray", "--"), ("tab:red", ":")), strict=True))


def _panel(axis: Any, name: str, group: Sequence[Row]) -> None:
    for learner, (colour, style) in STYLES.items():
        points = [
            (r["lut"], r["score"]["mean"]) for r in group if r["learner"] == learner and r["lut"]
        ]
        if points:
            axis.plot(*zip(*sorted(points), strict=True), style, color=colour, label=learner)
    for row in group:
        if row["learner"] in CEILINGS and row["score"]:
            colour, style = CEILING_STYLES[row["learner"]]
            axis.axhline(row["score"]["mean"], color=colour, ls=style, label=row["learner"])
    axis.set(title=name, xscale="log", xlabel="LUTs", ylabel=_measure(group))
    axis.minorticks_off()
    axis.set_xticks(MARKS, [f"{mark:,}" for mark in MARKS])
    axis.legend(fontsize=7)
    axis.grid(alpha=0.3)
