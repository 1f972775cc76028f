"""Opens data files by the ending of their names: text tables (also gzipped), Excel, Parquet,
``.npy`` and ``.npz``.

- How a text table is written is guessed, and can be told: :mod:`scm_model.tables.dialect`.
- The columns of an ``.npy`` matrix are called ``x1``, ``x2``, ... In an ``.npz``, a one-dimensional
  entry is a column, and a two-dimensional entry ``X`` gives the columns ``X1``, ``X2``, ...
"""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from scm_model.errors import DataError
from scm_model.suggestions import did_you_mean
from scm_model.tables.binary_sources import ArraySource, ExcelSource, ParquetSource
from scm_model.tables.dialect import TableOptions
from scm_model.tables.source import Source
from scm_model.tables.text_source import TextSource
from scm_model.tables.unpacking import check_unpacked

__all__ = ["Bar", "Source", "open_source"]

#: Takes a file's name and size; gives a context whose function is called with the bytes read.
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]

_TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".asc")
_BINARY: dict[str, Callable[[Path, TableOptions], Source]] = {
    ".parquet": lambda path, options: ParquetSource(path),
    ".npy": lambda path, options: ArraySource(path),
    ".npz": lambda path, options: ArraySource(path),
    ".xlsx": ExcelSource,
    ".xlsm": ExcelSource,
}
_DAMAGE = (OSError, EOFError, UnicodeError, csv.Error, zlib.error, zipfile.BadZipFile)


@contextmanager
def open_source(
    path: Path, options: TableOptions | None = None, *, bar: Bar | None = None
) -> Iterator[Source]:
    """Open a data file by the ending of its name; ``bar`` shows how far a text file is read."""
    options = options or TableOptions()
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2:-1] if packed else suffixes[-1:]
    kind = ending[0] if ending else ""
    try:
        with ExitStack() as open_files:
            if kind in _TEXT:
                yield _text_source(path, packed, options, kind, open_files, bar)
            elif kind in _BINARY and not packed:
                yield _BINARY[kind](path, options)
            else:
                known = [*_TEXT, *_BINARY]
                raise DataError(
                    f"data file must end in {', '.join(known)} (text also in .gz), "
                    f"not {path.name!r}; {did_you_mean(kind, known)}"
                )
    except FileNotFoundError:
        raise DataError(
            f"can't read {str(path)!r}: there is no such file; check the name"
        ) from None
    except MemoryError:
        raise DataError(
            f"can't read {str(path)!r}: there is too little memory; take fewer rows or columns"
        ) from None
    except UnicodeError as error:
        raise DataError(
            f"can't read {str(path)!r}: {str(error).rstrip('.')}; give another --encoding"
        ) from error
    except _DAMAGE as error:
        raise DataError(
            f"can't read {str(path)!r}: {str(error).rstrip('.')}; check the file"
        ) from error


def _text_source(
    path: Path,
    packed: bool,
    options: TableOptions,
    ending: str,
    open_files: ExitStack,
    bar: Bar | None,
) -> Source:
    raw = open_files.enter_context(path.open("rb"))
    report = None
    if bar is not None:
        report = open_files.enter_context(bar(path.name, path.stat().st_size))
    file: BinaryIO = raw
    if packed:
        check_unpacked(path)
        file = cast(BinaryIO, open_files.enter_context(gzip.GzipFile(fileobj=raw, mode="rb")))

    def tick() -> None:
        if report is not None:
            report(raw.tell())

    return TextSource(path, file, options, ending, tick)
