"""What `scm_train fit` learns from: a file or a data set by name, and rows held back from it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.raw_columns import label_of
from scm_model.raw_table import RawTable
from scm_model.suggestions import did_you_mean
from scm_model.tables.dialect import to_number
from scm_model.tables.flags import table_options
from scm_train import datasets
from scm_train.data.files import FileRows, below, read_rows, split_names
from scm_train.data.order import time_order, times_of
from scm_train.errors import DataError, ParameterError

__all__ = ["Data", "held_back", "part", "read", "split"]

#: Fewer rows can't be split into rows to train on, to validate on and to test on.
FEWEST_ROWS = 10
TEST_FRACTION = 0.25
#: A target of no more different whole numbers may be classes.
FEW_VALUES = 10


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
    #: Parameters of the learner that say what columns are.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Which rows are held out: those of whole groups, or the last ones in an order.
    groups: NDArray | None = None
    test_groups: tuple[str, ...] = ()
    order: NDArray | None = None
    #: Where the rows of a named data set come from, and the file of test rows.
    files: tuple[Path, ...] = ()

    @property
    def target_note(self) -> str | None:
        """How a target of few whole numbers was taken, and how to have it otherwise."""
        y = self.rows.y
        if y.ndim > 1 or y.dtype.kind not in "iu":
            return None
        values = np.unique(y)
        if len(values) > FEW_VALUES:
            return None
        name, count = self.rows.target_names[0], len(values)
        taken, other = ("numbers", "classification")
        if self.task == "classification":
            taken, other = ("classes", "regression")
        return (
            f"note: target {name!r} has {count} different whole numbers and was taken as {taken} "
            f"(--task {other} changes it)"
        )

    @property
    def order_warning(self) -> str | None:
        """Where rows are in the order of time, and yet any of them are held out."""
        if self.order is not None or self.groups is not None or self.train_rows is not None:
            return None
        X, names = self.rows.X, [*self.rows.further, *self.rows.feature_names]
        own = X.arrays.values() if isinstance(X, RawTable) else X.T
        reason = time_order(names, [*self.rows.further.values(), *own], self.rows.y)
        return reason and (
            f"warning: {reason}: rows seem to be in the order of time, and test rows at random are "
            "neighbours of training rows; --split chronological tests on the last ones"
        )


def read(args: argparse.Namespace) -> Data:
    if (args.data is None) == (args.dataset is None):
        raise ParameterError(
            "rows must come from a data file or --dataset, and not both; "
            "give for example data.csv --target y"
        )
    return _read_file(args) if args.dataset is None else _read_dataset(args)


def _read_file(args: argparse.Namespace) -> Data:
    if not args.target:
        raise ParameterError("--target must name the column to learn; give --target y")
    kind, column = _split_kind(args)
    categories = getattr(args, "categories", [])
    rows = read_rows(
        args.data,
        args.target,
        args.features,
        args.drop,
        least=FEWEST_ROWS,
        options=table_options(args),
        categories=categories,
        further=[] if column is None else [column],
        show_progress=not getattr(args, "quiet", False),
    )
    task = args.task
    if task == "auto":
        task = "regression" if rows.y.dtype.kind in "fiu" else "classification"
    path = Path(args.data)
    # The name without its folder: equal tables give equal files, wherever they are.
    about = {"name": path.name, "target": list(rows.target_names)}
    if kind != "random":
        about["split"] = kind if column is None else f"{kind}:{column}"
    if args.test_groups is not None:
        about["test_groups"] = args.test_groups
    name = path.name.partition(".")[0]
    data = Data(_checked(rows, task), task, name, about, settings=_settings(args, rows, categories))
    if args.test is not None:
        return _with_test_rows(data, args)
    if kind == "groups":
        groups = rows.further[column or ""]
        return replace(data, groups=groups, test_groups=_test_groups(args, groups))
    return replace(data, order=_order(rows, column)) if kind == "chronological" else data


def _settings(
    args: argparse.Namespace, rows: FileRows, categories: Sequence[str]
) -> dict[str, Any]:
    """Parameters of the learner for the columns that were not left out."""
    found: dict[str, Any] = {}
    if categories:
        named = split_names(categories, rows.feature_names)
        found["categories"] = [name for name in named if name in rows.feature_names]
    if hasattr(args, "missing"):
        found["missing"] = args.missing
    return found


def _split_kind(args: argparse.Namespace) -> tuple[str, str | None]:
    """How rows are split, and the column that says so."""
    kind, _, column = (args.split or "random").partition(":")
    if kind not in ("random", "chronological", "groups") or (kind != "groups" and column):
        raise ParameterError(
            f"--split must be random, chronological or groups:COLUMN, not {args.split!r}"
        )
    if kind == "groups" and not column:
        raise ParameterError("--split groups must name a column, as in groups:batch")
    if args.time is not None and kind != "chronological":
        raise ParameterError("--time must be given with --split chronological alone")
    if args.test_groups is not None and kind != "groups":
        raise ParameterError("--test-groups must be given with --split groups:COLUMN alone")
    if args.test_groups is not None and args.test_fraction is not None:
        raise ParameterError(
            "--test-groups and --test-fraction must not both be given; leave one out"
        )
    if args.split is not None and args.test is not None:
        raise ParameterError("--split and --test must not both be given; leave one out")
    return kind, column or args.time


def _test_groups(args: argparse.Namespace, groups: NDArray) -> tuple[str, ...]:
    """The groups that are to be held out, by their names."""
    known = np.unique(_group_names(groups)).tolist()
    wanted = split_names(args.test_groups or (), known)
    for name in wanted:
        if name not in known:
            raise ParameterError(
                f"--test-groups must be groups of --split, not {name!r}; "
                f"{did_you_mean(name, known)}"
            )
    if set(wanted) == set(known):
        raise ParameterError(
            "--test-groups must leave a group to train on, not name all of them; name fewer"
        )
    return tuple(wanted)


def _group_names(groups: NDArray) -> NDArray:
    """What a table calls its groups: 2014 is the same year with and without a decimal point."""
    return np.array([label_of(value) or "" for value in groups.tolist()], dtype=str)


def _order(rows: FileRows, column: str | None) -> NDArray:
    """Row numbers from the first to the last in time; by a column of dates where there is one."""
    if column is None:
        dated = [n for n, v in rows.further.items() if v.dtype.kind in "OM"]
        column = dated[0] if dated else None
    if column is None:
        return np.arange(len(rows.y))
    values = rows.further[column]
    if values.dtype == object:
        numbers = [to_number(str(value)) for value in values.tolist()]
        if None not in numbers:
            values = np.array(numbers)
    # Stable: rows of one time stay in the order of the file.
    return np.argsort(times_of(column, values), kind="stable")


def _with_test_rows(data: Data, args: argparse.Namespace) -> Data:
    """The rows of ``--test`` after those of the data file, with the same columns."""
    if args.test_fraction is not None:
        raise ParameterError("--test and --test-fraction must not both be given; leave one out")
    rows, path = data.rows, Path(args.test)
    if path.exists() and path.samefile(args.data):
        raise ParameterError("--test must be another file than the data file; name its test rows")
    tested = read_rows(
        path,
        rows.target_names,
        rows.feature_names,
        varying=False,
        options=table_options(args),
        categories=data.settings.get("categories", []),
    )
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
    both = below(rows, tested)
    about = data.about | {"test": path.name}
    return replace(data, rows=both, about=about, train_rows=len(rows.X), files=(path,))


def _read_dataset(args: argparse.Namespace) -> Data:
    if args.target or args.features or args.drop or args.test or args.split or args.test_groups:
        raise ParameterError(
            "--target, --features, --drop, --test and --split must be left out with --dataset, "
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
        files=source.files,
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
    if data.test_groups:
        assert data.groups is not None
        held = np.isin(_group_names(data.groups), data.test_groups)
        return np.flatnonzero(~held), np.flatnonzero(held)
    fraction = TEST_FRACTION if fraction is None else fraction
    if not 0 <= fraction < 1:
        raise ParameterError(f"--test-fraction must be at least 0 and below 1, not {fraction!r}")
    return part(data, np.arange(count), fraction, np.random.default_rng(seed))


def part(
    data: Data, rows: NDArray, fraction: float, random: np.random.Generator
) -> tuple[NDArray, NDArray]:
    """Some row numbers in two parts as the split of the data has it, the second held back."""
    if data.order is not None:
        ordered = data.order[np.isin(data.order, rows)]
        kept = len(ordered) - min(round(fraction * len(ordered)), len(ordered) - 1)
        return np.sort(ordered[:kept]), np.sort(ordered[kept:])
    if data.groups is not None:
        return _by_groups(data.groups, rows, fraction, random)
    train, held = held_back(data.rows.y[rows], data.task, fraction, random)
    return rows[train], rows[held]


def _by_groups(
    groups: NDArray, rows: NDArray, fraction: float, random: np.random.Generator
) -> tuple[NDArray, NDArray]:
    """Whole groups are held back until they have the share that is wanted, or come close."""
    names, place = np.unique(groups[rows].astype(str), return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"--split groups must have at least two groups, not {len(names)}; name another column"
        )
    sizes, wanted = np.bincount(place), fraction * len(rows)
    held = np.zeros(len(names), dtype=bool)
    # One group is never asked, so that there is one to train on.
    for group in random.permutation(len(names))[: len(names) - 1].tolist():
        if abs(sizes[held].sum() + sizes[group] - wanted) < abs(sizes[held].sum() - wanted):
            held[group] = True
    return rows[~held[place]], rows[held[place]]


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
        # At least one row of each class stays to train on.
        count = min(round(fraction * len(rows)), len(rows) - 1)
        held[random.permutation(rows)[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
