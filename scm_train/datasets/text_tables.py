"""Public data sets that are one table in one text file."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scm_model.tables.unpacking import check_unpacked
from scm_train.datasets import store
from scm_train.datasets.dataset import Dataset
from scm_train.errors import DataError

__all__ = ["TABLES", "TextTable", "load_table", "read_csv", "source"]

MALFORMED = (OSError, EOFError, ValueError, zlib.error, csv.Error)
"""Everything that reading a damaged or wrong text file, plain or gzipped, can raise."""

Codes = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class TextTable:
    """A text file of comma-separated columns, inputs and one target, and where to get it.

    `files` are the names it goes by, best first; a name ending in .gz is gzipped. With `header` the
    first line names the columns, and each name must contain ours. `codes` gives numbers for the
    words of a column. `openml` is an OpenML data_id, or None where only a file will do.
    """

    name: str
    files: tuple[str, ...]
    features: tuple[str, ...]
    target: str
    rows: int
    description: str
    origin: str
    header: bool = True
    target_first: bool = False
    codes: Codes = field(default_factory=dict)
    openml: int | None = None
    train_rows: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        if self.target_first:
            return (self.target, *self.features)
        return (*self.features, self.target)


SEX = {"I": 0.0, "M": 1.0, "F": 2.0}
"""Abalone's one word, as a number so that the paper's 8 inputs stay 8; in order of mean age."""

TABLES = {
    table.name: table
    for table in (
        TextTable(
            name="abalone",
            files=("abalone.csv",),
            features=(
                "sex",
                "length",
                "diameter",
                "height",
                "whole_weight",
                "shucked_weight",
                "viscera_weight",
                "shell_weight",
            ),
            target="rings",
            rows=4177,
            description="R-DB1: age of abalone in rings; sex is 0 infant, 1 male, 2 female",
            origin="UCI Abalone",
            codes={0: SEX},
            openml=183,
        ),
        TextTable(
            name="concrete",
            files=("concrete.csv",),
            features=(
                "cement",
                "slag",
                "fly_ash",
                "water",
                "superplasticizer",
                "coarse_aggregate",
                "fine_aggregate",
                "age",
            ),
            target="strength",
            rows=1030,
            description="R-DB2: compressive strength of concrete (MPa) from kg/m3 and days",
            origin="UCI Concrete Compressive Strength",
            openml=4353,
        ),
        TextTable(
            name="ccpp",
            files=("ccpp.csv",),
            features=("AT", "V", "AP", "RH"),
            target="PE",
            rows=9568,
            description="R-DB3: electrical output of a combined-cycle power plant (MW)",
            origin="UCI Combined Cycle Power Plant",
        ),
        TextTable(
            name="boston",
            files=("boston_housing.csv",),
            features=(
                "CRIM",
                "ZN",
                "INDUS",
                "CHAS",
                "NOX",
                "RM",
                "AGE",
                "DIS",
                "RAD",
                "TAX",
                "PTRATIO",
                "B",
                "LSTAT",
            ),
            target="MEDV",
            rows=506,
            description="R-DB4: median house value in Boston's towns (1000 USD)",
            origin="StatLib Boston housing",
            openml=531,
        ),
        TextTable(
            name="twitter_buzz",
            files=("Twitter.data", "Twitter.data.gz"),
            features=tuple(f"{group}_{week}" for group in (
                "NCD", "AI", "AS_NA", "BL", "NAC", "AS_NAC", "CS", "AT", "NA", "ADL", "NAD"
            ) for week in range(7)),
            target="mean_discussions",
            rows=583_250,
            description="R-DB5: mean number of active discussions of a topic on Twitter",
            origin="UCI Buzz in social media, regression/Twitter",
            header=False,
            openml=4549,
        ),
        TextTable(
            name="year_prediction",
            files=("YearPredictionMSD.txt", "YearPredictionMSD.txt.gz"),
            features=(
                *(f"timbre_mean_{i}" for i in range(12)),
                *(f"timbre_covariance_{i}" for i in range(78)),
            ),
            target="year",
            rows=515_345,
            description="R-DB6: year of a song from its timbre; the source's own split by artist",
            origin="UCI YearPredictionMSD",
            header=False,
            target_first=True,
            train_rows=463_715,
        ),
    )
}  # fmt: skip


def load_table(name: str) -> Dataset:
    """One of `TABLES`, fetched from OpenML into the cache first where no file is found."""
    table = TABLES[name]
    path = store.find(table.files) or _fetched(table)
    header = table.columns if table.header else None
    values = read_csv(path, len(table.columns), header=header, codes=table.codes)
    y, X = (values[:, 0], values[:, 1:]) if table.target_first else (values[:, -1], values[:, :-1])
    return Dataset(
        name=name,
        X=np.ascontiguousarray(X),
        y=y.copy(),
        feature_names=table.features,
        target_names=(table.target,),
        task="regression",
        description=table.description,
        # A shortened copy of the file has lost the source's split.
        train_rows=table.train_rows if len(values) == table.rows else None,
        files=(path,),
    )


def source(name: str, files: Sequence[str], origin: str) -> Path:
    """The file of a data set that no service offers, or the error that says where it comes from."""
    path = store.find(files)
    if path is None:
        raise store.missing(name, files, f"download it from {origin} to that folder")
    return path


def read_csv(
    path: Path,
    columns: int,
    *,
    header: Sequence[str] | None = None,
    codes: Codes | None = None,
) -> NDArray[np.float64]:
    """All rows of a comma-separated file of `columns` finite numbers, gzipped or not.

    `header` are words that the first line's names must contain, in order; None: no such line.
    """
    try:
        if path.suffix == ".gz":
            check_unpacked(path)
        if header is not None:
            _check_header(path, header)
        values = _numbers(path, 1 if header is not None else 0, codes or {})
    except MALFORMED as error:
        if isinstance(error, DataError):
            raise
        reason = " ".join(str(error).split())
        raise DataError(
            f"can't read a table of numbers from {path}: {reason}; download the file again"
        ) from error
    _check_values(path, values, columns)
    return values


def _numbers(path: Path, skip: int, codes: Codes) -> NDArray[np.float64]:
    converters = {column: _coder(words) for column, words in codes.items()}
    with warnings.catch_warnings():
        # An empty file is refused below, with a line of our own.
        warnings.filterwarnings("ignore", message=".*input contained no data.*")
        return np.loadtxt(
            path,
            delimiter=",",
            skiprows=skip,
            converters=converters or None,
            encoding="utf-8",
            ndmin=2,
            comments=None,
        )


def _coder(words: Mapping[str, float]) -> Callable[[str], float]:
    return lambda word: words[word.strip()]  # loadtxt turns the KeyError into row and column


def _check_header(path: Path, expected: Sequence[str]) -> None:
    opened: IO[Any] = (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8")
    with opened as file:
        names = next(csv.reader(file), [])
    plain = [re.sub(r"\W+", "_", name).lower() for name in names]
    fits = len(plain) == len(expected) and all(
        word.lower() in name for word, name in zip(expected, plain, strict=True)
    )
    if not fits:
        raise DataError(
            f"{path} must begin with a line naming {', '.join(expected)}, "
            f"not {','.join(names)[:80]!r}; download it again"
        )


def _check_values(path: Path, values: NDArray, columns: int) -> None:
    if not len(values) or values.shape[1] != columns:
        raise DataError(
            f"{path} must have rows of {columns} columns, not "
            f"{len(values)} rows of {values.shape[1]}; download it again"
        )
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0] + 1
        raise DataError(
            f"{path} must hold finite numbers, not {values[row - 1, column - 1]!r} "
            f"(row {row}, column {column}); download it again"
        )


def _fetched(table: TextTable) -> Path:
    """Download `table` into the cache, in the same form as the file, and return its path."""
    if table.openml is None:
        remedy = f"download it from {table.origin} to that folder"
        raise store.missing(table.name, table.files, remedy)
    frame = store.fetch(table.name, table.openml, table.files).frame
    if frame.shape[1] != len(table.columns):
        raise DataError(
            f"OpenML's data_id {table.openml} must have {len(table.columns)} columns, "
            f"not {frame.shape[1]}; put {table.files[0]} into SCM_DATA by hand"
        )

    def write(file: IO[bytes]) -> None:
        header = list(table.columns) if table.header else False
        frame.to_csv(file, index=False, header=header)

    path = store.cache_folder() / table.files[0]
    store.write_atomically(path, write)
    return path
