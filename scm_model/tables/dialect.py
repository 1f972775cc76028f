"""How a text table is written: encoding, delimiter, decimal point, comments, names and units.

All of it is given as options or guessed from the first lines; guesses become notes for the user.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields

from scm_model.errors import DataError, ParameterError
from scm_model.raw_columns import label_of

__all__ = ["Dialect", "TableOptions", "encoding_of", "guess", "is_number", "to_number"]

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
COMMENTS = ("#", "%", "//")
#: Of encodings that begin otherwise, ASCII is ASCII, byte by byte.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Lines that are looked at, and the share of them that a delimiter must split alike.
_LINES = 50
_ALIKE = 0.9


@dataclass(frozen=True)
class TableOptions:
    """What the user says of a table; None is guessed."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    units_row: bool | None = None
    sheet: str | None = None
    #: Texts, or numbers, that stand for no value beside those that always do.
    missing_values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            known = DELIMITERS.get(self.delimiter, self.delimiter.replace("\\t", "\t"))
            if len(known) != 1 or known in '"\r\n' or ord(known) > 126:
                raise ParameterError(
                    f"--delimiter must be one character or {', '.join(DELIMITERS)}, "
                    f"not {self.delimiter!r}"
                )
            object.__setattr__(self, "delimiter", known)
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"--decimal must be . or ,, not {self.decimal!r}")
        if self.decimal is not None and self.decimal == self.delimiter:
            raise ParameterError("--decimal must be another character than --delimiter")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    def flags(self) -> list[str]:
        """The names of the options that were given."""
        return [one.name for one in fields(self) if getattr(self, one.name) not in (None, ())]


def _check_encoding(name: str) -> None:
    try:
        found = codecs.lookup(name)
    except LookupError:
        found = None
    # Others, such as rot13 and zlib, are no encodings of text.
    if found is None or not found._is_text_encoding:
        raise ParameterError(
            f"--encoding must be an encoding that Python knows, such as utf-8, latin-1, cp1252 or "
            f"utf-16, not {name!r}"
        )


@dataclass(frozen=True)
class Dialect:
    """How a table is written. ``skipped`` lines come before the first row."""

    delimiter: str
    decimal: str
    comment: str
    names: tuple[str, ...]
    skipped: int
    notes: tuple[str, ...] = ()


