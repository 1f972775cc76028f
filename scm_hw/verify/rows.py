"""Rows for the checks: the model's evaluation rows or the user's own, corners and random codes."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.columns import outside_range
from scm_hw.common.packing import pack
from scm_hw.design import Design
from scm_hw.errors import OptionError, RangeWarning
from scm_hw.load import Activity, Evaluation, Model, evaluate, integers
from scm_hw.load.records import FIRST, Records
from scm_hw.passes.sample import RANDOM_ROWS, corner_rows, random_rows
from scm_hw.sim.vectors import Vectors
from scm_model.errors import DataError
from scm_model.interval import for_bounds
from scm_model.memory import Tap, check_first
from scm_model.raw_table import RawTable
from scm_model.reference import raw_rows, rows_of

# Random codes of which the closest calls of a classifier are taken.
CLOSE_CALL_CANDIDATES = 10_000


@dataclass(frozen=True, eq=False)
class CheckRows:
    """Integer inputs and the outputs that every simulator must give for them.

    `own` are the rows that are samples of the evaluation data. `evaluation` are those that are
    scored, rows of the machine's features: without memory all of them, in the same order; with
    memory those whose history is full. What hardware gives for them is `hardware`.
    """

    inputs: NDArray[np.int64]
    outputs: NDArray[np.int64]
    evaluation: Evaluation | None
    activity: Activity | None
    own: slice
    scored: NDArray[np.bool_] | None = None

    @property
    def own_count(self) -> int:
        """How many rows are samples of the evaluation data."""
        return len(self.inputs[self.own])

    @property
    def hardware(self) -> NDArray[np.int64]:
        """The outputs of the scored rows, or the class, without flags."""
        found = self.outputs[self.own]
        return found if self.scored is None else found[self.scored, :-1]

    def seen(self, design: Design) -> NDArray[np.int64]:
        """What enters the Program in each row: the inputs, or the taps of records."""
        if design.records is None:
            return self.inputs
        return design.records.tap_rows(design.meaning, self.inputs)

    def vectors(self, design: Design, chosen: Sequence[int] | None = None) -> Vectors:
        """The chosen rows, or all, as packed words."""
        numbers = slice(None) if chosen is None else list(chosen)
        in_widths = [reach.width for reach in design.input_ranges]
        out_widths = [reach.width for reach in design.output_ranges]
        return Vectors(
            inputs=tuple(pack(self.inputs[numbers], in_widths)),
            outputs=tuple(pack(self.outputs[numbers], out_widths)),
            in_width=sum(in_widths),
            out_width=sum(out_widths),
            records=design.records is not None,
        )


def check_rows(design: Design, evaluation: Evaluation | None) -> CheckRows:
    """Evaluation rows, then corners, then random codes; expected outputs by the interpreter."""
    if design.records is not None:
        return _record_rows(design, design.records, evaluation)
    parts = []
    activity = None
    if evaluation is not None:
        activity = seen_activity(design.model, evaluation)
        parts.append(hardware_inputs(design, evaluation.inputs, evaluation.mechanism))
    parts += [
        corner_rows(design.input_ranges),
        random_rows(design.meaning, CLOSE_CALL_CANDIDATES),
    ]
    inputs = np.concatenate(parts)
    count = 0 if evaluation is None else len(evaluation)
    return CheckRows(inputs, design.interpret(inputs), evaluation, activity, slice(count))


def _record_rows(design: Design, records: Records, evaluation: Evaluation | None) -> CheckRows:
    """Corners and random codes, in records that begin at random; then the evaluation's records."""
    rng = np.random.default_rng(0)
    reach = design.input_ranges
    corners = corner_rows(reach)
    noise = np.stack(
        [rng.integers(r.low, r.high, RANDOM_ROWS, endpoint=True) for r in reach], axis=1
    )
    # Long enough for most histories to fill.
    noise[:, -1] = rng.random(RANDOM_ROWS) < 1 / (3 * records.depth + 3)
    made = np.concatenate([corners, noise])
    made[0, -1] = 1
    if evaluation is None:
        return CheckRows(made, design.interpret(made), None, None, slice(0, 0))
    own = record_inputs(design, evaluation.inputs, evaluation.first)
    inputs = np.concatenate([made, own])
    scored, seen = scored_rows(design.model, evaluation)
    activity = seen_activity(design.model, seen)
    return CheckRows(
        inputs, design.interpret(inputs), seen, activity, slice(len(made), len(inputs)), scored
    )


def seen_activity(model: Model, rows: Evaluation) -> Activity:
    """What the PC model does on rows of its features; outputs that come back are held in range."""
    if model.memory is None:
        return evaluate(model, rows.inputs, rows.mechanism)
    activity = evaluate(model.static, rows.inputs)
    if not model.memory.feedback:
        return activity
    return replace(activity, output=np.clip(activity.output, 0.0, 1.0))


def scored_rows(model: Model, evaluation: Evaluation) -> tuple[NDArray[np.bool_], Evaluation]:
    """Which rows have a full history, and those as rows of taps, with outputs that run free."""
    memory = model.memory
    assert memory is not None
    first = check_first(evaluation.first, len(evaluation))
    outputs = None
    if memory.feedback:
        outputs = model.predict(evaluation.inputs, first=first, simulate=True)
    full = memory.complete(first)
    taps = memory.tap_rows(evaluation.inputs, first, outputs)[full]
    return full, Evaluation(taps, evaluation.targets[full])


