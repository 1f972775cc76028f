"""Finished trials, one line of JSON each, by the settings that decide them.

A line is on disk before the next trial is begun. A line cut short by a crash is dropped, and its
trial is done again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.paper_trial import Job

__all__ = ["Journal", "JournalError"]

Found = dict[str, Any]


class JournalError(ValueError):
    """The file is not a journal of this evaluation."""


class Journal:
    """What has been found so far, in memory and in the file."""

    def __init__(self, path: Path):
        self.path = path
        self._found: dict[str, dict[int, Found]] = {}
        if path.exists():
            self._read()

    def trials(self, job: Job) -> dict[int, Found]:
        """What was found in the finished trials of a job, by number."""
        return dict(sorted(self._found.get(job.key, {}).items()))

    def add(self, job: Job, trial: int, found: Found) -> None:
        assert trial not in self.trials(job), f"trial {trial} must be done once: {job.key}"
        entry = {"job": json.loads(job.key), "trial": trial, "found": found}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self._keep(entry)

    def _keep(self, entry: dict[str, Any]) -> None:
        key = json.dumps(entry["job"], sort_keys=True)
        self._found.setdefault(key, {})[int(entry["trial"])] = entry["found"]

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._keep(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise JournalError(
                    f"journal {self.path} must hold a finished trial on every line, "
                    f"not {line[:40]!r} on line {number}; move it away, or take another --journal"
                ) from None
        if len(whole) != len(content):
            self.path.write_bytes(whole)
