"""One operation as Amaranth statements. Widths follow from ranges, so nothing can overflow."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned

from scm_hw.ir import (
    AtLeast,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Program,
    Range,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
    part_of,
    ranges,
)
from scm_hw.ir.part import Kind

# Tables of more entries than a LUT6 has are chosen from smaller ones.
SHIFTED_ENTRIES = 64
NOTHING = Const(0, 1)


def shape_of(reach: Range) -> Shape:
    """The narrowest shape that holds a range."""
    return signed(reach.width) if reach.signed else unsigned(reach.width)


def drive(m: Module, target: Signal, op: Op, args: list[Value]) -> None:
    """Make `target` the value of an operation on its operands."""
    m.d.comb += target.eq(_expression(op, args))


def expressions(program: Program, inputs: Sequence[Value]) -> list[Value]:
    """The outputs of a program as one cloud of logic, without a name or register in it."""
    known = ranges(program)
    values: list[Value] = []
    for ref, op in program:
        if isinstance(op, Input):
            values.append(inputs[op.position])
        elif known[ref].low == known[ref].high:
            values.append(Const(known[ref].low, shape_of(known[ref])))
        else:
            values.append(_expression(op, [values[r] for r in operands(op)]))
    return [values[ref] for ref in program.outputs]


def drive_absorbing(
    m: Module, target: Signal, left: Value, table: Table, index: Value, carried: Value = NOTHING
) -> None:
    """`left + table[index] + carried`, with the table inside the LUTs that feed the carry chain.

    A carry chain wants `left ^ right` at each place: one LUT6 for a place of `left` and up to five
    bits of index. The right side of the addition, as `left ^ (left ^ right)`, then costs nothing.
    Synthesis is free to swap the sides of a sum, and would have to build the right one if it came
    first. So this is the difference `left - ~right`, with a place below the lowest that swallows
    the one by which it is too much, unless the bit that is carried in is set.
    """
    width = len(target)
    # Above the places where entries differ, one of them says it all.
    varying = _differing_places(table.contents, width)
    plain = Signal(width, name=f"{target.name}_left")
    propagate = Signal(varying, name=f"{target.name}_xor", attrs=table_comment(table))
    entries = [entry & (1 << varying) - 1 for entry in _entries(table, len(index))]
    m.d.comb += [
        plain.eq(left),
        propagate.eq(plain[:varying] ^ _choose(index, entries, unsigned(varying))),
    ]
    above = Const(table.contents[0] >> varying & (1 << width - varying) - 1, width - varying)
    right = Cat(plain[:varying] ^ propagate, above)
    difference = Cat(carried, plain) - Cat(Const(1, 1), ~right)
    m.d.comb += target.eq(difference[1:])


def table_comment(table: Table) -> dict[str, str]:
    """An attribute that tools ignore and readers of the Verilog don't: whose table it is."""
    part = part_of(table)
    where = f"node {part.node} of layer {part.layer}" if part.kind is Kind.NODE else part.title
    name = re.sub(r"[^ -~]|[\"\\\\]", "?", table.name or "unnamed")
    return {"scm_table": f"{where}: {name}, {len(table.contents)} entries"}


def _differing_places(contents: tuple[int, ...], width: int) -> int:
    """How many low places, of `width`, it takes to tell the entries apart."""
    mask = (1 << width) - 1
    return max(((entry ^ contents[0]) & mask).bit_length() for entry in contents)


def _choose(index: Value, entries: Sequence[int], shape: Shape) -> Value:
    """The entry at the index: a constant of all entries, shifted by the index.

    Nothing else is as short in Verilog, or as quick in simulators and synthesis. Large tables are
    chosen by multiplexers from small ones, since a shifter as wide as they are would be slow.
    """
    if all(entry == entries[0] for entry in entries):
        return Const(entries[0], shape)
    if len(entries) > SHIFTED_ENTRIES:
        half = len(entries) // 2
        low, high = (_choose(index[:-1], part, shape) for part in (entries[:half], entries[half:]))
        return Mux(index[-1], high, low)
    # Fields are a power of two wide, so that the index is a place and needs no multiplier.
    step = (shape.width - 1).bit_length()
    fields = [entry & (1 << shape.width) - 1 for entry in entries]
    packed = sum(field << (place << step) for place, field in enumerate(fields))
    table = Const(packed, len(entries) << step)
    entry = table.bit_select(Cat(Const(0, step), index), shape.width)
    return entry.as_signed() if shape.signed else entry