def encoding_of(head: bytes) -> str:
    """The encoding that the first bytes of a file are in."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    # UTF-16 without a mark: in text of Latin letters every other byte is 0.
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 8 and min(even, odd) < len(head) // 64 + 1:
        return "utf-16-be" if even > odd else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def guess(name: str, head: Sequence[str], options: TableOptions, ending: str) -> Dialect:
    """The dialect of a table by its first lines, which may end in a blank one."""
    comment = _comment(head)
    kept = [i for i, line in enumerate(head) if line.strip() and not _is_comment(line, comment)]
    if not kept:
        raise DataError(f"data file must have a header and rows, not be empty: {name!r}")
    lines = [head[i].rstrip("\r\n") for i in kept[:_LINES]]
    delimiter = options.delimiter or _delimiter(lines, ending)
    rows = [_fields(line, delimiter) for line in lines]
    decimal = options.decimal or _decimal(rows, delimiter)
    header = options.header
    if header is None:
        header = not _looks_like_data(rows, decimal)
    notes = _notes(options, delimiter, decimal, ending)
    if not header:
        names = _commented_names(head[: kept[0]], comment, delimiter, len(rows[0]))
        if options.header is None and names is None:
            notes.append(
                "the first line is taken as data, and columns are called x1, x2, ... "
                "(--header takes it as names)"
            )
        names = names or [f"x{i}" for i in range(1, len(rows[0]) + 1)]
        return Dialect(delimiter, decimal, comment, tuple(names), kept[0], tuple(notes))
    units = options.units_row
    if units is None:
        units = _has_units(rows, decimal)
        if units:
            notes.append(
                f"the second line is taken as units and passed over: {lines[1].strip()[:40]!r} "
                "(--no-units-row takes it as data)"
            )
    skipped = kept[0] + 1
    if units and len(kept) > 1:
        skipped = kept[1] + 1
    return Dialect(delimiter, decimal, comment, tuple(rows[0]), skipped, tuple(notes))


def _comment(head: Sequence[str]) -> str:
    """What lines of comment begin with; nothing where there are none among the first."""
    first = next((line.lstrip() for line in head if line.strip()), "")
    found = next((mark for mark in COMMENTS if first.startswith(mark)), "")
    if found:
        return found
    # Further down it may be the label of a category, unless the line is none of a table's.
    marks = {delimiter: first.count(delimiter) for delimiter in DELIMITERS.values()}
    other = [
        line
        for line in head
        if line.startswith("#") and all(line.count(d) != n for d, n in marks.items() if n)
    ]
    return "#" if other else ""


def _is_comment(line: str, comment: str) -> bool:
    return bool(comment) and line.lstrip().startswith(comment)


def _fields(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    return [text.strip() for text in next(csv.reader([line], delimiter=delimiter), [])]


def _delimiter(lines: Sequence[str], ending: str) -> str:
    """The one that splits nearly all lines into as many fields as the first."""
    # The comma last, which may be a decimal point in a table with another delimiter.
    for candidate in ("\t", ";", "|", ","):
        counts = [len(_fields(line, candidate)) for line in lines]
        alike = sum(count == counts[0] for count in counts)
        if counts[0] > 1 and alike >= _ALIKE * len(counts):
            return candidate
    # A wrong line is said to be wrong where the first has delimiters at all.
    for candidate in (";", ",", "\t"):
        if candidate in lines[0]:
            return candidate
    counts = [len(line.split()) for line in lines]
    if len(lines) > 1 and counts[0] > 1 and set(counts) == {counts[0]}:
        return " "
    return "," if ending == ".csv" else "\t"


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    # A comma can't be both.
    if delimiter == ",":
        return "."
    fields_ = [text for row in rows for text in row]
    points = sum(is_number(text, ".") and "." in text for text in fields_)
    commas = sum(is_number(text, ",") and "," in text for text in fields_)
    return "," if commas > points else "."


def _looks_like_data(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first row has a number wherever the second has one."""
    first = rows[0]
    if len(rows) == 1:
        return all(is_number(text, decimal) for text in first)
    numbers = [
        is_number(above, decimal) or label_of(above) is None
        for above, below in zip(first, rows[1], strict=False)
        if is_number(below, decimal)
    ]
    some = any(is_number(text, decimal) for text in first)
    return some and all(numbers)


def _has_units(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the second row has text wherever most that follow have numbers."""
    if len(rows) < 3 or len(rows[1]) != len(rows[0]):
        return False
    below = [row for row in rows[2:] if len(row) == len(rows[0])]
    numbers = [
        i for i in range(len(rows[0])) if below and all(is_number(r[i], decimal) for r in below)
    ]
    texts = [rows[1][i] for i in numbers]
    some = any(text and label_of(text) is not None for text in texts)
    return some and not any(is_number(text, decimal) for text in texts)


def _commented_names(
    before: Sequence[str], comment: str, delimiter: str, count: int
) -> list[str] | None:
    """Names in the comment just above the rows, as NumPy writes them."""
    for line in reversed(before):
        if line.strip():
            found = _fields(line.strip().removeprefix(comment).strip(), delimiter)
            good = len(found) == count and all(found) and len(set(found)) == count
            return found if good and not any(is_number(text, ".") for text in found) else None
    return None


def _notes(options: TableOptions, delimiter: str, decimal: str, ending: str) -> list[str]:
    """One line on what was guessed, where a reader may be surprised."""
    guessed = []
    usual = "," if ending == ".csv" else "\t"
    if options.delimiter is None and delimiter not in (usual, ";"):
        name = next(name for name, mark in DELIMITERS.items() if mark == delimiter)
        guessed.append(f"{name} between columns (--delimiter)")
    if options.decimal is None and decimal == ",":
        guessed.append("decimal comma (--decimal)")
    return [f"read with {' and '.join(guessed)}"] if guessed else []


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a field is a number, finite or not."""
    return to_number(text, decimal) is not None


def to_number(text: str, decimal: str = ".") -> float | None:
    """The number that a field is; None where it is something else."""
    if decimal != ".":
        if "." in text:
            return None
        text = text.replace(decimal, ".")
    # Python takes 1_000, which no table means.
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None
