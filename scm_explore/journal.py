"""The journal of a search: one line of JSON for each thing done, the only thing that must last.

The first line says what the search is of. Every other tells of a finished point, or of a synthesis.
A line is written at once and forced to disk, after the model that it speaks of; a line cut short by
a crash is dropped, and its point is done again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scm_explore.evaluate import Outcome
from scm_explore.front import Objectives, dominates, pareto_front
from scm_explore.space import Point
from scm_hw.errors import OptionError
from scm_hw.target.resources import LUT_ERROR

FORMAT = "scm-explore"
FILE, MODELS = "journal.jsonl", "models"


@dataclass
class Record:
    """A finished point: what was found by the cost model, and by synthesis if it has been run."""

    point: Point
    found: dict[str, Any]
    synthesised: dict[str, Any] | None = None

    @property
    def buildable(self) -> bool:
        return "error" not in self.found and "error" not in (self.synthesised or {})

    @property
    def objectives(self) -> Objectives:
        return (self.found["error_held"], self.hardware["lut"], self.hardware["latency_ns"])

    @property
    def hardware(self) -> dict[str, Any]:
        """Resources and timing, synthesised where they have been; that may also change the fold."""
        return self.found | (self.synthesised or {})


@dataclass
class Journal:
    """The finished points by number, in memory and in the folder."""

    folder: Path
    points: dict[int, Record] = field(default_factory=dict)
    _file: int = -1

    def add_point(self, number: int, point: Point, outcome: Outcome) -> None:
        assert number not in self.points, f"point {number} must be done once"
        if outcome.model is not None:
            _write_atomically(self.model_path(number), outcome.model)
        self._append({"point": number, "design": point.to_json(), "found": outcome.facts})
        self.points[number] = Record(point, outcome.facts)

    def add_synthesis(self, number: int, outcome: Outcome) -> None:
        self._append({"synthesis": number, "found": outcome.facts})
        self.points[number].synthesised = outcome.facts

    def model_path(self, number: int) -> Path:
        return self.folder / MODELS / f"p{number:04d}.npz"

    def front(self, below: int | None = None, *, estimated: bool = False) -> list[int]:
        """Numbers of the points on the front, of all or of those `below` a number.

        With `estimated`, as the cost model alone has it: syntheses have no part in what is tried.
        """
        return pareto_front(
            {
                number: _estimated(record) if estimated else record.objectives
                for number, record in self.points.items()
                if (below is None or number < below)
                and ("error" not in record.found if estimated else record.buildable)
            }
        )

    def contenders(self) -> list[int]:
        """Numbers of the points that synthesis may put on the front, the best error first.

        Estimates are off by up to `LUT_ERROR` either way: an estimated point is one where it would
        be on the front with as few LUTs as it may have, and all others as their estimates say.
        """
        built = {n: record for n, record in self.points.items() if record.buildable}
        front = {n: built[n].objectives for n in self.front()}
        return [
            n
            for n, record in sorted(built.items(), key=lambda item: (item[1].objectives, item[0]))
            if n in front or not any(dominates(one, _least(record)) for one in front.values())
        ]

    def kept(self) -> int:
        """Finished points in the file; an interrupt may come between it and `points`."""
        lines = (self.folder / FILE).read_bytes().splitlines(keepends=True)
        return sum(line.startswith(b'{"point"') and line.endswith(b"\n") for line in lines)

    def close(self) -> None:
        os.close(self._file)

    def _append(self, line: dict[str, Any]) -> None:
        data = (json.dumps(line) + "\n").encode()
        try:
            # One call on a file opened for appending: a line is whole, or cut off at its end.
            written = os.write(self._file, data)
            os.fsync(self._file)
        except OSError as error:
            raise OptionError(
                f"journal {self.folder / FILE} can't be written ({error.strerror}); free some "
                "space, then continue with --resume"
            ) from None
        if written != len(data):
            raise OptionError(
                f"journal {self.folder / FILE} can't be written (no space left); free some space, "
                "then continue with --resume"
            )


def _least(record: Record) -> Objectives:
    """The objectives of a point if synthesis were as kind to it as it has been to any."""
    error, lut, latency = record.objectives
    return (error, lut if record.synthesised else lut / (1 + LUT_ERROR), latency)


def _estimated(record: Record) -> Objectives:
    found = record.found
    return (found["error_held"], found["lut"], found["latency_ns"])


def open_journal(folder: Path, about: dict[str, Any], *, resume: bool) -> Journal:
    """A new journal, or the one that is there; `about` is what must be equal to go on."""
    path = folder / FILE
    _check_folder(folder, path, resume)
    try:
        (folder / MODELS).mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise OptionError(
            f"output folder {folder} can't be written ({error.strerror}); choose another with --out"
        ) from None
    journal = Journal(folder, _file=file)
    try:
        _lock(file, folder)
        header = {"format": FORMAT, "version": 1, **about}
        lines = _read(file, path)
        if lines:
            _check_header(lines[0], header, folder)
            _replay(journal, lines[1:])
        else:
            journal._append(header)
    except BaseException:
        journal.close()
        raise
    return journal


def _check_folder(folder: Path, path: Path, resume: bool) -> None:
    if resume and not path.exists():
        raise OptionError(
            f"can't resume in {folder}: it has no {FILE}; leave --resume out to start a search"
        )
    if not resume and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(
            f"output {folder} must be new or empty; continue with --resume, or choose another "
            "with --out"
        )


def _lock(file: int, folder: Path) -> None:
    """One search at a time; the lock goes with the process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise OptionError(
            f"can't use {folder}: another search is running in it; wait for it to end, or choose "
            "another folder with --out"
        ) from None