def _entries(op: Table, index_bits: int) -> tuple[int, ...]:
    """One entry for every value of the index; what lies beyond the contents never occurs."""
    size = 1 << index_bits
    return op.contents[:size] + op.contents[-1:] * (size - len(op.contents))


def _expression(op: Op, args: list[Value]) -> Value:
    match op:
        case Constant():
            return Const(op.value)
        case Table():
            shape = shape_of(Range(min(op.contents), max(op.contents)))
            return _choose(args[0], _entries(op, len(args[0])), shape)
        case Field():
            bits = _resized(args[0], op.offset + op.width)[op.offset :]
            return bits.as_signed() if op.signed else bits
        case Shift():
            return args[0].shift_right(op.bits)
        case Concat():
            fields = zip(args, op.widths, strict=True)
            return Cat(*(_resized(arg, width) for arg, width in fields))
        case Xor():
            return _xor(args)
        case Majority():
            a, b, c = args
            return (a & b) | (c & (a | b))
        case Sum():
            return _sum(op, args)
        case AtLeast():
            # Bits below the bound's lowest don't matter. Yosys doesn't see that in comparisons of
            # over 12 bits, which it leaves to carry chains.
            low = (op.bound & -op.bound).bit_length() - 1 if op.bound else 0
            low = min(low, len(args[0]) - 1)
            return args[0].shift_right(low) >= Const(op.bound >> low)
        case Less():
            return args[0] < args[1]
        case Select():
            return Mux(args[0], args[1], args[2])
        case Product():
            return args[0] * args[1]
    raise AssertionError(f"{op} must be lowered before it becomes hardware")


def _resized(value: Value, width: int) -> Value:
    """Exactly `width` bits of a non-negative value."""
    if len(value) >= width:
        return value[:width]
    return Cat(value, Const(0, width - len(value)))


def _xor(args: list[Value]) -> Value:
    total = args[0]
    for arg in args[1:]:
        total = total ^ arg
    return total


def _sum(op: Sum, args: list[Value]) -> Value:
    places = [_place(weight) for weight in op.weights]
    if len(args) == 1:
        unsigned_word = not args[0].shape().signed
        # All ones less a word is its complement, which needs no carry chain.
        if op.weights == (-1,) and unsigned_word and op.constant == (1 << len(args[0])) - 1:
            return ~args[0]
        term = args[0] << places[0]
        total = term if op.weights[0] > 0 else -term
    elif min(op.weights) < 0:
        assert max(op.weights) > 0, "a carry chain can't take off both sides"
        kept, taken = (0, 1) if op.weights[1] < 0 else (1, 0)
        total = (args[kept] << places[kept]) - (args[taken] << places[taken])
    elif len(args) == 3:
        total = _add_carrying(*args)
    else:
        total = _aligned_add(args, places)
    return total + Const(op.constant) if op.constant else total


def _place(weight: int) -> int:
    place = abs(weight).bit_length() - 1
    assert abs(weight) == 1 << place, "weights of lowered sums are powers of two"
    return place


def _add_carrying(left: Value, right: Value, carried: Value) -> Value:
    """In a place below the lowest the bit meets itself and goes on as the carry."""
    sides = [_below(side, carried) for side in (left, right)]
    return (sides[0] + sides[1]) >> 1


def _below(value: Value, bit: Value) -> Value:
    joined = Cat(bit, value)
    return joined.as_signed() if value.shape().signed else joined


def _aligned_add(args: list[Value], places: list[int]) -> Value:
    """Low bits that only one side has pass beside the carry chain."""
    if places[0] > places[1]:
        args, places = args[::-1], places[::-1]
    low, high = args
    spare = places[1] - places[0]
    if spare == 0:
        total = low + high
    else:
        upper = (low >> spare) + high
        below = _resized(low, spare) if not low.shape().signed else (low << 0)[:spare]
        total = Cat(below, upper)
        total = total.as_signed() if upper.shape().signed else total
    return total << places[0]
