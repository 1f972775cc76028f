"""Opens data files by the ending of their names; :mod:`scm_train.data.files` says which and how."""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scm_model.suggestions import did_you_mean
from scm_train.data.binary_sources import ArraySource, ExcelSource, ParquetSource
from scm_train.data.dialect import TableOptions
from scm_train.data.source import Source
from scm_train.data.text_source import TextSource
from scm_train.data.unpacking import check_unpacked
from scm_train.errors import DataError
from scm_train.progress import reading_bar

__all__ = ["Source", "open_source"]

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
    path: Path, options: TableOptions | None = None, *, show_progress: bool = False
) -> Iterator[Source]:
    """Open a data file by the ending of its name; a bar shows how far a large one is read."""
    options = options or TableOptions()
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2:-1] if packed else suffixes[-1:]
    kind = ending[0] if ending else ""
    try:
        with ExitStack() as open_files:
            if kind in _TEXT:
                yield _text_source(path, packed, options, kind, open_files, show_progress)
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
    show_progress: bool,
) -> Source:
    raw = open_files.enter_context(path.open("rb"))
    report = open_files.enter_context(reading_bar(show_progress, path.name, path.stat().st_size))
    file = raw
    if packed:
        check_unpacked(path)
        file = open_files.enter_context(gzip.GzipFile(fileobj=raw, mode="rb"))
    return TextSource(path, file, options, ending, lambda: report(raw.tell()))
