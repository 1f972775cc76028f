"""NumPy's arrays, Parquet and Excel as tables."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.errors import DataError
from scm_model.suggestions import did_you_mean
from scm_model.tables.column_values import column_of, narrowest, number_column
from scm_model.tables.dialect import TableOptions
from scm_model.tables.source import Source
from scm_model.tables.unpacking import NUMBER_BYTES, check_size

__all__ = ["ArraySource", "ExcelSource", "ParquetSource"]

#: Rows of a sheet that are looked at for names and units.
_HEAD_ROWS = 20
_EXCEL_FIELDS = 1 << 26
#: What a cell may be.
_CELLS = (str, bool, int, float, date, time, Decimal, type(None))


class _ArraysSource(Source):
    """A source whose columns are arrays already."""

    def __init__(self, path: Path, columns: dict[str, NDArray[Any]]) -> None:
        self._columns = columns
        super().__init__(path, list(columns))

    def read(
        self, names: Sequence[str], labels: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> dict[str, NDArray[Any]]:
        found = {name: self._column(name) for name in names}
        return found | {name: self._label(name) for name in labels}

    def _column(self, name: str) -> NDArray[Any]:
        return checked(name, self._columns[name], self.path)

    def _label(self, name: str) -> NDArray[Any]:
        values = self._columns[name]
        if values.dtype.kind in "iub":
            return values
        found = self._column(name)
        if found.dtype.kind == "f" and values.dtype.kind != "f":
            return number_column(found, bool((found == np.floor(found)).all()))
        return narrowest(found)


def checked(name: str, values: NDArray[Any], path: Path) -> NDArray[Any]:
    """Values as readers give them: float64 without infinities, dates, or objects."""
    if values.dtype.kind in "fiu":
        found = values.astype(np.float64)
        if np.isinf(found).any():
            row = int(np.argmax(np.isinf(found)))
            raise DataError(
                f"column {name!r} must be finite numbers, not {found[row]} in row {row + 1} of "
                f"{path.name}; correct the value, or drop the column"
            )
        return found
    if values.dtype.kind == "M":
        return values
    kinds = {type(value) for value in values.tolist()} if values.dtype.kind in "USOb" else {dict}
    if all(issubclass(kind, _CELLS) for kind in kinds):
        found = column_of(values.tolist())
        return found.astype(np.float64) if found.dtype.kind == "i" else found
    raise DataError(
        f"column {name!r} of {path.name} must be numbers or text, not {values.dtype}; "
        "drop the column"
    )


class ArraySource(_ArraysSource):
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
                f"can't read {path.name!r}: {str(error).rstrip('.')}; "
                "save plain arrays of numbers or text"
            ) from None
        columns: dict[str, NDArray[Any]] = {}
        for entry, array in entries.items():
            columns |= _array_columns(entry, array, path)
        if len({len(column) for column in columns.values()}) != 1:
            raise DataError(
                f"arrays of {path.name} must have equally many rows, at least one array"
            )
        super().__init__(path, columns)


def _array_columns(entry: str, array: NDArray[Any], path: Path) -> dict[str, NDArray[Any]]:
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
                f"can't read {path.name!r}: {str(error).rstrip('.')}; write the Parquet file again"
            ) from None
        super().__init__(path, names)

    def read(
        self, names: Sequence[str], labels: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> dict[str, NDArray[Any]]:
        wanted = list(dict.fromkeys([*names, *labels]))
        rows = self._parquet.read_metadata(self.path).num_rows
        check_size(self.path, NUMBER_BYTES * rows * len(wanted))
        table = self._parquet.read_table(self.path, columns=wanted)
        columns = {name: _decoded(table[name]).to_numpy() for name in wanted}
        return _ArraysSource(self.path, columns).read(names, labels, texts)


def _decoded(column: Any) -> Any:
    """A column of categories as their labels, which keeps those that are missing."""
    kind = getattr(column.type, "value_type", None)
    return column.cast(kind) if hasattr(column.type, "index_type") else column


def _import_parquet() -> ModuleType:
    try:
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "can't read Parquet files: pyarrow is not installed; "
            "run `pip install 'scm-hw[parquet]'`, or convert the file to CSV"
        ) from None
    return pyarrow.parquet


class ExcelSource(_ArraysSource):
    """A sheet of an Excel file, the first one unless named: names, perhaps units, and rows."""

    def __init__(self, path: Path, options: TableOptions) -> None:
        openpyxl = _import_openpyxl()
        if not path.exists():
            raise FileNotFoundError(path)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                check_size(path, sum(entry.file_size for entry in archive.infolist()))
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            sheet = _sheet(book, options.sheet, path)
            rows = list(islice(sheet.iter_rows(values_only=True), _EXCEL_FIELDS))
        except DataError:
            raise
        # The library lets through what its archive, XML and own checks raise.
        except Exception as error:
            raise DataError(
                f"can't read {path.name!r}: {str(error).rstrip('.')[:200]}; "
                "save it again as .xlsx, or as .csv"
            ) from None
        super().__init__(path, self._columns_of(path, rows, options))

    def _columns_of(
        self, path: Path, rows: list[tuple[Any, ...]], options: TableOptions
    ) -> dict[str, NDArray[Any]]:
        self.notes = []
        rows = [row for row in rows if any(value is not None for value in row)]
        if not rows:
            raise DataError(f"data file must have a header and rows, not be empty: {path.name!r}")
        header = options.header
        if header is None:
            header = not all(_is_number(value) for value in rows[0])
        width = len(rows[0])
        names = [f"x{i}" for i in range(1, width + 1)]
        if header:
            names = [
                f"column {i}" if value is None else str(value).strip()
                for i, value in enumerate(rows[0], start=1)
            ]
        first = int(header) + int(header and _units(rows, options))
        if len(set(names)) < width:
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(
                f"column names of {path.name} must be distinct, not {twice!r} twice; rename one"
            )
        columns = zip(*rows[first:], strict=True) if rows[first:] else [()] * width
        return {name: column_of(values) for name, values in zip(names, columns, strict=True)}


def _units(rows: list[tuple[Any, ...]], options: TableOptions) -> bool:
    if options.units_row is not None:
        return options.units_row
    below = rows[2:_HEAD_ROWS]
    numbers = [i for i in range(len(rows[0])) if below and all(_is_number(row[i]) for row in below)]
    texts = [rows[1][i] for i in numbers]
    return any(isinstance(text, str) for text in texts) and not any(map(_is_number, texts))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sheet(book: Any, wanted: str | None, path: Path) -> Any:
    if wanted is None:
        return book.worksheets[0]
    if wanted not in book.sheetnames:
        raise DataError(
            f"--sheet must be a sheet of {path.name}, not {wanted!r}; "
            f"{did_you_mean(wanted, book.sheetnames)}"
        )
    return book[wanted]


def _import_openpyxl() -> ModuleType:
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            "can't read Excel files: openpyxl is not installed; "
            "run `pip install 'scm-hw[excel]'`, or save the sheet as CSV"
        ) from None
    return openpyxl
