"""Packed data files: refused where little data unpacks to so much that it would fill the memory."""

from __future__ import annotations

import gzip
from pathlib import Path

from scm_model.errors import DataError

__all__ = ["NUMBER_BYTES", "check_size", "check_unpacked"]

#: Bytes that any packed file may unpack to.
ALWAYS = 128 << 20
#: Beyond those a file may unpack to this many times its size: tables of measurements stay below 20,
#: and gzip reaches 1,000 on a file made to fill the memory.
MOST_RATIO = 30
NUMBER_BYTES = 8
_BLOCK = 1 << 20


def check_unpacked(path: Path) -> None:
    """Unpack a gzip file without keeping it, and refuse one that becomes too large."""
    most, found = _most(path), 0
    with gzip.open(path, "rb") as file:
        while block := file.read(_BLOCK):
            found += len(block)
            if found > most:
                raise _refusal(path, most)


def check_size(path: Path, unpacked: int) -> None:
    """Refuse a packed file of which it is known, before it is unpacked, what it holds."""
    most = _most(path)
    if unpacked > most:
        raise _refusal(path, most)


def _most(path: Path) -> int:
    return max(ALWAYS, MOST_RATIO * path.stat().st_size)


def _refusal(path: Path, most: int) -> DataError:
    return DataError(
        f"can't read {path.name}: it unpacks to more than {most >> 20} MiB, the limit for a file "
        f"of its size ({MOST_RATIO} times as much, or {ALWAYS >> 20} MiB); unpack it first, and "
        "pass a .csv or .npy file"
    )
