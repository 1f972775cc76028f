"""Where text meets the terminal: nothing that is printed can move its cursor or change its state.

Column names and class labels come from files of others, and may hold escape sequences.
"""

from __future__ import annotations

import re
import sys
from typing import TextIO

__all__ = ["printable", "printable_json", "say"]

#: Control characters (C0, DEL, C1 with its one-character CSI), marks and overrides of the writing
#: direction, separators of lines, and lone surrogates, which no encoding has.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """One line of text in which characters that control a terminal are written as escapes."""
    return _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def printable_json(document: str) -> str:
    """The same JSON value; line feeds stand only between its parts, all others are escaped."""
    lines = document.split("\n")
    return "\n".join(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", one) for one in lines)


def say(text: str, file: TextIO | None = None) -> None:
    """Print one line, to standard output unless a file is given."""
    file = sys.stdout if file is None else file
    # A terminal that is not UTF-8 gets escapes for what it can't show, and no traceback.
    encoding = getattr(file, "encoding", None) or "utf-8"
    print(printable(text).encode(encoding, "backslashreplace").decode(encoding), file=file)
