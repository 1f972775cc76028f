"""Columns of raw rows that are more than finite numbers: categories, and missing values.

A machine with columns takes rows as a plant's table has them. Each column enters hardware as one
small integer, its *code*; the machine's features are made of columns: the number or the code
itself, the indicator of one category, or the flag that a value is missing.

Labels of categories are compared as text, so that 3, 3.0 and "3" are one label, and so are True
and "TRUE", whatever kind of table a row comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scm_model.columns import column_names, in_order
from scm_model.errors import DataError
from scm_model.scaling import Floats

__all__ = [
    "FULL_RANGE",
    "INDICATOR_RANGE",
    "IS_MISSING",
    "MISSING_KINDS",
    "MISSING_TEXTS",
    "OTHER",
    "VALUE",
    "Column",
    "Columns",
    "Feature",
    "label_of",
    "labels_of",
    "raw_arrays",
]

#: What stands for no value, in any case of its letters.
MISSING_TEXTS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?"})
MISSING_KINDS = ("code", "median")
#: What a row has whose category is none of those known by name.
OTHER = "(other)"
#: What a feature is of its column: the number or code itself, or the flag of a missing value.
#: From 0 on it is the indicator of that code.
VALUE, IS_MISSING = -1, -2
#: Of an indicator: set, it is half of the range, which is one bit of its code.
INDICATOR_RANGE = (0.0, 2.0)
#: Of an indicator that has all bits of its code set, as one that was a number in training.
FULL_RANGE = (0.0, 1.0)
#: Bits that the codes of numbers have where the machine has no quantisation.
_PLAIN_BITS = 12


class Feature(NamedTuple):
    """One feature of a machine: which column it is of, and what of it."""

    column: int
    what: int


@dataclass(frozen=True)
class Column:
    """What the values of a column become.

    Of a category ``values`` are its labels in the order of their codes (None is the label of a
    missing value), and ``other`` is the code of all other labels, or None where there are none.
    Of numbers ``values`` is None. The greatest code of a number that may be ``missing`` is kept
    for that: it is seen as such (``"code"``), or as the ``median`` beside a flag (``"median"``).
    """

    values: tuple[str | None, ...] | None = None
    other: int | None = None
    missing: str | None = None
    median: float = 0.0

    @property
    def is_category(self) -> bool:
        return self.values is not None

    @property
    def plain(self) -> bool:
        """Whether it is a number in every row."""
        return self.values is None and self.missing is None

    @property
    def count(self) -> int:
        """Codes of a category."""
        return len(self.values or ()) + (self.other is not None)

    @property
    def bits(self) -> int:
        """Bits of a category's code."""
        return max(1, (self.count - 1).bit_length())

    @cached_property
    def labels(self) -> tuple[str | None, ...]:
        """The label of each code of a category; of all other labels ``OTHER``."""
        found: list[str | None] = list(self.values or ())
        if self.other is not None:
            found.insert(self.other, OTHER)
        return tuple(found)

    @cached_property
    def _code_of(self) -> dict[str | None, int]:
        return {label: code for code, label in enumerate(self.labels) if code != self.other}

    def read(self, name: str, values: NDArray[Any]) -> Floats:
        """Raw values (n,) as numbers: NaN where one is missing, the code of a category."""
        if self.values is None:
            return self._numbers(name, values)
        labels, place = labels_of(values)
        codes = [self._code_of.get(label, self.other) for label in labels]
        if None in codes:
            unknown = labels[codes.index(None)]
            shown = "missing" if unknown is None else repr(unknown)
            raise DataError(
                f"column {name!r} must be one of {_listed(self.values)}, not {shown} as in row "
                f"{int(np.argmax(place == codes.index(None))) + 1}; correct the rows"
            )
        return np.array(codes, dtype=np.float64)[place]

    def _numbers(self, name: str, values: NDArray[Any]) -> Floats:
        numbers = numbers_of(name, values)
        if np.isfinite(numbers).all():
            return numbers
        wrong = np.isinf(numbers) if self.missing else ~np.isfinite(numbers)
        if not wrong.any():
            return numbers
        row = int(np.argmax(wrong))
        if np.isinf(numbers[row]):
            raise DataError(
                f"column {name!r} must be finite, not {numbers[row]} as in row {row + 1}; "
                "correct the rows"
            )
        raise DataError(
            f"column {name!r} must have a value in every row, not be missing as in row {row + 1}: "
            "no value of it was missing in training; correct or leave out such rows"
        )

    def raw(self, read: Floats) -> NDArray[Any]:
        """Undo :meth:`read`, but for labels that have one code in common."""
        if self.values is None:
            return read
        return np.array(self.labels, dtype=object)[read.astype(np.int64)]


