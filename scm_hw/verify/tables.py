"""Tables of rows to check a design on: read as they are, as training reads them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.columns import outside_range
from scm_hw.errors import RangeWarning, TableWarning
from scm_hw.load import Evaluation, Model
from scm_hw.load.records import FIRST
from scm_model.errors import DataError
from scm_model.interval import for_bounds
from scm_model.raw_columns import label_of
from scm_model.raw_table import RawTable
from scm_model.reference import raw_rows, rows_of
from scm_model.suggestions import did_you_mean
from scm_model.tables.dialect import TableOptions
from scm_model.tables.features import as_rows, categories_of, check_known, check_numbers
from scm_model.tables.readers import Source, open_source

__all__ = ["RawRows", "read_raw_rows", "read_table"]


@dataclass(frozen=True, eq=False)
class RawRows:
    """Raw inputs, with P0 where it is external, and where records begin, if the table says so."""

    inputs: NDArray[Any]
    mechanism: NDArray[np.float64] | None
    first: NDArray[np.bool_] | None


def read_table(model: Model, path: Path, options: TableOptions | None = None) -> Evaluation:
    """Rows from a table with names: the model's signals, targets, and P0 where it is external.

    Columns are found by name. TableWarning for what was guessed of the file, RangeWarning where
    values lie outside the training range.
    """
    table, inputs = _opened(model, path, options, targets=True)
    return Evaluation(inputs, table.targets(), table.mechanism(), table.begins())


def read_raw_rows(model: Model, path: Path, options: TableOptions | None = None) -> RawRows:
    """The same without targets."""
    table, inputs = _opened(model, path, options, targets=False)
    return RawRows(inputs, table.mechanism(), table.begins())


def _opened(
    model: Model, path: Path, options: TableOptions | None, *, targets: bool
) -> tuple[_Table, NDArray[Any]]:
    with open_source(path, options) as source:
        table = _Table(model, source, targets)
    for note in source.notes:
        warnings.warn(note, TableWarning, stacklevel=3)
    inputs = table.inputs()
    if not len(inputs):
        raise DataError(f"rows of {path.name} must be at least one, not none; check the file")
    outside = _outside(model, inputs)
    if outside is not None:
        warnings.warn(f"data file {path}: {outside}", RangeWarning, stacklevel=3)
    return table, inputs


def _outside(model: Model, inputs: NDArray[Any]) -> str | None:
    if model.memory is not None:
        return outside_range(model.signals, inputs, *model.signal_ranges)
    return outside_range(model.features, rows_of(model, inputs), model.input_min, model.input_max)


class _Table:
    """The columns of a file that a model asks for."""

    def __init__(self, model: Model, source: Source, targets: bool) -> None:
        self.model, self.path = model, source.path
        self.signals = list(model.signals)
        self.wanted = [_class_column(model, source)] if model.is_classifier else self._targets
        self.wanted = self.wanted if targets else []
        self.external = []
        if model.mechanism.kind == "external":
            self.external = [f"P0_{target}" for target in model.targets]
        check_known(source, [*self.signals, *self.external, *self.wanted])
        # A signal of that name is a signal, and no mark of a record.
        has_first = FIRST in source.names and FIRST not in self.signals
        self.first = [FIRST] if model.memory is not None and has_first else []
        texts = categories_of(model.columns)
        names = [*self.signals, *self.external, *self.first]
        self.found = source.read(names, labels=self.wanted, texts=texts)

    @property
    def _targets(self) -> list[str]:
        return list(self.model.targets[: self.model.points])

    def inputs(self) -> NDArray[Any]:
        """The raw rows of a model: numbers, or what its columns are."""
        if self.model.columns is not None:
            table = RawTable({name: self.found[name] for name in self.signals})
            try:
                return raw_rows(self.model, table)
            except DataError as error:
                raise DataError(f"data file {self.path.name}: {error}") from None
        check_numbers(self.found, self.signals, self.path)
        return np.asarray(as_rows(self.found, self.signals))

    def targets(self) -> NDArray[Any]:
        if self.model.is_classifier:
            return self._classes()
        targets = self._numbers(self.wanted)
        return targets if self.model.level is None else for_bounds(targets)

    def mechanism(self) -> NDArray[np.float64] | None:
        return self._numbers(self.external) if self.external else None

    def begins(self) -> NDArray[np.bool_] | None:
        """Where records begin: a column of 1 and 0, if the file has one."""
        return self._numbers(self.first)[:, 0] != 0 if self.first else None

    def _numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        for name in names:
            values = self.found[name]
            missing = [row for row, value in enumerate(values.tolist()) if not _is_number(value)]
            if missing:
                value = values.tolist()[missing[0]]
                shown = "missing" if label_of(value) is None else repr(value)
                raise DataError(
                    f"column {name!r} must be a finite number in every row, not {shown} as in row "
                    f"{missing[0] + 1} of {self.path.name}; correct or remove the row"
                )
        return np.stack([self.found[name].astype(np.float64) for name in names], axis=1)

    def _classes(self) -> NDArray[np.int64]:
        """The index of each row's class; a label may be written like one, as 1.0 is for 1."""
        classes = self.model.classes
        assert classes is not None
        # Two spellings of each label, and the exact one counts where they collide.
        known = {label_of(label) or str(label): i for i, label in enumerate(classes)}
        known |= {str(label): i for i, label in enumerate(classes)}
        found = np.empty(len(self.found[self.wanted[0]]), dtype=np.int64)
        for row, value in enumerate(self.found[self.wanted[0]].tolist()):
            place = known.get(str(value), known.get(label_of(value) or ""))
            if place is None:
                raise DataError(
                    f"column {self.wanted[0]!r} must be one of the model's classes, not {value!r} "
                    f"as in row {row + 1} of {self.path.name}; "
                    f"{did_you_mean(value, map(str, classes))}"
                )
            found[row] = place
        return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def _class_column(model: Model, source: Source) -> str:
    """The class column: what training called it, `class`, or the only one that is no feature."""
    data = model.info.get("data")
    trained = data.get("target") if isinstance(data, dict) else None
    others = [name for name in source.names if name not in model.signals]
    for name in [*(trained if isinstance(trained, list) else ()), "class"]:
        if name in others:
            return str(name)
    return others[0] if len(others) == 1 else "class"
