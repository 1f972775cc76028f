"""Values of a column as they come from a file, and the array that they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.raw_columns import label_of
from scm_model.tables.dialect import to_number

__all__ = ["TextColumn", "column_of", "narrowest", "number_column"]

#: Whole numbers up to here are exact in float64.
_EXACT = 2.0**53


class TextColumn:
    """Fields of text, of which each different one is kept once."""

    def __init__(self) -> None:
        self._place: dict[Any, int] = {}
        self._fields: list[str] = []
        self._parts: list[NDArray[np.int32]] = []

    def add(self, fields: Sequence[Any], decoded: Callable[[bytes], str]) -> None:
        """Append fields, as text or as bytes that ``decoded`` understands."""
        place, found = self._place, np.empty(len(fields), dtype=np.int32)
        for row, field in enumerate(fields):
            own = place.get(field)
            if own is None:
                own = place[field] = len(self._fields)
                text = decoded(field) if isinstance(field, bytes) else field
                self._fields.append(text.strip())
            found[row] = own
        self._parts.append(found)

    def values(
        self, is_missing: Callable[[str], bool], decimal: str, *, label: bool
    ) -> NDArray[Any]:
        """Objects, None where a field is missing; numbers, if all are and these are no labels."""
        kept = [None if is_missing(text) else text for text in self._fields]
        numbers = [None if text is None else to_number(text, decimal) for text in kept]
        parts = self._parts or [np.empty(0, dtype=np.int32)]
        rows = np.concatenate(parts)
        if not label and all(
            (n is not None and np.isfinite(n)) or t is None
            for n, t in zip(numbers, kept, strict=True)
        ):
            return np.array([np.nan if n is None else n for n in numbers], dtype=np.float64)[rows]
        return np.array([*kept, None], dtype=object)[:-1][rows]


def number_column(values: NDArray[np.float64], whole: bool) -> NDArray[Any]:
    """Numbers, as integers where they were written as such."""
    if whole and len(values) and (np.abs(values) < _EXACT).all():
        return values.astype(np.int64)
    return values


def narrowest(values: NDArray[Any]) -> NDArray[Any]:
    """Labels as whole numbers, else numbers, else text; objects where one is missing."""
    if values.dtype != object or any(value is None for value in values.tolist()):
        return values
    texts = values.astype(str)
    for kind in (np.int64, np.float64):
        with suppress(ValueError, OverflowError):
            return texts.astype(kind)
    return texts


def column_of(values: Sequence[Any]) -> NDArray[Any]:
    """A column of a spreadsheet or of arrays: numbers and nothing else, or objects."""
    cells = [None if label_of(value) is None else value for value in values]
    if cells and all(type(value) is int and abs(value) < _EXACT for value in cells):
        return np.array(cells, dtype=np.int64)
    if all(value is None or _is_plain(value) for value in cells):
        return np.array([np.nan if value is None else value for value in cells], dtype=np.float64)
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
