"""The least and greatest value of every operation, and the bits that hold them.

The bounds are sound for every input, so hardware built to these widths can't overflow. They are
exact wherever the operands of a sum are independent of each other.
"""

from __future__ import annotations

from typing import NamedTuple

from scm_hw.ir.ops import (
    Argmax,
    AtLeast,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Ref,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
)
from scm_hw.ir.program import Program


class Range(NamedTuple):
    """An interval of integers, both ends included."""

    low: int
    high: int

    @property
    def signed(self) -> bool:
        return self.low < 0

    @property
    def width(self) -> int:
        """Bits of the narrowest word, two's complement where negative; at least 1."""
        if self.signed:
            # Two's complement reaches one further down than up.
            return max((-self.low - 1).bit_length(), max(self.high, 0).bit_length()) + 1
        return max(self.high.bit_length(), 1)


def ranges(program: Program) -> list[Range]:
    """The range of every reference of a program."""
    known: list[Range] = []
    for op in program.ops:
        known.append(range_of(op, known))
    return known


def range_of(op: Op, known: list[Range]) -> Range:
    """The range of one operation, given those of its operands by reference."""
    match op:
        # Most are of the first few kinds.
        case Sum():
            return _sum_range(op, known)
        case Table():
            index = known[op.index]
            reachable = op.contents[index.low : index.high + 1]
            return Range(min(reachable), max(reachable))
        case Concat():
            return _concat_range(op, known)
        case AtLeast():
            return _bit_range(known[op.value], op.bound)
        case Input():
            return Range(op.low, op.high)
        case Constant():
            return Range(op.value, op.value)
        case Field():
            return _field_range(known[op.value], op)
        case Shift():
            value = known[op.value]
            return Range(value.low >> op.bits, value.high >> op.bits)
        case Xor():
            bits = max(known[r].high.bit_length() for r in op.operands)
            return Range(0, (1 << bits) - 1)
        case Majority():
            # A place where one value alone has a bit stays clear.
            bits = sorted(known[r].high.bit_length() for r in op.operands)[1]
            return Range(0, (1 << bits) - 1)
        case Product():
            return _product_range(known[op.left], known[op.right])
        case Less():
            left, right = known[op.left], known[op.right]
            return Range(int(left.high < right.low), int(left.low < right.high))
        case Select():
            return _either(known[op.condition], known[op.chosen], known[op.other])
        case Argmax():
            return Range(0, _last_contender(op.operands, known))


def _bit_range(value: Range, bound: int) -> Range:
    return Range(int(value.low >= bound), int(value.high >= bound))


def _field_range(value: Range, op: Field) -> Range:
    low, high = value.low >> op.offset, value.high >> op.offset
    if op.signed:
        return Range(-1 << (op.width - 1), (1 << (op.width - 1)) - 1)
    # Where the bits above the field change, the field takes all of its values.
    if low >> op.width != high >> op.width:
        return Range(0, (1 << op.width) - 1)
    mask = (1 << op.width) - 1
    return Range(low & mask, high & mask)


def _sum_range(op: Sum, known: list[Range]) -> Range:
    low = high = op.constant
    for ref, weight in zip(op.operands, op.weights, strict=True):
        least, most = known[ref]
        if weight < 0:
            least, most = most, least
        low += weight * least
        high += weight * most
    return Range(low, high)


def _product_range(left: Range, right: Range) -> Range:
    # Bilinear: its extremes are at the ends of both ranges, whatever their signs.
    corners = [a * b for a in left for b in right]
    return Range(min(corners), max(corners))


def _concat_range(op: Concat, known: list[Range]) -> Range:
    low = high = shift = 0
    for ref, width in zip(op.operands, op.widths, strict=True):
        low |= known[ref].low << shift
        high |= known[ref].high << shift
        shift += width
    return Range(low, high)


def _either(condition: Range, chosen: Range, other: Range) -> Range:
    # A condition that never changes leaves one value to be chosen.
    if condition.low == condition.high:
        return chosen if condition.low else other
    return Range(min(chosen.low, other.low), max(chosen.high, other.high))


def _last_contender(refs: tuple[Ref, ...], known: list[Range]) -> int:
    """The last position that can win: one whose best beats the worst of all before it."""
    last, floor = 0, known[refs[0]].low
    for position, ref in enumerate(refs[1:], start=1):
        if known[ref].high > floor:
            last = position
        floor = max(floor, known[ref].low)
    return last
