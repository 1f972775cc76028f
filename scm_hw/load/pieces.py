"""A function of one code, as the sum of pieces that a step of an SCM processor computes.

A coded bit of any encoder, a node of one feature, a category's place in a table and a code that is
held inside its range are all functions of one code. Each is a constant and a few codes that are cut
to some bits, clipped and shifted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# A function of more pieces is a table, which a processor has no memory for.
MOST_PIECES = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """`sign * (clip(code % 2**width, low, high) << shift)`, or with `above` `sign << shift` where
    `code % 2**width` is more than `low`."""

    sign: int
    width: int
    low: int
    high: int
    shift: int = 0
    above: bool = False


@dataclass(frozen=True, slots=True)
class Pieces:
    """A constant and its pieces, added up."""

    constant: int
    pieces: tuple[Piece, ...]


def pieces_of(values: Integers) -> Pieces | None:
    """The pieces of a function, given its value for every code; None where they are too many."""
    values = _period(values)
    width = (len(values) - 1).bit_length()
    whole = _clipped(values, width)
    if whole is not None:
        return whole
    codes = np.arange(len(values))
    stepped = [_steps(values, width)]
    # The code itself and steps on top of it may be fewer pieces than steps alone.
    rest = _steps(values - codes, width)
    if rest is not None:
        own = Piece(1, width, 0, len(values) - 1)
        stepped.append(Pieces(rest.constant, (own, *rest.pieces)))
    found = [one for one in stepped if one is not None and len(one.pieces) <= MOST_PIECES]
    return min(found, key=lambda one: len(one.pieces), default=None)


def value_of(found: Pieces, codes: Integers) -> Integers:
    """What pieces add up to."""
    total = np.full(len(codes), found.constant, np.int64)
    for piece in found.pieces:
        kept = codes & (1 << piece.width) - 1
        value = kept > piece.low if piece.above else np.clip(kept, piece.low, piece.high)
        total += piece.sign * (value.astype(np.int64) << piece.shift)
    return total


def _period(values: Integers) -> Integers:
    """The part of a function that repeats: it depends on the low bits alone."""
    while len(values) > 1:
        half = len(values) // 2
        if not np.array_equal(values[:half], values[half:]):
            break
        values = values[:half]
    return values


def _clipped(values: Integers, width: int) -> Pieces | None:
    """A constant, or the code itself, clipped and shifted."""
    low, high = int(values.min()), int(values.max())
    if low == high:
        return Pieces(low, ())
    union = int(np.bitwise_or.reduce(values))
    # Low zeros that all values have in common are the shift.
    shift = (union & -union).bit_length() - 1
    clipped = np.clip(np.arange(len(values)), low >> shift, high >> shift) << shift
    if low < 0 or not np.array_equal(clipped, values):
        return None
    return Pieces(0, (Piece(1, width, low >> shift, high >> shift, shift),))


def _steps(values: Integers, width: int) -> Pieces | None:
    """A step at every code where the value changes, of a size that is a sum of powers of two."""
    places = np.flatnonzero(np.diff(values)) + 1
    if len(places) > MOST_PIECES:
        return None
    pieces = tuple(
        Piece(sign, width, place - 1, 0, shift, above=True)
        for place in places.tolist()
        for sign, shift in _digits(int(values[place] - values[place - 1]))
    )
    return Pieces(int(values[0]), pieces)


def _digits(value: int) -> list[tuple[int, int]]:
    """Signed powers of two, as few as add up to a value."""
    found, shift = [], 0
    while value:
        if value & 1:
            digit = 2 - (value & 3)
            found.append((digit, shift))
            value -= digit
        value >>= 1
        shift += 1
    return found
