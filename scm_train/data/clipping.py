"""Inputs beyond the range of the training rows, which a machine sees as the end of that range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Columns, Model
from scm_model.raw_columns import VALUE, labels_of, raw_arrays
from scm_train.mechanisms import TableModel

__all__ = ["Clipped", "clipped_columns", "clipped_line", "clipping_lines", "other_labels"]

#: More columns than these are counted, not listed.
MOST_LINES = 5


@dataclass(frozen=True)
class Clipped:
    """A column, the share of rows outside of its training range, and that range."""

    name: str
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"column {self.name!r}: {100 * self.share:.3g} % of the rows are outside of the "
            f"training range {self.low:.6g} to {self.high:.6g} and are clipped to it"
        )


def clipped_columns(machine: Model, X: NDArray) -> list[Clipped]:
    """The columns of raw inputs (n, d) that the machine clips in some row, the worst first."""
    if not len(X):
        return []
    found = []
    if machine.memory is not None:
        return _clipped_signals(machine, X)
    if machine.columns is not None:
        X = _numbers_seen(machine.columns, X)
    for i in _clipping(machine):
        low, high = float(machine.input_min[i]), float(machine.input_max[i])
        share = float(np.mean((X[:, i] < low) | (X[:, i] > high)))
        if share:
            found.append(Clipped(machine.features[i], share, low, high))
    return sorted(found, key=lambda column: -column.share)


def _clipped_signals(machine: Model, X: NDArray) -> list[Clipped]:
    found = []
    for name, values, low, high in zip(machine.signals, X.T, *machine.signal_ranges, strict=True):
        share = float(np.mean((values < low) | (values > high)))
        if share:
            found.append(Clipped(name, share, float(low), float(high)))
    return sorted(found, key=lambda column: -column.share)


def _numbers_seen(columns: Columns, X: Any) -> NDArray[np.float64]:
    """The features (n, d) that are plain numbers; 0 for all others, whose ranges hold it."""
    read = columns.read(X)
    found = np.zeros((len(read), len(columns.features)))
    for i, (place, what) in enumerate(columns.features):
        if what == VALUE and not columns.columns[place].is_category:
            found[:, i] = read[:, place]
    return found


def _clipping(machine: Model) -> Sequence[int]:
    """The features that are clipped: those with codes, and those of a table."""
    if machine.encoder.input_bits is not None:
        return range(len(machine.features))
    mechanism = machine.mechanism
    return mechanism.inputs.tolist() if isinstance(mechanism, TableModel) else ()


def clipped_line(columns: Sequence[Clipped]) -> str:
    """All columns in one line, for rows that were held out of the same table."""
    shown = ", ".join(f"{one.name!r} {100 * one.share:.3g} %" for one in columns[:MOST_LINES])
    more = len(columns) - MOST_LINES
    return (
        "test rows outside of the training range, which are clipped to it: "
        f"{shown}{f' and {more} more columns' if more > 0 else ''}"
    )


def other_labels(machine: Model, X: Any) -> list[str]:
    """A line for each category of which some rows have a label that training hardly ever had."""
    if machine.columns is None or not len(X):
        return []
    names, lines = machine.columns.names, []
    arrays = raw_arrays(X, names)
    for name, column, values in zip(names, machine.columns.columns, arrays, strict=True):
        if column.other is None:
            continue
        labels, place = labels_of(values)
        other = [
            number for number, label in enumerate(labels) if label not in (column.values or ())
        ]
        count = int(np.isin(place, other).sum())
        if count:
            first = "none" if labels[other[0]] is None else repr(labels[other[0]])
            lines.append(
                f"column {name!r}: {count:,} of {len(place):,} rows have a label that training "
                f"rarely or never had, such as {first}; all such labels count as one"
            )
    return lines[:MOST_LINES]


def clipping_lines(columns: Sequence[Clipped]) -> list[str]:
    """A line for each column, at most ``MOST_LINES`` of them; the rest are counted."""
    lines = [str(column) for column in columns[:MOST_LINES]]
    left = len(columns) - MOST_LINES
    if left > 0:
        lines.append(f"{left} more {'column' if left == 1 else 'columns'} likewise")
    return lines