@dataclass(frozen=True)
class Columns:
    """The columns of raw rows by name, and the features that are made of them."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    features: tuple[Feature, ...]

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """``speed``, ``sex=M``, ``speed missing``; distinct whatever columns are called."""
        found: list[str] = []
        for column, what in self.features:
            name = self.names[column]
            if what == IS_MISSING:
                name = f"{name} missing"
            elif what >= 0:
                label = self.columns[column].labels[what]
                name = f"{name}={'(missing)' if label is None else label}"
            while name in found or (what != VALUE and name in self.names):
                name += "_"
            found.append(name)
        return tuple(found)

    @property
    def categories(self) -> bool:
        return any(column.is_category for column in self.columns)

    def read(self, X: Any) -> Floats:
        """Raw rows as numbers (n, columns): NaN where one is missing, codes of categories.

        A frame's columns are found by name.
        """
        arrays = raw_arrays(X, self.names)
        found = np.empty((len(arrays[0]), len(arrays)))
        for i, (name, column, values) in enumerate(
            zip(self.names, self.columns, arrays, strict=True)
        ):
            found[:, i] = column.read(name, values)
        return found

    def raw(self, read: Floats) -> NDArray[Any]:
        """Rows of numbers from :meth:`read` as raw rows again, with labels where there are any."""
        if not self.categories:
            return read
        found = np.empty(read.shape, dtype=object)
        for i, column in enumerate(self.columns):
            found[:, i] = column.raw(read[:, i])
        return found

    def expand(self, read: Floats, low: Floats, high: Floats, bits: int | None) -> Floats:
        """The features (n, d) of rows from :meth:`read`, by the features' ranges.

        A missing number is in the middle of the range's last step of ``bits``, and all others of
        its column are held below that step.
        """
        levels = 2.0 ** (_PLAIN_BITS if bits is None else bits)
        found = np.empty((len(read), len(self.features)))
        for i, (place, what) in enumerate(self.features):
            column, values = self.columns[place], read[:, place]
            if what == IS_MISSING:
                found[:, i] = np.isnan(values)
            elif what >= 0:
                found[:, i] = values == what
            elif column.missing is None:
                found[:, i] = values
            else:
                step = (high[i] - low[i]) / levels
                last = low[i] + (levels - 0.5) * step
                value = last if column.missing == "code" else column.median
                held = np.minimum(values, last - step)
                found[:, i] = np.where(np.isnan(values), value, held)
        return found

    def ranges(self, read: Floats, bits: int | None) -> tuple[Floats, Floats]:
        """The ranges of the features on training rows from :meth:`read`."""
        levels = 2.0 ** (_PLAIN_BITS if bits is None else bits)
        low, high = np.empty(len(self.features)), np.empty(len(self.features))
        for i, (place, what) in enumerate(self.features):
            column, values = self.columns[place], read[:, place]
            if what != VALUE:
                low[i], high[i] = INDICATOR_RANGE
            elif column.is_category:
                low[i], high[i] = 0.0, 2.0**column.bits
            else:
                known = values[~np.isnan(values)] if column.missing else values
                least, most = (known.min(), known.max()) if len(known) else (0.0, 1.0)
                if not most > least:
                    most = least + max(1.0, float(np.spacing(abs(least))))
                # The last step is that of missing values.
                stretch = levels / (levels - 1) if column.missing else 1.0
                low[i], high[i] = least, least + (most - least) * stretch
        return low, high

    def value_feature(self, column: int) -> int | None:
        """The feature that is the number or code itself, where there is one."""
        wanted = Feature(column, VALUE)
        return self.features.index(wanted) if wanted in self.features else None


def raw_arrays(X: Any, names: Sequence[str]) -> list[NDArray[Any]]:
    """The columns of raw rows; a frame's are found by name, unless names are x0, x1, ..."""
    if column_names(X) is not None and tuple(names) != tuple(f"x{i}" for i in range(len(names))):
        X = in_order(X, names)
        return [np.asarray(X[name]) for name in names]
    if hasattr(X, "iloc"):
        rows = [np.asarray(X.iloc[:, i]) for i in range(X.shape[1])]
    else:
        whole = np.asarray(X)
        if whole.ndim != 2:
            raise DataError(
                f"inputs must be rows of {len(names)} columns, not of shape {whole.shape}"
            )
        rows = list(whole.T)
    if len(rows) != len(names):
        raise DataError(f"inputs must be rows of {len(names)} columns, not of {len(rows)}")
    return rows


def label_of(value: Any) -> str | None:
    """A category's label as text; None where the value is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        text = value.strip()
        folded = text.lower()
        if folded in MISSING_TEXTS:
            return None
        return folded.capitalize() if folded in ("true", "false") else _number_text(text)
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _number_text(text: str) -> str:
    """``3.0`` as ``3``; anything but a plain number as it is."""
    if not text.endswith("0") or "." not in text:
        return text
    whole, _, rest = text.partition(".")
    return whole if whole.lstrip("+-").isdigit() and not rest.strip("0") else text


def labels_of(values: NDArray[Any]) -> tuple[list[str | None], NDArray[np.int64]]:
    """The distinct labels of raw values, in the order of their first rows, and each row's place."""
    known: dict[str | None, int] = {}
    seen: dict[Any, int] = {}
    place = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values.tolist()):
        # Of a float, NaN alone is not equal to itself, and would be a new key each time.
        key = None if isinstance(value, float) and value != value else value
        # By type too: True, 1 and 1.0 are equal as keys, and their labels are not.
        found = seen.get((type(key), key))
        if found is None:
            label = label_of(key)
            found = known.setdefault(label, len(known))
            seen[type(key), key] = found
        place[row] = found
    return list(known), place


def numbers_of(name: str, values: NDArray[Any]) -> Floats:
    """Raw values as numbers, NaN where one is missing."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    found = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        try:
            missing = value is None or (isinstance(value, str) and label_of(value) is None)
            found[row] = np.nan if missing or type(value).__name__ == "NAType" else float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"column {name!r} must be numbers, not {value!r} as in row {row + 1}; "
                "correct the rows"
            ) from None
    return found


def _listed(values: Sequence[str | None]) -> str:
    shown = ["missing" if value is None else repr(value) for value in values[:8]]
    return ", ".join(shown) + (f" and {len(values) - 8} more" if len(values) > 8 else "")
