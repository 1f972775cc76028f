"""Lines of earlier results, beside those of a run that made only some of them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.paper_cases import Section
from bench.paper_tables import Row

__all__ = ["earlier", "merged"]


def earlier(path: Path) -> dict[str, list[Row]]:
    """The rows of an earlier file of results, by table; none without a file."""
    if not path.exists():
        return {}
    tables: dict[str, list[Row]] = json.loads(path.read_text())["tables"]
    return tables


def merged(section: Section, rows: Sequence[Row], kept: Sequence[Row]) -> list[Row]:
    """For every line of a table the row of more trials; of as many, the one just made.

    A line whose parameters are others now has no earlier row.
    """
    found = {_identity(row): row for row in kept}
    for row in rows:
        name = _identity(row)
        if name not in found or found[name]["trials"] <= row["trials"]:
            found[name] = row
    names = [
        _name(line.dataset, line.label, line.job.protocol, dict(line.job.parameters))
        for line in section.lines
    ]
    return [found[name] for name in names if name in found]


def _identity(row: Row) -> str:
    return _name(row["dataset"], row["learner"], row["protocol"], row["parameters"])


def _name(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True)
