"""Columns of an open table as a model takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.errors import DataError
from scm_model.raw_columns import Columns
from scm_model.raw_table import RawTable
from scm_model.suggestions import did_you_mean
from scm_model.tables.dialect import TableOptions, to_number
from scm_model.tables.readers import Source, open_source

__all__ = [
    "as_rows",
    "categories_of",
    "check_known",
    "check_numbers",
    "matrix_of",
    "read_features",
    "split_names",
]


def read_features(
    path: str | Path,
    features: Sequence[str],
    *,
    options: TableOptions | None = None,
    columns: Columns | None = None,
    notes: list[str] | None = None,
) -> NDArray[np.float64] | RawTable:
    """Read the named features alone (n, d), for prediction; ``columns`` are those of the model."""
    with open_source(Path(path), options) as source:
        features = split_names(features, source.names)
        check_known(source, features)
        found = source.read(features, texts=categories_of(columns))
        if notes is not None:
            notes += source.notes
    X = as_rows(found, features) if columns is None else RawTable({n: found[n] for n in features})
    if columns is None:
        check_numbers(found, features, path)
    if not len(X):
        raise DataError(
            f"can't predict for {Path(path).name}: it has a header and no rows; check that the "
            "file is whole"
        )
    return X


def categories_of(columns: Columns | None) -> list[str]:
    """The columns of a model that are labels, whatever they look like in this file."""
    if columns is None:
        return []
    pairs = zip(columns.names, columns.columns, strict=True)
    return [name for name, column in pairs if column.is_category]


def check_numbers(found: dict[str, NDArray[Any]], names: Sequence[str], path: str | Path) -> None:
    """A model of numbers alone takes nothing else."""
    for name in names:
        values = found[name]
        wrong = (
            np.isnan(values)
            if values.dtype.kind == "f"
            else np.array([not isinstance(v, int | float) for v in values.tolist()], dtype=bool)
        )
        if wrong.any():
            row = int(np.argmax(wrong))
            own = values.tolist()[row]
            shown = "missing" if own is None or own != own else repr(own)
            comma = isinstance(own, str) and to_number(own, ",") is not None
            remedy = "give --decimal ," if comma else "correct or leave out such rows"
            raise DataError(
                f"column {name!r} must be a number in every row, not {shown} as in row {row + 1} "
                f"of {Path(path).name}, as it was in training; {remedy}"
            )


def as_rows(found: dict[str, NDArray[Any]], names: Sequence[str]) -> NDArray[np.float64] | RawTable:
    """A matrix of plain numbers, or else a table."""
    arrays = [found[name] for name in names]
    if all(own.dtype.kind in "fiu" and not np.isnan(own).any() for own in arrays):
        return matrix_of(found, names)
    return RawTable(dict(zip(names, arrays, strict=True)))


def split_names(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Split each text at its commas, unless it is, commas and all, a known name."""
    names: list[str] = []
    for text in texts:
        parts = [text] if text.strip() in known else text.split(",")
        names += [part.strip() for part in parts]
    return names


def check_known(source: Source, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name not in source.names:
            raise DataError(
                f"column {name!r} must be in {source.path.name}; {did_you_mean(name, source.names)}"
            )
        if name in names[:position]:
            raise DataError(f"column {name!r} must be named once, not twice; leave one out")


def matrix_of(columns: dict[str, NDArray[Any]], names: Sequence[str]) -> NDArray[np.float64]:
    X = np.empty((len(columns[names[0]]), len(names)))
    for i, name in enumerate(names):
        X[:, i] = columns[name]
    return X
