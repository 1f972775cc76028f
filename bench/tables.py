"""Every table at hand with five splits into training, validation and test rows.

Rows that are exchangeable are split at random: a fifth to test, a fifth of the rest to validate.
Where a source has test rows of its own, or time matters, all splits have the same test rows, and
each split validates on another fifth of the training rows. Of rows in time order that are five
pieces spread over each run: few validation rows lie beside training rows that are nearly the same,
and the beginning of a run, where a fault hardly shows yet, is not all there is. Test rows decide
nothing.

=========================  ==========================================================
table                      test rows
=========================  ==========================================================
abalone, boston, ccpp,     random
concrete, dry_bean,
rolling_force,
steel_plates
cascaded_tanks             the validation record
debutanizer                the last quarter
emps_servo                 the second half
gas_turbine                the years 2014 and 2015
mnist                      the source's own
fashion_mnist              the last tenth of the shuffled training images
silverbox                  a sample of the first 40,000, the growing arrow head
tennessee_eastman          the source's own
=========================  ==========================================================

Words become one column of 0 and 1 each. Time series get past values of their inputs as columns.
The ones with two classes are made of tables with more: whether a plant is in its normal state, and
whether a fault of a steel plate is of a known kind.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scm_train import datasets

__all__ = ["NAMES", "SPLITS", "Split", "Table", "TableError", "load", "split", "validations"]

SPLITS = 5
TEST_SHARE = VALIDATION_SHARE = 0.2
#: Pieces of each run to validate on.
PIECES = 5
#: Of long records so many rows are drawn, the same ones for all splits.
MOST_ROWS = 20_000
#: Up to so many known rows what is chosen by one validation part alone is chosen by luck.
FEW_ROWS, VALIDATIONS = 5_000, 3


class TableError(ValueError):
    """A table's file is not at hand, or not what it should be."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to learn from, in raw units. With `train_rows` the rows after these are for testing.

    `ordered` rows are in time order; `runs` numbers the runs of several, one after the other.
    """

    name: str
    X: NDArray
    y: NDArray
    task: str
    train_rows: int | None = None
    ordered: bool = False
    runs: NDArray | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]

    @property
    def known(self) -> NDArray[np.intp]:
        """All rows but the test rows: what a learner with a validation of its own is given."""
        return np.concatenate([self.train, self.validation])


def split(table: Table, number: int) -> Split:
    rng = np.random.default_rng(number)
    rows = len(table.y)
    if table.train_rows is None:
        order = rng.permutation(rows)
        held = round(TEST_SHARE * rows)
        test, known = order[:held], order[held:]
    else:
        test, known = np.arange(table.train_rows, rows), np.arange(table.train_rows)
        known = known if table.ordered else rng.permutation(known)
    if not table.ordered:
        held = round(VALIDATION_SHARE * len(known))
        return Split(known[held:], known[:held], test)
    runs = np.zeros(len(known)) if table.runs is None else table.runs[known]
    validation = np.concatenate(
        [
            piece
            for run in np.unique(runs)
            for piece in np.array_split(known[runs == run], SPLITS * PIECES)[
                number % SPLITS :: SPLITS
            ]
        ]
    )
    return Split(np.setdiff1d(known, validation), validation, test)


def validations(table: Table, rows: Split) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and validation rows: the split's own, and of few exchangeable rows two more."""
    known = rows.known
    if table.ordered or len(known) > FEW_ROWS:
        return [(rows.train, rows.validation)]
    pieces = np.array_split(known, round(1 / VALIDATION_SHARE))
    return [(np.setdiff1d(known, piece), piece) for piece in pieces[-VALIDATIONS:]]


@lru_cache(maxsize=1)
def load(name: str) -> Table:
    if name not in _LOADERS:
        raise TableError(f"table must be one of {', '.join(NAMES)}, not {name!r}")
    return _LOADERS[name]()


def data_file(file: str) -> Path:
    folder = os.environ.get("SCM_DATA")
    path = Path(folder or ".") / file
    if folder is None or not path.is_file():
        raise TableError(f"can't read {file}: not found in SCM_DATA ({folder or 'not set'})")
    return path


def _columns(file: str) -> dict[str, NDArray]:
    """Columns by name: numbers where all are numbers, else words."""
    path = data_file(file)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        names, *rows = csv.reader(lines)
    columns = np.array(rows).T
    return {name: _numbers(column) for name, column in zip(names, columns, strict=True)}


def _numbers(words: NDArray) -> NDArray:
    try:
        return words.astype(np.float64)
    except ValueError:
        return words


def _inputs(columns: Mapping[str, NDArray]) -> NDArray[np.float64]:
    """Numbers as they are; of words one column of 0 and 1 each, of two words one for the second."""
    found = []
    for column in columns.values():
        if column.dtype.kind == "f":
            found.append(column)
            continue
        words = np.unique(column)
        found += [(column == word).astype(np.float64) for word in words[len(words) == 2 :]]
    return np.column_stack(found)


def _csv(name: str, file: str, target: str | None = None) -> Table:
    """A file whose target is its last column unless it is named; words are classes."""
    columns = _columns(file)
    y = columns.pop(target or list(columns)[-1])
    task = "regression" if y.dtype.kind == "f" else "classification"
    return Table(name, _inputs(columns), y, task)


