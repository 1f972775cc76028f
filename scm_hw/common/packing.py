"""Integers packed in words: the first in the lowest bits, two's complement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def pack(rows: NDArray[np.integer], widths: Sequence[int]) -> list[int]:
    """Each row as one word; what is above a width is cut off."""
    # Shifts and masks are the same in every row, and hosts send millions of rows.
    places = [((1 << width) - 1, sum(widths[:i])) for i, width in enumerate(widths)]
    return [
        sum((value & mask) << shift for value, (mask, shift) in zip(row, places, strict=True))
        for row in rows.tolist()
    ]


def unpack(
    words: Iterable[int], widths: Sequence[int], signed: Sequence[bool]
) -> NDArray[np.int64]:
    """The reverse of `pack`."""
    rows = []
    for word in words:
        row = []
        for width, negative in zip(widths, signed, strict=True):
            value = word & ((1 << width) - 1)
            row.append(value - (1 << width) if negative and value >> (width - 1) else value)
            word >>= width
        rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(widths))
