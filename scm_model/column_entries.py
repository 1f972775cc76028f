"""Columns of raw rows as a model file has them, in ``meta`` and in entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.entries import Arrays
from scm_model.errors import ModelFileError
from scm_model.meta import Meta
from scm_model.raw_columns import (
    FULL_RANGE,
    INDICATOR_RANGE,
    IS_MISSING,
    MISSING_KINDS,
    OTHER,
    VALUE,
    Column,
    Columns,
    Feature,
    label_of,
)
from scm_model.scaling import Floats
from scm_model.schema import FEATURE_SOURCES, MAX_FEATURES, MAX_LABELS

__all__ = [
    "check_column_ranges",
    "check_column_rows",
    "column_from_meta",
    "column_meta",
    "columns_meta",
    "read_columns",
]


def columns_meta(columns: Columns) -> list[dict[str, Any]]:
    """What ``meta`` says of each column."""
    return [column_meta(column) for column in columns.columns]


def column_meta(column: Column) -> dict[str, Any]:
    """What a column is, in the types of JSON."""
    if column.values is not None:
        return {"kind": "category", "values": column.values, "other": column.other}
    if column.missing == "median":
        return {"kind": "number", "missing": "median", "median": column.median}
    return {"kind": "number"} | ({"missing": column.missing} if column.missing else {})


def read_columns(arrays: Arrays, meta: Meta, names: tuple[str, ...]) -> Columns | None:
    """The columns of a file that has such; what ``meta`` calls features are their names then."""
    told = meta.columns
    if told is None:
        return None
    if meta.horizon is not None:
        raise ModelFileError("meta 'columns' must not be beside 'memory'")
    if len(told) != len(names):
        raise ModelFileError(f"meta 'columns' must be {len(names)}, one per feature name")
    columns = tuple(column_from_meta(name, item) for name, item in zip(names, told, strict=True))
    labels = sum(column.count for column in columns)
    if labels > MAX_LABELS:
        raise ModelFileError(f"meta 'columns' must have at most {MAX_LABELS} labels, not {labels}")
    for name, column in zip(names, columns, strict=True):
        if meta.input_bits is not None and column.is_category and column.bits > meta.input_bits:
            raise ModelFileError(
                f"column {name!r} must have at most {1 << meta.input_bits} codes, "
                f"not {column.count}"
            )
    return Columns(names, columns, _features(arrays, names, columns))


def column_from_meta(name: str, item: Any) -> Column:
    """Undo :func:`column_meta`, with every rule checked."""
    if not isinstance(item, dict) or item.get("kind") not in ("number", "category"):
        raise ModelFileError(
            f"column {name!r} must be an object with a 'kind' of number or category, not {item!r}"
        )
    if item["kind"] == "category":
        return _category(name, item.get("values"), item.get("other"))
    missing = item.get("missing")
    if missing is not None and missing not in MISSING_KINDS:
        raise ModelFileError(
            f"column {name!r} must have 'missing' of {', '.join(MISSING_KINDS)}, not {missing!r}"
        )
    median = item.get("median", 0.0) if missing == "median" else 0.0
    if type(median) not in (int, float) or not math.isfinite(median):
        raise ModelFileError(f"column {name!r} must have a finite 'median', not {median!r}")
    return Column(missing=missing, median=float(median))


def _category(name: str, values: Any, other: Any) -> Column:
    good = isinstance(values, list) and all(v is None or isinstance(v, str) for v in values)
    if not good or not values or len(set(values)) < len(values):
        raise ModelFileError(
            f"column {name!r} must have 'values' that are distinct strings or null"
        )
    for value in values:
        if label_of(value) != value or value == OTHER:
            raise ModelFileError(
                f"column {name!r} must have 'values' as they are compared, not {value!r}"
            )
    if other is not None and (type(other) is not int or not 0 <= other <= len(values)):
        raise ModelFileError(
            f"column {name!r} must have 'other' of null or 0 to {len(values)}, not {other!r}"
        )
    return Column(values=tuple(values), other=other)


def _features(
    arrays: Arrays, names: tuple[str, ...], columns: Sequence[Column]
) -> tuple[Feature, ...]:
    entry = FEATURE_SOURCES
    # How many features are made of the columns is the length of this entry; until here it was taken
    # to be that of the names.
    arrays.lengths.pop("d")
    found = tuple(Feature(*pair) for pair in arrays.get(entry).tolist())
    if not 1 <= len(found) <= MAX_FEATURES:
        raise ModelFileError(f"entry {entry.name!r} must be 1 to {MAX_FEATURES}, not {len(found)}")
    if len(set(found)) < len(found):
        raise ModelFileError(f"entry {entry.name!r} must be distinct")
    for feature in found:
        if not 0 <= feature.column < len(columns) or not _known(columns[feature.column], feature):
            raise ModelFileError(
                f"entry {entry.name!r} must be of columns and what they have, not {tuple(feature)}"
            )
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        if not column.is_category and Feature(place, VALUE) not in found:
            raise ModelFileError(f"entry {entry.name!r} must have the number of column {name!r}")
        if all(feature.column != place for feature in found):
            raise ModelFileError(f"entry {entry.name!r} must have a feature of column {name!r}")
    return found


def _known(column: Column, feature: Feature) -> bool:
    if feature.what == IS_MISSING:
        return column.missing == "median"
    return feature.what == VALUE or (column.is_category and 0 <= feature.what < column.count)


def check_column_ranges(columns: Columns, ranges: Mapping[str, Floats]) -> None:
    """Codes and indicators have ranges that make them bits of their features' codes."""
    for i, (place, what) in enumerate(columns.features):
        column = columns.columns[place]
        if what == VALUE and not column.is_category:
            continue
        codes = (0.0, 2.0**column.bits)
        wanted = [codes] if what == VALUE else [INDICATOR_RANGE, FULL_RANGE]
        found = (float(ranges["input_min"][i]), float(ranges["input_max"][i]))
        if found not in wanted:
            raise ModelFileError(
                f"feature {columns.feature_names[i]!r} must have the range "
                f"{' or '.join(map(str, wanted))}, not {found}"
            )


def check_column_rows(columns: Columns, rows: NDArray[Any]) -> None:
    """Held-out rows are numbers, NaN where a column may be missing, and codes of categories."""
    for name, column, values in zip(columns.names, columns.columns, rows.T, strict=True):
        if column.is_category:
            good = (values >= 0) & (values < column.count) & (values == np.floor(values))
        else:
            good = np.isfinite(values) | (np.isnan(values) & (column.missing is not None))
        if not good.all():
            row = int(np.argmin(good))
            raise ModelFileError(
                f"entry 'eval_inputs' must have a value that column {name!r} can have, "
                f"not {values[row]} in row {row}"
            )
