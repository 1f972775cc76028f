"""Columns that say when or which row it was, and rows in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train.errors import DataError

__all__ = ["left_out", "time_order", "times_of"]

#: Ways to write a date besides those of ISO 8601.
FORMATS = (
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%d-%b-%Y %H:%M:%S",
    "%d-%b-%y",
    "%d-%b-%Y",
    "%H:%M:%S",
    "%H:%M",
)
#: Columns that count rows or time where their values go up or down from row to row.
NAMES = (
    *("time", "t", "timestamp", "date", "datetime", "day", "second", "seconds"),
    *("sample", "index", "id", "row", "nr", "no", "number"),
)
#: Rows that decide, evenly spread, and the share of them that must be dates.
_SOME = 500
_DATES = 0.95
_FEWEST_ROWS = 20
#: Rows next to each other are nearly alike where this share of a feature's variance is in common.
_ALIKE = 0.9


def left_out(name: str, values: NDArray[Any]) -> str | None:
    """Why a column is no feature: a date, a running number, or a name of its own for each row."""
    if values.dtype.kind == "M" or (values.dtype == object and _are_dates(values)):
        return "holds dates"
    if values.dtype == object:
        return _identity(values)
    if len(values) < _FEWEST_ROWS or not np.isfinite(values).all():
        return None
    steps = np.diff(values)
    if (steps == steps[0]).all() and abs(steps[0]) == 1:
        return "is a running number"
    # An index that pandas or a spreadsheet has written has no name, and readers give it one.
    known = name.strip().lower() in NAMES or name.startswith(("column ", "Unnamed"))
    if known and ((steps > 0).all() or (steps < 0).all()):
        return f"{'rises' if steps[0] > 0 else 'falls'} from row to row"
    return None


def _are_dates(values: NDArray[Any]) -> bool:
    some = [value for value in _some(values).tolist() if value is not None]
    if not some or any(isinstance(value, bool | int | float) for value in some):
        return False
    return sum(_moment(value) is not None for value in some) >= _DATES * len(some)


def _identity(values: NDArray[Any]) -> str | None:
    texts = [value for value in values.tolist() if isinstance(value, str)]
    if len(texts) >= _FEWEST_ROWS and 2 * len(set(texts)) > len(values):
        return "has a text of its own in most rows"
    return None


def _some(values: NDArray[Any]) -> NDArray[Any]:
    return values[:: -(-len(values) // _SOME)] if len(values) else values


def _moment(value: Any, formats: Sequence[str] = FORMATS) -> datetime | None:
    """The moment that a field says; of a time without a date, of some day."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    text = str(value).strip()
    # A number such as 20240131 or 2024 is no date as it stands.
    if len(text) < 5 or text.isdigit():
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        pass
    for form in formats:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def times_of(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Values by which rows can be put in the order of time."""
    if values.dtype != object:
        return values
    formats = _formats(values)
    found = [_moment(value, formats) for value in values.tolist()]
    if None in found:
        row = found.index(None)
        raise DataError(
            f"column {name!r} must be a date or time in every row, not {values[row]!r} in row "
            f"{row + 1}; correct the value, or name another column with --time"
        )
    return np.array(found, dtype="datetime64[us]")


def _formats(values: NDArray[Any]) -> list[str]:
    """Those in which some rows are all dates: 01/02 is told from 02/01 by days above 12."""
    some = [value for value in _some(values).tolist() if isinstance(value, str)]
    good = [form for form in FORMATS if all(_moment(text, [form]) is not None for text in some)]
    return good or list(FORMATS)


def time_order(
    names: Sequence[str], columns: Sequence[NDArray[Any]], targets: NDArray[Any]
) -> str | None:
    """What says that rows are in the order of time, if anything does.

    ``names`` and ``columns`` are those that were left out or are features; ``targets`` (n,) or
    (n, m).
    """
    if len(targets) < _FEWEST_ROWS:
        return None
    for name, values in zip(names, columns, strict=True):
        if left_out(name, values) == "holds dates":
            some = _some(values)
            moments = times_of(name, np.array([v for v in some.tolist() if v is not None], object))
            if len(moments) > 2 and (np.diff(moments).astype(np.int64) >= 0).all():
                return f"column {name!r} rises from row to row"
    numbers = [values for values in columns if values.dtype.kind == "f"]
    alike = [_alike(values) for values in numbers if np.isfinite(values).all()]
    own = (
        [_alike(column) for column in np.reshape(targets, (len(targets), -1)).T]
        if (targets.dtype.kind in "fiu")
        else []
    )
    if alike and own and np.median(alike) > _ALIKE and min(own) > _ALIKE:
        return "rows next to each other are nearly alike"
    return None


def _alike(values: NDArray[Any]) -> float:
    """The correlation of neighbouring rows."""
    own = values.astype(np.float64)
    variance = own.var()
    if variance == 0:
        return 0.0
    # E (x_i - x_{i+1})^2 = 2 var (1 - correlation), von Neumann's ratio.
    return float(1 - np.mean(np.diff(own) ** 2) / (2 * variance))
