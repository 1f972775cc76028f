"""Words of bits: the fields of a bus, a row of a memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value

from scm_hw.ir import Range


def packed(values: list[int], width: int) -> int:
    """A row of a memory, the first value in its lowest bits."""
    return sum((value % (1 << width)) << (i * width) for i, value in enumerate(values))


def extended(bits: Value, width: int) -> Value:
    """Non-negative bits with zeros above them."""
    return bits if len(bits) == width else Cat(bits, Const(0, width - len(bits)))


def fields(word: Value, ranges: list[Range]) -> list[Value]:
    """The values that are packed in a word, the first in its lowest bits."""
    found, start = [], 0
    for reach in ranges:
        field = word[start : start + reach.width]
        found.append(field.as_signed() if reach.signed else field)
        start += reach.width
    return found