def record_inputs(
    design: Design, raw: NDArray[np.float64], first: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Raw samples of signals as the integers that enter the core, with the bit of a record."""
    memory = design.model.memory
    assert memory is not None
    begins = check_first(first, len(raw))
    now = replace(memory, taps=tuple(Tap(tap.source, 0) for tap in memory.taps))
    code = integers(design.hardware, design.fixed, now.tap_rows(raw, begins))
    places = {tap.source: place for place, tap in enumerate(memory.taps)}
    columns = [code[:, places[source]] for source in range(len(memory.signals))]
    return np.stack([*columns, begins.astype(np.int64)], axis=1)


def hardware_inputs(
    design: Design, raw: NDArray, mechanism: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Raw rows as the integers that enter the core; `mechanism` is P0 where it is external."""
    return integers(design.hardware, design.fixed, raw, mechanism)


def read_csv(model: Model, path: Path) -> Evaluation:
    """Rows from a CSV file with a header: features, targets, and P0 where it is external.

    Columns are found by name. RangeWarning where values lie outside the training range.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except UnicodeDecodeError:
        raise OptionError(
            f"can't read data file {path}: it is not UTF-8 text; save it as CSV in UTF-8"
        ) from None
    except (OSError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"can't read data file {path}: {reason}; check the file") from None
    if len(rows) < 2:
        raise OptionError(
            f"data file {path} must have a header and at least one row; check that it is whole"
        )
    if len(rows[0]) == 1 and ";" in rows[0][0]:
        raise OptionError(
            f"data file {path} must have commas between its columns, not semicolons; save it as "
            "CSV with commas, and with points in its numbers"
        )
    table = _Columns(path, rows)
    inputs = table.inputs_of(model)
    if model.is_classifier:
        targets: NDArray = table.classes(model)
    else:
        targets = table.numbers(model.targets[: model.points])
        if model.level is not None:
            targets = for_bounds(targets)
    external = model.mechanism.kind == "external"
    mechanism = table.numbers([f"P0_{t}" for t in model.targets]) if external else None
    outside = _outside(model, inputs)
    if outside is not None:
        warnings.warn(f"data file {path}: {outside}", RangeWarning, stacklevel=2)
    return Evaluation(inputs, targets, mechanism, table.begins(model))


def _outside(model: Model, inputs: NDArray) -> str | None:
    if model.memory is not None:
        return outside_range(model.signals, inputs, *model.signal_ranges)
    return outside_range(model.features, rows_of(model, inputs), model.input_min, model.input_max)


def _number_remedy(text: str) -> str:
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text):
        return "write it with a decimal point"
    return "correct the value or remove the row"


class _Columns:
    """A table of text by column name."""

    def __init__(self, path: Path, rows: list[list[str]]) -> None:
        self.path = path
        self.header, *self.rows = rows

    def texts(self, name: str) -> list[str]:
        if name not in self.header:
            raise OptionError(
                f"data file {self.path} must have a column {name!r}; it has "
                f"{', '.join(self.header[:20])}"
            )
        if self.header.count(name) > 1:
            raise OptionError(f"data file {self.path} must have one column {name!r}, not several")
        column = self.header.index(name)
        for line, row in enumerate(self.rows, start=2):
            if len(row) != len(self.header):
                raise OptionError(
                    f"line {line} of {self.path} must have {len(self.header)} values, "
                    f"not {len(row)}"
                )
        return [row[column] for row in self.rows]

    def inputs_of(self, model: Model) -> NDArray:
        """The raw rows of a model: numbers, or what its columns are."""
        if model.columns is None:
            return self.numbers(model.signals)
        texts = {name: np.array(self.texts(name), dtype=object) for name in model.signals}
        try:
            return raw_rows(model, RawTable(texts))
        except DataError as error:
            raise OptionError(f"data file {self.path}: {error}") from None

    def numbers(self, names: Iterable[str]) -> NDArray[np.float64]:
        return np.stack([self._column(name) for name in names], axis=1)

    def _column(self, name: str) -> NDArray[np.float64]:
        values = []
        for line, text in enumerate(self.texts(name), start=2):
            try:
                values.append(float(text))
            except ValueError:
                values.append(float("nan"))
            if not np.isfinite(values[-1]):
                raise OptionError(
                    f"line {line} of {self.path}, column {name!r} must be a finite number, "
                    f"not {text!r}; {_number_remedy(text)}"
                )
        return np.array(values)

    def begins(self, model: Model) -> NDArray[np.bool_] | None:
        """Where records begin: a column of 1 and 0, if the file has one."""
        if model.memory is None or FIRST not in self.header or FIRST in model.signals:
            return None
        return self._column(FIRST) != 0

    def classes(self, model: Model) -> NDArray[np.int64]:
        """The class column: the only one that is no feature, or the one called `class`."""
        others = [name for name in self.header if name not in model.signals]
        name = "class" if "class" in others or len(others) != 1 else others[0]
        assert model.classes is not None
        known = {str(label): i for i, label in enumerate(model.classes)}
        found = []
        for line, text in enumerate(self.texts(name), start=2):
            if text not in known:
                raise OptionError(
                    f"line {line} of {self.path}, column {name!r} must be one of the model's "
                    f"classes, not {text!r}"
                )
            found.append(known[text])
        return np.array(found, dtype=np.int64)
