"""Rows for the checks: the model's evaluation rows or the user's own, corners and random codes."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.columns import outside_range
from scm_hw.common.packing import pack
from scm_hw.design import Design
from scm_hw.errors import OptionError, RangeWarning
from scm_hw.ir.interp import interpret
from scm_hw.load import Activity, Evaluation, Model, evaluate, integers
from scm_hw.passes.sample import corner_rows, random_rows
from scm_hw.sim.vectors import Vectors
from scm_model.errors import DataError
from scm_model.raw_table import RawTable
from scm_model.reference import raw_rows, rows_of

# Random codes of which the closest calls of a classifier are taken.
CLOSE_CALL_CANDIDATES = 10_000


@dataclass(frozen=True, eq=False)
class CheckRows:
    """Integer inputs and the outputs that every simulator must give for them.

    The first `len(evaluation)` rows are the evaluation rows, where there are any.
    """

    inputs: NDArray[np.int64]
    outputs: NDArray[np.int64]
    evaluation: Evaluation | None
    activity: Activity | None

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
        )


def check_rows(design: Design, evaluation: Evaluation | None) -> CheckRows:
    """Evaluation rows, then corners, then random codes; expected outputs by the interpreter."""
    parts = []
    activity = None
    if evaluation is not None:
        activity = evaluate(design.model, evaluation.inputs, evaluation.mechanism)
        parts.append(hardware_inputs(design, evaluation.inputs, evaluation.mechanism))
    parts += [
        corner_rows(design.input_ranges),
        random_rows(design.meaning, CLOSE_CALL_CANDIDATES),
    ]
    inputs = np.concatenate(parts)
    return CheckRows(inputs, interpret(design.meaning, inputs), evaluation, activity)


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
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptionError(f"data file {path} can't be read: {error}") from None
    if len(rows) < 2:
        raise OptionError(f"data file {path} must have a header and at least one row")
    table = _Columns(path, rows)
    inputs = table.inputs_of(model)
    if model.is_classifier:
        targets: NDArray = table.classes(model)
    else:
        targets = table.numbers(model.targets)
    external = model.mechanism.kind == "external"
    mechanism = table.numbers([f"P0_{t}" for t in model.targets]) if external else None
    outside = outside_range(
        model.features, rows_of(model, inputs), model.input_min, model.input_max
    )
    if outside is not None:
        warnings.warn(f"data file {path}: {outside}", RangeWarning, stacklevel=2)
    return Evaluation(inputs, targets, mechanism)


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
            return self.numbers(model.features)
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
                    f"not {text!r}"
                )
        return np.array(values)

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
