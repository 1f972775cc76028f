"""Files of columns, one class per format; :mod:`scm_train.data.files` says which and how."""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from scm_model.suggestions import did_you_mean
from scm_train.data.unpacking import NUMBER_BYTES, check_size, check_unpacked
from scm_train.errors import DataError

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
#: Fields in memory as text at a time; each takes some 60 bytes.
_FIELDS_PER_CHUNK = 1 << 20
#: Characters of the longest line; a file without line feeds is no table.
_LONGEST_LINE = 1 << 24


_DAMAGE = (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error, zipfile.BadZipFile)


class Source(ABC):
    """An open data file: its column names are known, its data unread."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self.names = [name.strip() for name in names]
        _check_names(path, self.names)

    @abstractmethod
    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> dict[str, NDArray]:
        """Read columns, each (n,): ``numbers`` in float64 and finite; ``labels`` of any type."""


def _check_names(path: Path, names: list[str]) -> None:
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"column {position} of {path.name} must have a name; "
                "give it one, or write the file without an index"
            )
        if name in names[: position - 1]:
            raise DataError(
                f"column names of {path.name} must be distinct, not {name!r} twice; rename one"
            )


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a data file by the ending of its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2:-1] if packed else suffixes[-1:]
    kind = ending[0] if ending else ""
    try:
        if kind in _DELIMITERS:
            with _open_text(path, packed) as file:
                yield TextSource(path, file, _DELIMITERS[kind])
        elif kind in _BINARY and not packed:
            yield _BINARY[kind](path)
        else:
            known = [*_DELIMITERS, *_BINARY]
            raise DataError(
                f"data file must end in {', '.join(known)} (text also in .gz), not {path.name!r}; "
                f"{did_you_mean(kind, known)}"
            )
    except FileNotFoundError:
        raise DataError(
            f"can't read {str(path)!r}: there is no such file; check the name"
        ) from None
    except MemoryError:
        raise DataError(
            f"can't read {str(path)!r}: there is too little memory; take fewer rows or columns"
        ) from None
    except _DAMAGE as error:
        raise DataError(f"can't read {str(path)!r}: {_reason(error)}; check the file") from error


def _reason(error: BaseException) -> str:
    """What a library says, as a part of our line."""
    return str(error).rstrip(".")


def _open_text(path: Path, packed: bool) -> TextIO:
    # utf-8-sig: spreadsheets put a byte order mark first, which would join the first name.
    if packed:
        check_unpacked(path)
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


class TextSource(Source):
    """CSV and TSV, read in chunks of rows."""

    def __init__(self, path: Path, file: TextIO, delimiter: str) -> None:
        blank = 0
        lines = _lines(path, file)
        header = next(lines, "")
        while header and not header.strip():
            blank += 1
            header = next(lines, "")
        if not header:
            raise DataError(f"data file must have a header and rows, not be empty: {path.name!r}")
        if delimiter == "," and "," not in header and ";" in header:
            delimiter = ";"
        names = next(csv.reader([header], delimiter=delimiter))
        if all(_is_number(name) for name in names):
            raise DataError(
                f"first line of {path.name} must be column names, not {header.strip()[:40]!r}; "
                "put a line of names before the numbers"
            )
        super().__init__(path, names)
        self._reader = csv.reader(lines, delimiter=delimiter)
        self._lines_before = blank + 1

    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> dict[str, NDArray]:
        parts: dict[str, list] = {name: [] for name in (*numbers, *labels)}
        lines = self._rows()
        while rows := list(islice(lines, max(1, _FIELDS_PER_CHUNK // len(self.names)))):
            fields = dict(zip(self.names, zip(*(row for _, row in rows), strict=True), strict=True))
            for name in numbers:
                parts[name].append(self._numbers(name, fields[name], rows))
            for name in labels:
                parts[name].append(np.array([text.strip() for text in fields[name]]))
        # A column's parts are let go as soon as they are joined.
        columns: dict[str, NDArray] = {
            name: np.concatenate(parts.pop(name) or [np.empty(0)]) for name in numbers
        }
        for name in labels:
            joined = np.concatenate(parts.pop(name) or [np.empty(0, dtype=str)])
            columns[name] = self._labels(name, joined)
        return columns

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows that aren't blank, with the numbers of their lines in the file."""
        for row in filter(None, self._reader):
            line = self._reader.line_num + self._lines_before
            if len(row) != len(self.names):
                raise DataError(
                    f"line {line} of {self.path.name} must have {len(self.names)} fields as the "
                    f"header has, not {len(row)}; correct the line"
                )
            yield line, row

    def _numbers(self, name: str, texts: Sequence[str], rows: list) -> NDArray[np.float64]:
        try:
            values = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
        except ValueError:
            bad = next(i for i, text in enumerate(texts) if not _is_number(text))
        else:
            if np.isfinite(values).all():
                return values
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"column {name!r} must be finite numbers, not {texts[bad]!r} in line {rows[bad][0]} of "
            f"{self.path.name}; correct the value, or drop the column"
        )

    def _labels(self, name: str, labels: NDArray) -> NDArray:
        """Whole numbers, else numbers, else text: the narrowest that holds every label."""
        if (labels == "").any():
            raise DataError(
                f"column {name!r} must have a value in every row, not '' in row "
                f"{int(np.argmax(labels == '')) + 1} of {self.path.name}; correct or remove the row"
            )
        for kind in (np.int64, np.float64):
            with suppress(ValueError, OverflowError):
                labels = labels.astype(kind)
                break
        return finite(name, labels, self.path)


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file, none of them so long that it would fill the memory."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise DataError(
                f"lines of {path.name} must be of at most {_LONGEST_LINE} characters; "
                "check that it is a table"
            )
        yield line


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def finite(name: str, values: NDArray, path: Path) -> NDArray:
    """Return ``values`` if all are finite."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"column {name!r} must be finite numbers, not {float(values[row])} in row {row + 1} of "
            f"{path.name}; correct the value, or drop the column"
        )
    return values


def as_numbers(name: str, values: NDArray, path: Path) -> NDArray[np.float64]:
    """Return ``values`` as finite float64."""
    if values.dtype.kind not in "fiub":
        raise DataError(
            f"column {name!r} of {path.name} must be numbers, not {values.dtype}; drop the column"
        )
    return finite(name, values.astype(np.float64), path)


class ArraySource(Source):
    """``.npy`` and ``.npz``."""

    def __init__(self, path: Path) -> None:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                check_size(path, sum(entry.file_size for entry in archive.infolist()))
        try:
            loaded = np.load(path, allow_pickle=False)
            entries = {"x": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
        except ValueError as error:
            raise DataError(
                f"can't read {path.name!r}: {_reason(error)}; save plain arrays of numbers or text"
            ) from None
        self._columns: dict[str, NDArray] = {}
        for entry, array in entries.items():
            self._columns |= _array_columns(entry, array, path)
        if len({len(column) for column in self._columns.values()}) != 1:
            raise DataError(
                f"arrays of {path.name} must have equally many rows, at least one array"
            )
        super().__init__(path, list(self._columns))

    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> dict[str, NDArray]:
        columns = {name: as_numbers(name, self._columns[name], self.path) for name in numbers}
        return columns | {name: finite(name, self._columns[name], self.path) for name in labels}


def _array_columns(entry: str, array: NDArray, path: Path) -> dict[str, NDArray]:
    if array.ndim == 1 and entry != "x":
        return {entry: array}
    if array.ndim != 2:
        raise DataError(
            f"arrays of {path.name} must be matrices or columns, not of shape {array.shape}"
        )
    return {f"{entry}{i}": column for i, column in enumerate(array.T, start=1)}


class ParquetSource(Source):
    """Parquet, of which only the columns asked for are read."""

    def __init__(self, path: Path) -> None:
        self._parquet = _import_parquet()
        if not path.exists():
            raise FileNotFoundError(path)
        try:
            names = self._parquet.read_schema(path).names
        except ValueError as error:
            raise DataError(
                f"can't read {path.name!r}: {_reason(error)}; write the Parquet file again"
            ) from None
        super().__init__(path, names)

    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> dict[str, NDArray]:
        rows = self._parquet.read_metadata(self.path).num_rows
        check_size(self.path, NUMBER_BYTES * rows * len({*numbers, *labels}))
        table = self._parquet.read_table(self.path, columns=[*numbers, *labels])
        columns: dict[str, NDArray] = {}
        for name in (*numbers, *labels):
            column = table[name]
            if column.null_count:
                raise DataError(
                    f"column {name!r} of {self.path.name} must have a value in every row, not "
                    f"{column.null_count} without; fill in or remove those rows"
                )
            values = column.to_numpy()
            values = values.astype(str) if values.dtype == object else values
            check: Callable = as_numbers if name in numbers else finite
            columns[name] = check(name, values, self.path)
        return columns


def _import_parquet() -> ModuleType:
    try:
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "can't read Parquet files: pyarrow is not installed; "
            "run `pip install 'scm-hw[parquet]'`, or convert the file to CSV"
        ) from None
    return pyarrow.parquet


_BINARY: dict[str, Callable[[Path], Source]] = {
    ".parquet": ParquetSource,
    ".npy": ArraySource,
    ".npz": ArraySource,
}
