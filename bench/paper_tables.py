"""From the journal to tables: for the terminal, as Markdown and as JSON, all from the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from bench.paper_cases import NAMES, Line, Section
from bench.paper_journal import Journal
from bench.paper_settings import ALGORITHMS

__all__ = ["better", "markdown", "rankings", "rich_table", "rows_of", "worse"]

Row = dict[str, Any]

#: Column heads, and the key of the row that says whether a table has the column at all.
COLUMNS = {
    "data set": "dataset",
    "learner": "learner",
    "protocol": "protocol",
    "trials": "trials",
    "paper, test": "paper",
    "ours, test": "test",
    "ours, training": "train",
    "nodes": "nodes",
    "LUTs": "lut",
    "cycles": "cycles",
    "paper, s": "paper_seconds",
    "ours, s": "seconds",
}
TEXT = ("data set", "learner", "protocol")


def rows_of(section: Section, journal: Journal, most: Mapping[str, int] | None = None) -> list[Row]:
    """One row for every line of a table with a finished trial.

    Lines on the same data set are compared on the same splits: on the trials that all of them have,
    by data set at `most` so many of the first. A line with a single trial stands by itself, so that
    others need not do with one.
    """
    done = [(line, found) for line in section.lines if (found := journal.trials(line.job))]
    shared: dict[str, set[int]] = {}
    for line, found in done:
        if len(found) > 1:
            shared[line.dataset] = shared.get(line.dataset, set(found)) & set(found)
    rows = []
    for line, found in done:
        common = shared.get(line.dataset) if len(found) > 1 else set(found)
        if most is not None and line.dataset in most:
            common = {trial for trial in common or () if trial < most[line.dataset]}
        if common:
            rows.append(_row(line, [found[trial] for trial in sorted(common)]))
    return rows


def _row(line: Line, found: Sequence[Mapping[str, Any]]) -> Row:
    """Means and standard deviations; of classes the rates, of others the RMSE."""
    score = "rate" if "test_rate" in found[0] else "rmse"
    published = line.published
    row: Row = {
        "dataset": line.dataset,
        "paper_dataset": NAMES[line.dataset],
        "learner": line.label,
        "protocol": line.job.protocol,
        "trials": len(found),
        "score": score,
        "test": _spread(f["test_" + score] for f in found),
        "train": _spread(f["train_" + score] for f in found),
        "seconds": _spread(f["seconds"] for f in found),
        "nodes": _spread(sum(f["nodes"]) for f in found) if "nodes" in found[0] else None,
        "lut": line.lut,
        "lut_published": line.lut is not None,
        "cycles": None,
        "paper": None,
        "paper_seconds": published.seconds if published else None,
        "parameters": dict(line.job.parameters),
    }
    if published is not None:
        mean, std = (getattr(published, name) for name in (f"test_{score}", f"test_{score}_std"))
        row["paper"] = {"mean": mean, "std": std}
    built = next((f for f in found if "lut" in f), None)
    if built is not None:
        row |= {key: built[key] for key in ("lut", "dsp", "cycles", "folded")}
    return row


def _spread(values: Iterable[float]) -> dict[str, float | None]:
    """Mean and standard deviation of a sample, which one value has none of."""
    listed = list(values)
    std = float(np.std(listed, ddof=1)) if len(listed) > 1 else None
    return {"mean": float(np.mean(listed)), "std": std}


def _cells(row: Row) -> dict[str, str]:
    paper = row["paper_dataset"]
    texts = {
        "data set": f"{paper} {row['dataset']}",
        "learner": row["learner"],
        "protocol": row["protocol"],
        "trials": str(row["trials"]),
        "paper, test": _score(row["paper"]),
        "ours, test": _score(row["test"]),
        "ours, training": _score(row["train"]),
        "nodes": _whole(row["nodes"]),
        "LUTs": _luts(row),
        "cycles": "" if row["cycles"] is None else str(row["cycles"]),
        "paper, s": "" if row["paper_seconds"] is None else f"{row['paper_seconds']:.1f}",
        "ours, s": f"{row['seconds']['mean']:.1f}",
    }
    assert texts.keys() == COLUMNS.keys()
    return texts


def _score(spread: Mapping[str, float | None] | None) -> str:
    if spread is None:
        return ""
    std = spread["std"]
    return f"{spread['mean']:.5f}" + ("" if std is None else f" ± {std:.5f}")


def _whole(spread: Mapping[str, float | None] | None) -> str:
    return "" if spread is None else f"{spread['mean']:.0f}"


def _luts(row: Row) -> str:
    if row["lut"] is None:
        return ""
    marks = ("about " if row["lut_published"] else "", ", folded" if row.get("folded") else "")
    return f"{marks[0]}{row['lut']:,}{marks[1]}"


def _table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Heads and cells, without columns that no row has anything in."""
    heads = [head for head, key in COLUMNS.items() if any(row[key] is not None for row in rows)]
    return heads, [[_cells(row)[head] for head in heads] for row in rows]


def rich_table(section: Section, rows: Sequence[Row]) -> Table:
    heads, cells = _table(rows)
    table = Table(title=section.title)
    for head in heads:
        table.add_column(head, justify="left" if head in TEXT else "right")
    for line in cells:
        table.add_row(*line)
    return table


def markdown(section: Section, rows: Sequence[Row]) -> str:
    heads, cells = _table(rows)
    rule = ["---" if head in TEXT else "---:" for head in heads]
    lines = [_bar(line) for line in (heads, rule, *cells)]
    return "\n".join([f"## {section.title}", "", *lines, ""])


def _bar(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def worse(rows: Sequence[Row]) -> list[Row]:
    """Rows on the paper's own data, under its protocol, whose mean is worse than the paper's."""
    comparable = (row for row in rows if row["paper"] and row["protocol"] != "clean")
    return [row for row in comparable if better(row["paper"], row["test"], row["score"])]


def better(a: Mapping[str, Any], b: Mapping[str, Any], score: str) -> bool:
    """Whether a score is better than another: a higher rate, or a lower RMSE."""
    return a["mean"] > b["mean"] if score == "rate" else a["mean"] < b["mean"]


def rankings(rows: Sequence[Row], scm: str = "SCM") -> list[dict[str, Any]]:
    """For every data set whose six learners are all there: best first, the paper's and ours.

    The line called `scm` is SCM's.
    """
    learners = {name: name for name in ALGORITHMS if name != "SCM"} | {scm: "SCM"}
    named: dict[str, list[Row]] = {}
    for row in rows:
        if row["learner"] in learners and row["protocol"] != "clean":
            plain = row | {"learner": learners[row["learner"]]}
            named.setdefault(row["dataset"], []).append(plain)
    return [
        {
            "dataset": name,
            "paper": [r["learner"] for r in _ranked(found, "paper")],
            "ours": [r["learner"] for r in _ranked(found, "test")],
        }
        for name, found in named.items()
        if len(found) == len(ALGORITHMS)
    ]


def _ranked(rows: Sequence[Row], key: str) -> list[Row]:
    sign = -1 if rows[0]["score"] == "rate" else 1
    return sorted(rows, key=lambda row: sign * row[key]["mean"])