def _known(name: str) -> Table:
    """A data set of `scm_train` as it is, without a split of its own."""
    data = datasets.load(name)
    return Table(name, data.X, data.y, data.task)


def _images(name: str) -> Table:
    data = datasets.load(name)
    train_rows = data.train_rows or len(data.y) * 9 // 10
    return Table(name, data.X, data.y, "classification", train_rows)


def _two_classes(name: str, of: Callable[[], Table], label: str) -> Table:
    """Whether a row of a table with more classes has the label."""
    table = of()
    y = np.where(table.y == label, label, f"not {label}")
    return Table(name, table.X, y, table.task, table.train_rows, table.ordered, table.runs)


def _tennessee_eastman() -> Table:
    parts = [_columns(f"tennessee_eastman_{part}.csv.gz") for part in ("train", "test")]
    train_rows = len(parts[0]["state"])
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    runs, _, y = (columns.pop(name) for name in ("run", "sample", "state"))
    X = _inputs(columns)
    return Table("tennessee_eastman", X, y, "classification", train_rows, ordered=True, runs=runs)


def _gas_turbine(name: str, target: str) -> Table:
    columns = _columns("gas_turbine.csv.gz")
    y = columns[target]
    train_rows = int(np.sum(columns["year"] < 2014))
    inputs = {k: v for k, v in columns.items() if k not in ("year", "CO", "NOX")}
    return Table(name, _inputs(inputs), y, "regression", train_rows, ordered=True)


def _past(columns: Sequence[NDArray], lags: Sequence[int]) -> NDArray[np.float64]:
    """Each column at each lag, for the rows from the largest lag on."""
    most = max(lags)
    return np.column_stack([c[most - lag : len(c) - lag] for c in columns for lag in lags])


#: A reboiler answers within some ten samples.
_DEBUTANIZER_LAGS = (0, 2, 5, 10)


def _debutanizer() -> Table:
    columns = _columns("debutanizer.csv")
    y = columns.pop("butane")[max(_DEBUTANIZER_LAGS) :]
    X = _past(list(columns.values()), _DEBUTANIZER_LAGS)
    return Table("debutanizer", X, y, "regression", len(y) * 3 // 4, ordered=True)


#: Levels follow the pump over minutes, at 4 s per sample.
_TANKS_LAGS = (0, 1, 2, 4, 8, 16, 32, 64)


def _cascaded_tanks() -> Table:
    """The lower tank's level from the pump's voltage alone, now and before."""
    columns = _columns("cascaded_tanks.csv")
    X = [_past([columns[f"u_{part}"]], _TANKS_LAGS) for part in ("est", "val")]
    y = [columns[f"y_{part}"][max(_TANKS_LAGS) :] for part in ("est", "val")]
    return Table(
        "cascaded_tanks",
        np.concatenate(X),
        np.concatenate(y),
        "regression",
        len(y[0]),
        ordered=True,
    )


def _emps_servo() -> Table:
    data = datasets.load("emps_servo")
    return Table("emps_servo", data.X, data.y, "regression", len(data.y) // 2, ordered=True)


_ARROW_HEAD = 40_000


def _silverbox() -> Table:
    """The next output from the input and two outputs before it."""
    u, y = _columns("silverbox.csv.gz").values()
    X = np.column_stack([_past([u], (0, 1, 2)), _past([y], (0, 1, 2))[:, 1:]])
    target = y[2:]
    head, rest = np.arange(_ARROW_HEAD - 2), np.arange(_ARROW_HEAD, len(target))
    rng = np.random.default_rng(0)
    train = np.sort(rng.choice(rest, MOST_ROWS, replace=False))
    test = np.sort(rng.choice(head, MOST_ROWS // 2, replace=False))
    rows = np.concatenate([train, test])
    return Table("silverbox", X[rows], target[rows], "regression", len(train), ordered=True)


def _steel_plates() -> Table:
    return _csv("steel_plates", "steel_plates_faults.csv", "Fault")


_LOADERS: dict[str, Callable[[], Table]] = {
    "boston": partial(_csv, "boston", "boston_housing.csv"),
    "concrete": partial(_csv, "concrete", "concrete.csv"),
    "abalone": partial(_csv, "abalone", "abalone.csv"),
    "ccpp": partial(_csv, "ccpp", "ccpp.csv"),
    "cascaded_tanks": _cascaded_tanks,
    "debutanizer": _debutanizer,
    "rolling_force": partial(_known, "rolling_force"),
    "emps_servo": _emps_servo,
    "gas_turbine_co": partial(_gas_turbine, "gas_turbine_co", "CO"),
    "gas_turbine_nox": partial(_gas_turbine, "gas_turbine_nox", "NOX"),
    "silverbox": _silverbox,
    "steel_plates": _steel_plates,
    "steel_plates_known": partial(
        _two_classes, "steel_plates_known", _steel_plates, "Other_Faults"
    ),
    "dry_bean": partial(_csv, "dry_bean", "dry_bean.csv.gz", "Class"),
    "tennessee_eastman": _tennessee_eastman,
    "tennessee_eastman_alarm": partial(
        _two_classes, "tennessee_eastman_alarm", _tennessee_eastman, "normal"
    ),
    "mnist": partial(_images, "mnist"),
    "fashion_mnist": partial(_images, "fashion_mnist"),
}

#: All tables, small ones first among each kind.
NAMES = tuple(_LOADERS)
