"""Tables of text, read in blocks of bytes: by compiled loops, and line by line where fields are
quoted.

Memory is that of the columns wanted, and of a block. Numbers become float64, NaN where a value is
missing; a column of which most values are no numbers is text.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from scm_model.errors import DataError
from scm_model.raw_columns import label_of
from scm_model.tables.column_values import TextColumn, narrowest, number_column
from scm_model.tables.dialect import TableOptions, encoding_of, guess, is_number, to_number
from scm_model.tables.source import Source

__all__ = ["TextSource"]

#: Bytes read at a time.
_BLOCK = 8 << 20
_HEAD = 64 << 10
#: Bytes of the longest line; a file without line feeds is no table.
_LONGEST_LINE = 1 << 24
#: Rows that decide whether a column is numbers, and fields to be looked at one by one at a time.
_SAMPLE_ROWS = 1000
#: Lines by which the dialect is guessed, if there are as many.
_HEAD_LINES = 100
_ODD_FIELDS = 1 << 16
#: Lines of quoted fields at a time.
_LINES = 1 << 14

#: In the places of columns: neither a number nor text is wanted. Text has -2 and below.
SKIPPED = -1

Floats = NDArray[np.float64]


class TextSource(Source):
    """CSV, TSV and their kin."""

    def __init__(
        self,
        path: Path,
        file: BinaryIO,
        options: TableOptions,
        ending: str,
        tick: Callable[[], None],
    ) -> None:
        """``tick`` is called now and then, as parts of the file have been read."""
        self._options, self._tick = options, tick
        head = file.read(_HEAD)
        self._encoding = options.encoding or encoding_of(head)
        self._guessed = options.encoding is None
        self._codec = self._encoding if _is_plain(self._encoding) else "utf-8"
        self._blocks = _blocks(file, head, self._encoding, path, tick)
        self._rest, whole = self._first_lines()
        if b"\0" in self._rest[:_HEAD]:
            raise DataError(
                f"can't read {path.name!r}: it is no text; check the file, or give its --encoding"
            )
        lines = self._rest.split(b"\n", _SAMPLE_ROWS)
        if len(lines) > 1 and (not whole or len(lines) > _SAMPLE_ROWS):
            # The last one is cut off, or the rest of the file.
            lines.pop()
        text = [self._decoded(line) for line in lines]
        self.dialect = guess(path.name, text, options, ending)
        names = [name or f"column {i}" for i, name in enumerate(self.dialect.names, start=1)]
        super().__init__(path, names)
        self.notes = [f"{path.name}: {note}" for note in self.dialect.notes]
        if self._guessed and self._encoding not in ("utf-8", "utf-8-sig"):
            self.notes.append(f"{path.name}: read with encoding {self._encoding} (--encoding)")
        skipped = self.dialect.skipped
        self._rest = self._rest[sum(len(line) + 1 for line in lines[:skipped]) :]
        self._line = skipped
        self._sample = [line for line in text[skipped:] if line.strip()][:_SAMPLE_ROWS]

    def _first_lines(self) -> tuple[bytes, bool]:
        """As many bytes as hold some lines, and whether they are all that there is."""
        found = b""
        while found.count(b"\n") < _HEAD_LINES:
            more = next(self._blocks, None)
            if more is None:
                return found, True
            found += more
            if b"\n" not in found and len(found) > _LONGEST_LINE:
                return found, False
        return found, False

    def read(
        self, names: Sequence[str], labels: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> dict[str, NDArray[Any]]:
        wanted = [*names, *labels]
        table = _Parts(self, wanted, self._text_columns(wanted, {*labels}) | {*texts}, {*texts})
        while self._rest:
            if b'"' in self._rest:
                self._read_lines(table)
                break
            self._read_block(table)
            self._rest += next(self._blocks, b"")
        return table.finished(labels)

    def _text_columns(self, wanted: Sequence[str], labels: set[str]) -> set[str]:
        """The columns that are no numbers, by the first rows; labels must all be."""
        rows = list(self._split(self._sample))
        found = set()
        for name in wanted:
            place = self.names.index(name)
            fields = [row[place].strip() for row in rows if len(row) == len(self.names)]
            known = [text for text in fields if not self.is_missing(text)]
            numbers = sum(is_number(text, self.dialect.decimal) for text in known)
            if known and (2 * numbers < len(known) or (name in labels and numbers < len(known))):
                found.add(name)
        return found

    def is_missing(self, text: str) -> bool:
        return label_of(text) is None or text in self._options.missing_values

    def _split(self, lines: Iterator[str] | Sequence[str]) -> Iterator[list[str]]:
        delimiter = self.dialect.delimiter
        if delimiter == " ":
            return (line.split() for line in lines)
        return csv.reader(lines, delimiter=delimiter)

    def _decoded(self, line: bytes) -> str:
        try:
            return line.decode(self._codec)
        except UnicodeDecodeError:
            # The first lines may have been plain ASCII.
            if not self._guessed:
                raise
            return line.decode("latin-1")

    # Blocks of plain fields

    def _read_block(self, table: _Parts) -> None:
        end = self._rest.rfind(b"\n") + 1
        more = None
        while not end and (more := next(self._blocks, None)) is not None:
            self._rest += more
            end = self._rest.rfind(b"\n") + 1
            self._check_line(end)
        if not end:
            end = len(self._rest)
        block, self._rest = self._rest[:end], self._rest[end:]
        if self.dialect.delimiter == " ":
            block = re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", block)
            block = re.sub(rb"[ \t]+", b"\t", block)
        self._scan(block, table)

    def _check_line(self, end: int) -> None:
        if not end and len(self._rest) > _LONGEST_LINE:
            raise DataError(
                f"lines of {self.path.name} must be of at most {_LONGEST_LINE} bytes; "
                "check that it is a table"
            )

    def _scan(self, block: bytes, table: _Parts) -> None:
        # Numba takes a while to import, and only rows have to wait for it.
        from scm_model.tables.scan import scan_rows

        data = np.frombuffer(block, dtype=np.uint8)
        dialect, at = self.dialect, 0
        delimiter = "\t" if dialect.delimiter == " " else dialect.delimiter
        marks = (ord(delimiter), ord(dialect.decimal), ord((dialect.comment or "\0")[0]))
        room = block.count(b"\n") + 1
        values, spans = table.room(room)
        odd = np.empty((_ODD_FIELDS + len(self.names), 4), dtype=np.int64)
        lines = np.empty(room, dtype=np.int64)
        whole = table.whole
        while at < len(data):
            rows, strange, at, read, fields = scan_rows(
                data, at, marks, table.place, values, spans, odd, whole, lines
            )
            if fields != len(self.names):
                self._wrong_fields(self._line + read, fields)
            for row, place, start, end in odd[:strange].tolist():
                text = self._decoded(block[start:end]).strip()
                values[row, place] = self.number(
                    text, table.numbers[place], self._line + int(lines[row])
                )
                whole[place] &= not self.is_missing(text) and text.lstrip("+-").isdigit()
            table.add(values[:rows], self._texts(block, spans[:rows]))
            self._line += read

    def _texts(self, block: bytes, spans: NDArray[np.int64]) -> list[list[bytes]]:
        return [
            [block[start:end] for start, end in zip(*spans[:, i].T.tolist(), strict=True)]
            for i in range(spans.shape[1])
        ]

    def number(self, text: str, name: str, line: int) -> float:
        """What a field is that is not plainly a number."""
        found = to_number(text, self.dialect.decimal)
        if self.is_missing(text):
            return np.nan
        if found is not None and np.isfinite(found):
            return found
        if found is not None:
            raise DataError(
                f"column {name!r} must be finite numbers, not {text!r} in line {line} of "
                f"{self.path.name}; correct the value, or drop the column"
            )
        raise DataError(
            f"column {name!r} must be finite numbers, not {text[:60]!r} in line {line} of "
            f"{self.path.name}; correct the value, drop the column, or give {self._remedy(text)}"
        )

    def _remedy(self, text: str) -> str:
        if to_number(text, "." if self.dialect.decimal == "," else ",") is not None:
            return f"--decimal {'.' if self.dialect.decimal == ',' else ','}"
        return f"--missing-values {text[:20]!r} where it means none"

    def _wrong_fields(self, line: int, count: int) -> None:
        raise DataError(
            f"line {line} of {self.path.name} must have {len(self.names)} fields as the header "
            f"has, not {count}; correct the line, or give the --delimiter"
        )

    # Lines with quoted fields

    def _read_lines(self, table: _Parts) -> None:
        reader = self._split(self._lines())
        while rows := list(islice(self._rows(reader), _LINES)):
            values, _ = table.room(len(rows))
            texts: list[list[str]] = [[] for _ in table.texts]
            for number, (line, row) in enumerate(rows):
                for place, column in enumerate(table.number_places):
                    text = row[column].strip()
                    value = to_number(text, self.dialect.decimal)
                    if value is None or not np.isfinite(value) or text in table.missing:
                        value = self.number(text, table.numbers[place], line)
                    values[number, place] = value
                    table.whole[place] &= text.lstrip("+-").isdigit()
                for own, column in zip(texts, table.text_places, strict=True):
                    own.append(row[column])
            table.add(values, texts)
            self._tick()

    def _rows(self, reader: Any) -> Iterator[tuple[int, list[str]]]:
        comment = self.dialect.comment
        for row in reader:
            line = self._line + getattr(reader, "line_num", 0)
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if comment and row[0].lstrip().startswith(comment):
                continue
            if len(row) != len(self.names):
                self._wrong_fields(line, len(row))
            yield line, row

    def _lines(self) -> Iterator[str]:
        while True:
            *whole, self._rest = self._rest.split(b"\n")
            for line in whole:
                yield self._decoded(line) + "\n"
            more = next(self._blocks, None)
            if more is None:
                break
            self._rest += more
            self._check_line(self._rest.find(b"\n") + 1)
        if self._rest.strip():
            yield self._decoded(self._rest)
        self._rest = b""


class _Parts:
    """The columns wanted, as far as they are read."""

    def __init__(
        self, source: TextSource, wanted: Sequence[str], texts: set[str], kept: set[str]
    ) -> None:
        """``texts`` are read as such, and those ``kept`` stay so whatever they say."""
        self._source, self._kept = source, kept
        self.missing = {*source._options.missing_values}
        self.numbers = [name for name in dict.fromkeys(wanted) if name not in texts]
        self.texts = {name: TextColumn() for name in dict.fromkeys(wanted) if name in texts}
        self.number_places = [source.names.index(name) for name in self.numbers]
        self.text_places = [source.names.index(name) for name in self.texts]
        self.place = np.full(len(source.names), SKIPPED, dtype=np.int64)
        self.place[self.number_places] = np.arange(len(self.numbers))
        self.place[self.text_places] = SKIPPED - 1 - np.arange(len(self.texts))
        self.whole = np.ones(len(self.numbers), dtype=np.bool_)
        self._values: list[Floats] = []

    def room(self, rows: int) -> tuple[Floats, NDArray[np.int64]]:
        """Arrays for the numbers of ``rows`` rows, and for the places of their texts."""
        return (
            np.empty((rows, len(self.numbers))),
            np.empty((rows, len(self.texts), 2), dtype=np.int64),
        )

    def add(self, values: Floats, texts: Sequence[Sequence[Any]]) -> None:
        self._values.append(values.copy())
        for column, fields in zip(self.texts.values(), texts, strict=True):
            column.add(fields, self._source._decoded)

    def finished(self, labels: Sequence[str]) -> dict[str, NDArray[Any]]:
        values = _joined(self._values, len(self.numbers))
        self._values = []
        for text in self.missing:
            number = to_number(text)
            if number is not None:
                values[values == number] = np.nan
        found: dict[str, NDArray[Any]] = {}
        for place, name in enumerate(self.numbers):
            column = values[:, place]
            found[name] = (
                number_column(column, bool(self.whole[place])) if name in labels else column
            )
        for name, text_column in self.texts.items():
            own = text_column.values(
                self._source.is_missing, self._source.dialect.decimal, label=name in self._kept
            )
            if name in labels and own.dtype == object:
                # A class may well be called "none".
                own = text_column.values(
                    lambda text: not text, self._source.dialect.decimal, label=True
                )
            found[name] = narrowest(own) if name in labels else own
        return found


def _joined(parts: Sequence[Floats], columns: int) -> Floats:
    """The parts below each other; each is let go as soon as it is copied."""
    whole = np.empty((sum(map(len, parts)), columns), order="F")
    start = 0
    for part in parts:
        whole[start : start + len(part)] = part
        start += len(part)
    return whole


def _is_plain(encoding: str) -> bool:
    """Whether an encoding has ASCII as single bytes, and nothing else with such bytes in it."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252")


def _blocks(
    file: BinaryIO, head: bytes, encoding: str, path: Path, tick: Callable[[], None]
) -> Iterator[bytes]:
    """The bytes of a file in UTF-8, or as they are where ASCII is one byte each."""
    plain = _is_plain(encoding)
    decoder = None if plain else codecs.getincrementaldecoder(encoding)()
    block, returns = head.removeprefix(codecs.BOM_UTF8) if plain else head, None
    while True:
        found = block
        if decoder is not None:
            found = decoder.decode(block, final=not block).encode()
            found = found.removeprefix(codecs.BOM_UTF8)
        if returns is None and found:
            # Old spreadsheets end lines with carriage returns alone.
            returns = b"\r" in found and b"\n" not in found
        if returns:
            found = found.replace(b"\r", b"\n")
        if found:
            yield found
        if not block:
            return
        tick()
        block = file.read(_BLOCK)
