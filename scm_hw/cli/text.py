"""Text from files and users, as it may be printed."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with all that a terminal would act on shown as Python writes it; lines stay.

    Names and labels come from model files and reports, which anybody may have written.
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """The same, with line ends shown too."""
    return printable(text).replace("\n", "\\n")