def _read(file: int, path: Path) -> list[dict[str, Any]]:
    """All whole lines; what a crash left of another is cut off."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.ftruncate(file, len(whole))
    lines = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            lines.append(dict(json.loads(line)))
        except (ValueError, TypeError):
            raise OptionError(
                f"line {number} of {path} must be JSON, not {line[:40]!r}; correct it, or start a "
                "new search"
            ) from None
    return lines


#: Values of a search's header that a user has given, with the flag that gave them.
FLAGS = {
    "seed": "--seed",
    "board": "--board",
    "max_nodes": "--max-nodes",
    "mechanism": "--mechanism",
    "scm-hw": "scm-hw",
}
FROM_TABLE = {"rows": "numbers of rows", "rows_sha256": "rows", "data": "name or targets"}


def _check_header(found: dict[str, Any], wanted: dict[str, Any], folder: Path) -> None:
    # As a file has it, which knows no tuples.
    wanted = json.loads(json.dumps(wanted))
    # What a flag says goes before what follows from it: another seed makes other rows.
    for key in sorted(wanted, key=lambda key: key not in FLAGS):
        if found.get(key) == wanted[key]:
            continue
        if key in FROM_TABLE:
            raise OptionError(
                f"can't resume the search in {folder}: the {FROM_TABLE[key]} of the table or its "
                "split are not those of its start; give the same table and the same --target, "
                "--features, --drop and --test-fraction, or another folder with --out"
            )
        raise OptionError(
            f"can't resume the search in {folder} with {FLAGS.get(key, key)} "
            f"{_brief(wanted[key])}: it began with {_brief(found.get(key))}; give that, or another "
            "folder with --out"
        )


def _brief(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _replay(journal: Journal, lines: list[dict[str, Any]]) -> None:
    for number, line in enumerate(lines, start=2):
        try:
            if "point" in line:
                record = Record(Point.from_json(line["design"]), line["found"])
                journal.points[line["point"]] = record
            else:
                journal.points[line["synthesis"]].synthesised = line["found"]
        except (KeyError, TypeError) as error:
            raise OptionError(
                f"line {number} of {journal.folder / FILE} must describe a point, but lacks "
                f"{error}; start a new search with another --out"
            ) from None
    for number, record in journal.points.items():
        if "error" not in record.found and not journal.model_path(number).exists():
            raise OptionError(
                f"can't find the model {journal.model_path(number)} of the journal; put it "
                "back, or start a new search with another --out"
            )


def _write_atomically(path: Path, content: bytes) -> None:
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except OSError as error:
        with contextlib.suppress(OSError, UnboundLocalError):
            os.unlink(file.name)
        raise OptionError(
            f"model {path} can't be written ({error.strerror}); free some space, then "
            "continue with --resume"
        ) from None
