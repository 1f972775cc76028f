"""Words of bits: a row of a memory, bits with zeros above them."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value


def packed(values: list[int], width: int) -> int:
    """A row of a memory, the first value in its lowest bits."""
    return sum((value % (1 << width)) << (i * width) for i, value in enumerate(values))


def extended(bits: Value, width: int) -> Value:
    """Non-negative bits with zeros above them."""
    return bits if len(bits) == width else Cat(bits, Const(0, width - len(bits)))
