"""Training data from files: CSV, TSV (also gzipped), Parquet, ``.npy`` and ``.npz``.

- Text files begin with a line of column names; a first line of nothing but numbers is an error, not
  data. ``.csv`` is separated by commas (by semicolons, if its header has those and no comma),
  ``.tsv``, ``.tab`` and ``.txt`` by tabs. Blank lines are passed over.
- The columns of an ``.npy`` matrix are called ``x1``, ``x2``, ... In an ``.npz``, a one-dimensional
  entry is a column, and a two-dimensional entry ``X`` gives the columns ``X1``, ``X2``, ...
- Features must be finite numbers. A target may be text, which then is a class label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scm_model.suggestions import did_you_mean
from scm_train.data.readers import Source, open_source
from scm_train.errors import DataError

__all__ = ["FileRows", "read_features", "read_rows", "split_names"]


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows of a data file: features (n, d), targets (n,) or (n, m) for several."""

    X: NDArray[np.float64]
    y: NDArray
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]

    @property
    def constant_features(self) -> tuple[str, ...]:
        """Features that have the same value in every row."""
        constant = self.X.min(axis=0) == self.X.max(axis=0)
        return tuple(n for n, c in zip(self.feature_names, constant, strict=True) if c)


def read_rows(
    path: str | Path,
    targets: Sequence[str],
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    least: int = 1,
    varying: bool = True,
) -> FileRows:
    """Read targets and features (all other columns but ``drop``, unless named).

    Columns may be named one by one, or several in one text as :func:`split_names` has it.
    :class:`DataError`, one line, for a missing column, text where numbers belong, a value that is
    missing or not finite, fewer than ``least`` rows, or, if ``varying``, a constant target.
    """
    with open_source(Path(path)) as source:
        targets = split_names(targets, source.names)
        names = _feature_names(source, targets, features, drop)
        columns = source.read(names, labels=targets)
    X = _matrix(columns, names)
    _check_count(len(X), least, path)
    for target in targets:
        if varying and (columns[target] == columns[target][0]).all():
            raise DataError(
                f"target {target!r} must vary, not be {columns[target][0].item()!r} in every row; "
                "there is nothing to learn"
            )
    y = columns[targets[0]] if len(targets) == 1 else _several(columns, targets)
    return FileRows(X, y, tuple(names), tuple(targets))


def read_features(path: str | Path, features: Sequence[str]) -> NDArray[np.float64]:
    """Read the named features alone (n, d), for prediction."""
    with open_source(Path(path)) as source:
        features = split_names(features, source.names)
        _check_known(source, features)
        columns = source.read(features)
    X = _matrix(columns, features)
    _check_count(len(X), 1, path)
    return X


def split_names(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Split each text at its commas, unless it is, commas and all, a known name."""
    names: list[str] = []
    for text in texts:
        parts = [text] if text.strip() in known else text.split(",")
        names += [part.strip() for part in parts]
    return names


def _feature_names(
    source: Source, targets: Sequence[str], features: Sequence[str] | None, drop: Sequence[str]
) -> list[str]:
    drop = split_names(drop, source.names)
    wanted = source.names if features is None else split_names(features, source.names)
    _check_known(source, [*targets, *drop])
    _check_known(source, wanted)
    chosen = [name for name in wanted if name not in drop and name not in targets]
    if not chosen:
        raise DataError(
            f"features must be at least one, not none of {len(source.names)} columns; "
            "drop fewer columns"
        )
    return chosen


def _check_known(source: Source, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name not in source.names:
            raise DataError(
                f"column {name!r} must be in {source.path.name}; {did_you_mean(name, source.names)}"
            )
        if name in names[:position]:
            raise DataError(f"column {name!r} must be named once, not twice; leave one out")


def _check_count(count: int, least: int, path: str | Path) -> None:
    if count < least:
        raise DataError(
            f"rows of {Path(path).name} must be at least {least}, not {count}; gather more data"
        )


def _matrix(columns: dict[str, NDArray], names: Sequence[str]) -> NDArray[np.float64]:
    X = np.empty((len(columns[names[0]]), len(names)))
    for i, name in enumerate(names):
        X[:, i] = columns[name]
    return X


def _several(columns: dict[str, NDArray], targets: Sequence[str]) -> NDArray[np.float64]:
    for target in targets:
        if columns[target].dtype.kind not in "fiu":
            raise DataError(
                f"target {target!r} must be numbers, not text like {columns[target][0].item()!r}; "
                "a classifier has one target column"
            )
    return _matrix(columns, targets)
