"""Lines of earlier results, beside those of a run that made only some of them again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.paper_cases import Section
from bench.paper_journal import Journal
from bench.paper_tables import Row, rows_of

__all__ = ["beside", "earlier"]


def earlier(path: Path) -> dict[str, list[Row]]:
    """The rows of an earlier file of results, by table; none without a file."""
    if not path.exists():
        return {}
    tables: dict[str, list[Row]] = json.loads(path.read_text())["tables"]
    return tables


def beside(section: Section, journal: Journal, kept: Sequence[Row]) -> list[Row]:
    """For every line of a table the row of more trials; of as many, the one just made.

    A line whose parameters are others now has no earlier row. Lines on the same data set are still
    compared on the same splits.
    """
    jobs = {
        _name(line.dataset, line.label, line.job.protocol, dict(line.job.parameters)): line.job
        for line in section.lines
    }
    found = {name: row for row in kept if (name := _identity(row)) in jobs}
    staying = [row for n, row in found.items() if row["trials"] > len(journal.trials(jobs[n]))]
    for row in rows_of(section, journal, _fewest(staying)):
        name = _identity(row)
        if name not in found or found[name]["trials"] <= row["trials"]:
            found[name] = row
    return [found[name] for name in jobs if name in found]


def _fewest(rows: Iterable[Row]) -> dict[str, int]:
    """Trials that all rows of a data set have; a row of a single one stands by itself."""
    fewest: dict[str, int] = {}
    for row in rows:
        if row["trials"] > 1:
            fewest[row["dataset"]] = min(row["trials"], fewest.get(row["dataset"], row["trials"]))
    return fewest


def _identity(row: Row) -> str:
    return _name(row["dataset"], row["learner"], row["protocol"], row["parameters"])


def _name(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True)
