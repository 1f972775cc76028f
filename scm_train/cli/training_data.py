"""What `scm_train fit` learns from: a file or a data set by name, and rows held back from it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train import datasets
from scm_train.data.files import FileRows, read_rows
from scm_train.errors import DataError, ParameterError

__all__ = ["Data", "held_back", "read", "split"]

#: Fewer rows can't be split into rows to train on, to validate on and to test on.
FEWEST_ROWS = 10
TEST_FRACTION = 0.25


@dataclass(frozen=True, eq=False)
class Data:
    """What there is to learn from, and where it came from.

    Of ``train_rows`` all rows that follow are test rows.
    """

    rows: FileRows
    task: str
    name: str
    about: dict[str, Any]
    train_rows: int | None = None
    mechanism: Any = None
    #: Where the rows of a named data set come from, and the file of test rows.
    files: tuple[Path, ...] = ()


def read(args: argparse.Namespace) -> Data:
    if (args.data is None) == (args.dataset is None):
        raise ParameterError(
            "fit must be given a data file or --dataset, and not both; "
            "try `scm_train fit data.csv --target y --out model.npz`"
        )
    return _read_file(args) if args.dataset is None else _read_dataset(args)


def _read_file(args: argparse.Namespace) -> Data:
    if not args.target:
        raise ParameterError("--target must name the column to learn; give --target y")
    rows = read_rows(args.data, args.target, args.features, args.drop, least=FEWEST_ROWS)
    task = args.task
    if task == "auto":
        task = "regression" if rows.y.dtype.kind in "fiu" else "classification"
    path = Path(args.data)
    about = {"name": path.name, "target": list(rows.target_names)}
    name = path.name.partition(".")[0]
    data = Data(_checked(rows, task), task, name, about)
    return data if args.test is None else _with_test_rows(data, args)


def _with_test_rows(data: Data, args: argparse.Namespace) -> Data:
    """The rows of ``--test`` after those of the data file, with the same columns."""
    if args.test_fraction is not None:
        raise ParameterError("--test and --test-fraction must not both be given; leave one out")
    rows, path = data.rows, Path(args.test)
    if path.exists() and path.samefile(args.data):
        raise ParameterError("--test must be another file than the data file; name its test rows")
    tested = read_rows(path, rows.target_names, rows.feature_names, varying=False)
    if (tested.y.dtype.kind in "fiu") != (rows.y.dtype.kind in "fiu"):
        raise DataError(
            f"targets of {path.name} must be of the same kind as those of {Path(args.data).name}, "
            f"not {tested.y[0]!s} beside {rows.y[0]!s}; correct one of the files"
        )
    unseen = np.setdiff1d(tested.y, rows.y) if data.task == "classification" else ()
    if len(unseen):
        raise DataError(
            f"classes of {path.name} must be those of {Path(args.data).name}, not {unseen[0]!s}; "
            "train on rows of that class too, or remove its rows"
        )
    both = replace(rows, X=np.concatenate([rows.X, tested.X]), y=np.concatenate([rows.y, tested.y]))
    about = data.about | {"test": path.name}
    return replace(data, rows=both, about=about, train_rows=len(rows.X), files=(path,))


def _read_dataset(args: argparse.Namespace) -> Data:
    if args.target or args.features or args.drop or args.test:
        raise ParameterError(
            "--target, --features, --drop and --test must be left out with --dataset, "
            "which has its own; give a data file to choose columns of"
        )
    source = datasets.load(args.dataset)
    rows = FileRows(source.X, source.y, source.feature_names, source.target_names)
    task = source.task if args.task == "auto" else args.task
    about = {
        "name": source.name,
        "target": list(source.target_names),
        "simulated": source.simulated,
    }
    return Data(
        _checked(rows, task),
        task,
        source.name,
        about,
        source.train_rows,
        source.mechanism,
        source.files,
    )


def _checked(rows: FileRows, task: str) -> FileRows:
    """Targets that suit the task."""
    kind = rows.y.dtype.kind
    if task == "regression" and kind not in "fiu":
        raise DataError(
            f"targets of a regression must be numbers, not {rows.y[0]!s}; "
            "take --task classification"
        )
    if task == "classification" and rows.y.ndim > 1:
        raise DataError(
            f"target of a classification must be one column, not {rows.y.shape[1]}; name one"
        )
    if task == "classification" and kind == "f" and (rows.y != np.rint(rows.y)).any():
        raise DataError(
            "target of a classification must be labels, not real numbers; take --task regression"
        )
    return rows


def split(data: Data, fraction: float | None, seed: int) -> tuple[NDArray, NDArray]:
    """Numbers of the rows to train on and of those to test on."""
    count = len(data.rows.X)
    if fraction is None and data.train_rows is not None:
        return np.arange(data.train_rows), np.arange(data.train_rows, count)
    fraction = TEST_FRACTION if fraction is None else fraction
    if not 0 <= fraction < 1:
        raise ParameterError(f"--test-fraction must be at least 0 and below 1, not {fraction!r}")
    return held_back(data.rows.y, data.task, fraction, np.random.default_rng(seed))


def held_back(
    y: NDArray, task: str, fraction: float, random: np.random.Generator
) -> tuple[NDArray, NDArray]:
    """Row numbers in two parts, the second of them the ``fraction`` that is held back."""
    if task == "regression":
        strata = [np.arange(len(y))]
    else:
        # Every class has its share in both parts.
        strata = [np.flatnonzero(y == label) for label in np.unique(y)]
    held = np.zeros(len(y), dtype=bool)
    for rows in strata:
        count = min(round(fraction * len(rows)), len(rows) - 1)
        held[random.permutation(rows)[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
