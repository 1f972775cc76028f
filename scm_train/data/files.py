"""Training data from files of all kinds that :mod:`scm_model.tables.readers` opens.

Features are finite numbers, or missing, or categories. A target may be text, which then is a class
label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Columns
from scm_model.raw_columns import label_of
from scm_model.raw_table import RawTable
from scm_model.tables.dialect import TableOptions
from scm_model.tables.features import (
    as_rows,
    categories_of,
    check_known,
    matrix_of,
    read_features,
    split_names,
)
from scm_model.tables.readers import Source, open_source
from scm_train.data.order import left_out
from scm_train.errors import DataError
from scm_train.progress import reading_bar

__all__ = [
    "FileRows",
    "TableOptions",
    "below",
    "read_features",
    "read_rows",
    "split_names",
]


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows of a data file: features (n, d), targets (n,) or (n, m) for several.

    Features are numbers, or a table of columns where they are more than that. ``further`` are
    columns that are no features; ``notes`` say what was guessed and left out.
    """

    X: NDArray[np.float64] | RawTable
    y: NDArray
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    further: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def constant_features(self) -> tuple[str, ...]:
        """Features that have the same value in every row."""
        if isinstance(self.X, RawTable):
            return tuple(name for name, own in self.X.arrays.items() if _is_constant(own))
        constant = self.X.min(axis=0) == self.X.max(axis=0)
        return tuple(n for n, c in zip(self.feature_names, constant, strict=True) if c)


def _is_constant(values: NDArray[Any]) -> bool:
    return len(set(values.tolist())) == 1


def below(above: FileRows, more: FileRows) -> FileRows:
    """The rows of both, which have the same columns."""
    X: Any
    if isinstance(above.X, RawTable) or isinstance(more.X, RawTable):
        parts = [_table(rows).arrays for rows in (above, more)]
        X = RawTable({name: _joined(parts[0][name], parts[1][name]) for name in parts[0]})
    else:
        X = np.concatenate([above.X, more.X])
    further = {
        name: _joined(own, more.further[name])
        for name, own in above.further.items()
        if name in more.further
    }
    y = np.concatenate([above.y, more.y])
    notes = above.notes + tuple(note for note in more.notes if note not in above.notes)
    return FileRows(X, y, above.feature_names, above.target_names, further, notes)


def _table(rows: FileRows) -> RawTable:
    if isinstance(rows.X, RawTable):
        return rows.X
    return RawTable(dict(zip(rows.feature_names, rows.X.T, strict=True)))


def _joined(above: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    if above.dtype == more.dtype:
        return np.concatenate([above, more])
    return np.concatenate([above.astype(object), more.astype(object)])


def read_rows(
    path: str | Path,
    targets: Sequence[str],
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    least: int = 1,
    varying: bool = True,
    *,
    options: TableOptions | None = None,
    categories: Sequence[str] = (),
    further: Sequence[str] = (),
    columns: Columns | None = None,
    show_progress: bool = False,
) -> FileRows:
    """Read targets and features (all other columns but ``drop`` and ``further``, unless named).

    Columns may be named one by one, or several in one text as :func:`split_names` has it. Where
    features are not named, dates and running numbers are no features but ``further`` columns.
    ``columns`` are those of a model that is to take the rows. :class:`DataError`, one line, for a
    missing column, text where numbers belong, a value that is not finite, fewer than ``least``
    rows, or, if ``varying``, a constant target.
    """
    bar = reading_bar if show_progress else None
    with open_source(Path(path), options, bar=bar) as source:
        targets = split_names(targets, source.names)
        more = split_names(further, source.names)
        check_known(source, more)
        names = _feature_names(source, targets, features, [*drop, *more])
        texts = [*split_names(categories, source.names), *categories_of(columns)]
        check_known(source, split_names(categories, source.names))
        found = source.read([*names, *more], labels=targets, texts=[*texts, *more])
        notes = list(source.notes)
    kept = {name: found[name] for name in more}
    if features is None:
        names, out = _features(names, found, {*texts})
        kept |= {name: found[name] for name in out}
        notes += out.values()
    _check_count(len(found[names[0]]), least, path)
    for target in targets:
        _check_target(target, found[target], path, varying)
    y = found[targets[0]] if len(targets) == 1 else _several(found, targets)
    X = as_rows(found, names)
    return FileRows(X, y, tuple(names), tuple(targets), kept, tuple(notes))


def _features(
    names: Sequence[str], found: dict[str, NDArray[Any]], categories: set[str]
) -> tuple[list[str], dict[str, str]]:
    """The columns to learn from, and those to leave out with a line on each."""
    reasons = {
        name: reason
        for name in names
        if name not in categories and (reason := _no_feature(name, found[name]))
    }
    if all(name in reasons or _is_constant(found[name]) for name in names):
        # A number that rises is all that there is to learn from.
        reasons = {n: r for n, r in reasons.items() if found[n].dtype.kind not in "fiu"}
    kept = [name for name in names if name not in reasons]
    if not kept:
        first, reason = next(iter(reasons.items()))
        raise DataError(
            f"features must be at least one, but column {first!r} {reason}; name it with --features"
        )
    return kept, {
        name: f"column {name!r} {reason} and is left out (--features takes it)"
        for name, reason in reasons.items()
    }


def _no_feature(name: str, values: NDArray[Any]) -> str | None:
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if len(values) and len(missing) and missing.all():
        return "has no values"
    return left_out(name, values)


def _check_target(name: str, values: NDArray[Any], path: str | Path, varying: bool) -> None:
    if values.dtype == object:
        missing = np.array([label_of(value) is None for value in values.tolist()], dtype=bool)
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    if missing.any():
        raise DataError(
            f"column {name!r} must have a value in every row, not be missing as in row "
            f"{int(np.argmax(missing)) + 1} of {Path(path).name}; correct or remove the row"
        )
    if varying and (values == values[0]).all():
        raise DataError(
            f"target {name!r} must vary, not be {values.tolist()[0]!r} in every row; "
            "there is nothing to learn"
        )


def _feature_names(
    source: Source, targets: Sequence[str], features: Sequence[str] | None, drop: Sequence[str]
) -> list[str]:
    drop = split_names(drop, source.names)
    wanted = source.names if features is None else split_names(features, source.names)
    check_known(source, [*targets, *drop])
    check_known(source, wanted)
    chosen = [name for name in wanted if name not in drop and name not in targets]
    if not chosen:
        raise DataError(
            f"features must be at least one beside the targets, not none of {len(source.names)} "
            "columns; drop fewer columns, or give the --delimiter"
        )
    return chosen


def _check_count(count: int, least: int, path: str | Path) -> None:
    if count < least:
        raise DataError(
            f"rows of {Path(path).name} must be at least {least}, not {count}; gather more data"
        )


def _several(columns: dict[str, NDArray], targets: Sequence[str]) -> NDArray[np.float64]:
    for target in targets:
        if columns[target].dtype.kind not in "fiu":
            raise DataError(
                f"target {target!r} must be numbers, not text like {columns[target][0].item()!r}; "
                "a classifier has one target column"
            )
    return matrix_of(columns, targets)
