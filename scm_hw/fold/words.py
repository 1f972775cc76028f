"""Words of bits: the fields of a bus, a row of a memory, the code of a feature."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value

from scm_hw.ir import ranges
from scm_hw.load import Encoder
from scm_hw.schedule import Layout

__all__ = ["at_least", "coded", "extended", "fields", "output_signs", "packed"]


def coded(encoder: Encoder, codes: list[Value]) -> Value:
    """The inputs of the first layer, side by side."""
    if encoder.kind == "none":
        return Cat(*codes)
    thresholds = encoder.thresholds or ((),) * len(codes)
    reached = [
        [at_least(code, t) for t in bounds] for code, bounds in zip(codes, thresholds, strict=True)
    ]
    if encoder.kind == "thermometer":
        return Cat(*(bit for bits in reached for bit in bits))
    tops = [
        _number(bits) if bits else code[len(code) - n :]
        for code, n, bits in zip(codes, encoder.bits, reached, strict=True)
    ]
    if encoder.kind == "gray":
        tops = [(top ^ (top >> 1))[: len(top)] for top in tops]
    return Cat(*tops)


def at_least(code: Value, bound: int) -> Value:
    """A comparison; a constant where it always comes out the same."""
    if not 0 < bound < 1 << len(code):
        return Const(int(bound <= 0), 1)
    return code >= bound


def _number(reached: list[Value]) -> Value:
    """How many thresholds are reached: bit `j` is the parity of every `2**j`-th."""
    places = range(len(reached).bit_length())
    return Cat(Cat(*reached[(1 << j) - 1 :: 1 << j]).xor() for j in places)


def packed(values: list[int], width: int) -> int:
    return sum((value % (1 << width)) << (i * width) for i, value in enumerate(values))


def extended(bits: Value, width: int) -> Value:
    return bits if len(bits) == width else Cat(bits, Const(0, width - len(bits)))


def fields(word: Value, widths: list[int], signs: list[bool]) -> list[Value]:
    found, start = [], 0
    for width, negative in zip(widths, signs, strict=True):
        field = word[start : start + width]
        found.append(field.as_signed() if negative else field)
        start += width
    return found


def output_signs(layout: Layout) -> list[bool]:
    known = ranges(layout.program)
    return [known[ref].signed for ref in layout.program.outputs]
