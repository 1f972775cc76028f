"""Bits of a Program's values that cost nothing: low ones that never change, and unread ones."""

from __future__ import annotations

from functools import reduce
from operator import or_

from scm_hw.ir import Concat, Constant, Field, Program, Range, Ref, Shift, Sum, Table, operands

# More bits than any value has.
MANY = 1 << 10


def fixed_low_bits(program: Program, known: list[Range]) -> list[int]:
    """How many of the lowest bits of each value are always the same.

    Entries of a table that differ by multiples of 64, and sums of such, are the usual case.
    """
    found: list[int] = []
    for ref, op in program:
        low = 0
        if isinstance(op, Constant):
            low = MANY
        elif isinstance(op, Table):
            low = _common(op.contents)
        elif isinstance(op, Sum):
            places = (abs(weight).bit_length() - 1 for weight in op.weights)
            # A weight moves an operand up by its place, and the constant never varies.
            low = min(found[r] + place for r, place in zip(op.operands, places, strict=True))
        elif isinstance(op, Field):
            low = found[op.value] - op.offset
        elif isinstance(op, Shift):
            low = found[op.value] - op.bits
        found.append(min(max(low, 0), known[ref].width))
    return found


def _common(contents: tuple[int, ...]) -> int:
    """Low bits in which all entries are equal."""
    changes = reduce(or_, (entry ^ contents[0] for entry in contents))
    return (changes & -changes).bit_length() - 1 if changes else MANY


def used_bits(program: Program, known: list[Range], free: set[Ref]) -> list[list[tuple[Ref, int]]]:
    """Who reads each value for its logic, and which bits of it, as a mask.

    Wires are looked through: what reads a field of a sum counts as a reader of those bits.
    """
    readers: list[list[tuple[Ref, int]]] = [[] for _ in program.ops]

    def read(ref: Ref, mask: int, reader: Ref) -> None:
        op = program.ops[ref]
        if ref not in free:
            readers[ref].append((reader, mask))
        elif isinstance(op, Field):
            read(op.value, (mask & (1 << op.width) - 1) << op.offset, reader)
        elif isinstance(op, Shift):
            read(op.value, mask << op.bits, reader)
        elif isinstance(op, Concat):
            start = 0
            for operand, width in zip(op.operands, op.widths, strict=True):
                if part := mask >> start & (1 << width) - 1:
                    read(operand, part, reader)
                start += width
        else:
            for operand in operands(op):
                read(operand, (1 << known[operand].width) - 1, reader)

    for ref, op in program:
        if ref not in free:
            for operand in operands(op):
                read(operand, (1 << known[operand].width) - 1, ref)
    for ref in program.outputs:
        read(ref, (1 << known[ref].width) - 1, len(program.ops))
    return readers
