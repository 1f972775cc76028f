"""The command-line options that say how a table is written."""

from __future__ import annotations

import argparse

from scm_model.tables.dialect import TableOptions

__all__ = ["add_format_flags", "table_options"]


def add_format_flags(parser: argparse.ArgumentParser) -> None:
    """How a table is written, where it is not guessed right."""
    group = parser.add_argument_group("format of the table (guessed, unless given)")
    add = group.add_argument
    add(
        "--delimiter",
        default=None,
        help="delimiter of the columns: one character, or comma, semicolon, tab, pipe or space",
    )
    add("--decimal", default=None, metavar=".|,", help="decimal point or comma")
    add("--encoding", default=None, help="encoding of the text, such as utf-8, latin-1 or utf-16")
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line has the names; otherwise columns are called x1, x2, ...",
    )
    add(
        "--units-row",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether a line of units comes after the names",
    )
    add("--sheet", default=None, help="sheet of an Excel file (the first one)")
    add(
        "--missing-values",
        action="append",
        default=[],
        metavar="TEXTS",
        help="texts or numbers of missing values, separated by commas, besides NA, NaN, null, "
        "? and empty cells",
    )


def table_options(args: argparse.Namespace) -> TableOptions:
    """What the flags of :func:`add_format_flags` say."""
    return TableOptions(
        delimiter=args.delimiter,
        decimal=args.decimal,
        encoding=args.encoding,
        header=args.header,
        units_row=args.units_row,
        sheet=args.sheet,
        missing_values=tuple(
            text.strip() for texts in args.missing_values for text in texts.split(",")
        ),
    )
