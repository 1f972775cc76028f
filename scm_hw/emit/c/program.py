"""A Program as the statements of one C function: integers of fixed width, constant tables.

No statement can overflow: each is computed in 32 bits where all that it adds up surely fits, else
in 64. Bits are moved about in unsigned types alone, and nothing negative is shifted, since C leaves
both open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from scm_hw.errors import OptionError
from scm_hw.ir import (
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
    Program,
    Range,
    Ref,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
    part_of,
    ranges,
)

# Bits of int64_t below its sign.
_WIDEST = 63
# The narrowest types that a table may have, the smallest first.
_TABLE_TYPES = (
    ("uint8_t", 0, 2**8 - 1),
    ("int8_t", -(2**7), 2**7 - 1),
    ("uint16_t", 0, 2**16 - 1),
    ("int16_t", -(2**15), 2**15 - 1),
    ("int32_t", -(2**31), 2**31 - 1),
    ("int64_t", -(2**63), 2**63 - 1),
)


@dataclass(frozen=True)
class CTable:
    """A constant table, and who reads it."""

    name: str
    type: str
    contents: tuple[str, ...]
    comment: str


@dataclass(frozen=True)
class Function:
    """The body of the function: tables, statements in order (comments too), and its results."""

    tables: tuple[CTable, ...]
    statements: tuple[str, ...]
    in_type: str
    out_type: str
    reads_inputs: bool
    results: tuple[str, ...]


def function_of(program: Program) -> Function:
    """The statements of a program; OptionError where a value has more bits than C's integers."""
    writer = _Writer(program)
    return writer.function()


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.known = ranges(program)
        self.needed = _needed(program)
        self.tables: dict[tuple[int, ...], CTable] = {}

    def function(self) -> Function:
        lines: list[str] = []
        title = ""
        for ref, op in self.program:
            if ref not in self.needed:
                continue
            part = part_of(op)
            heading = part.prefix or part.title
            if heading != title:
                title = heading
                lines.append(f"/* {title} */")
            lines += self._statements(ref, op)
        return Function(
            tuple(self.tables.values()),
            tuple(lines),
            c_type(self.known[ref] for ref in self.program.inputs),
            c_type(self.known[ref] for ref in self.program.outputs),
            any(ref in self.needed for ref in self.program.inputs),
            tuple(self._name(ref) for ref in self.program.outputs),
        )

    def _statements(self, ref: Ref, op: Op) -> Iterable[str]:
        name, type_ = self._name(ref), _type(self.known[ref], op)
        if isinstance(op, Argmax):
            return self._argmax(name, op)
        return [f"const {type_} {name} = {self._value(ref, op, type_)};"]

    def _value(self, ref: Ref, op: Op, type_: str) -> str:
        match op:
            case Input():
                low, high = literal(op.low), literal(op.high)
                return f"({type_})clipped(inputs[{op.position}], {low}, {high})"
            case Constant():
                return literal(op.value)
            case AtLeast():
                bound = literal(op.bound)
                return f"({self._name(op.value)} >= {bound}) ? 1 : 0"
            case Less():
                return f"({self._name(op.left)} < {self._name(op.right)}) ? 1 : 0"
            case Select():
                names = [self._name(r) for r in (op.condition, op.chosen, op.other)]
                return f"({names[0]} != 0) ? {names[1]} : {names[2]}"
            case Table():
                return f"({type_}){self._table(op)}[{self._name(op.index)}]"
            case Shift():
                return f"({type_})({self._shifted(op)})"
            case Sum():
                return self._sum(op, type_)
            case Product():
                # C multiplies in the type of the factors, which therefore must have room for the
                # product.
                wide = _type(_product(self.known[op.left], self.known[op.right]), op)
                sides = " * ".join(f"({wide}){self._name(r)}" for r in (op.left, op.right))
                return f"({type_})({sides})"
            case Field() if op.signed:
                return f"({type_})({self._signed(ref, op)})"
            case Field() | Xor() | Majority() | Concat():
                return f"({type_})({self._bits(op)})"
            case Argmax():
                raise AssertionError("argmax takes several statements")

    def _sum(self, op: Sum, type_: str) -> str:
        """In the type that holds whatever is added up, in whatever order."""
        reach = abs(op.constant)
        for ref, weight in zip(op.operands, op.weights, strict=True):
            known = self.known[ref]
            reach += abs(weight) * max(abs(known.low), abs(known.high))
        wide = _type(Range(-reach, reach), op)
        text = literal(op.constant) if op.constant else ""
        for ref, weight in zip(op.operands, op.weights, strict=True):
            term = self._name(ref) if wide == "int32_t" else f"({wide}){self._name(ref)}"
            term = term if abs(weight) == 1 else f"({term} * {literal(abs(weight))})"
            sign = "-" if weight < 0 else "+"
            text = f"{text} {sign} {term}" if text else (term if weight > 0 else f"-{term}")
        return text if wide == type_ else f"({type_})({text})"

    def _signed(self, ref: Ref, op: Field) -> str:
        """With its sign bit turned over the word is non-negative, and that much too large."""
        sign, wide = 1 << (op.width - 1), _type(Range(0, 1 << op.width), op)
        suffix = "U" if op.width <= 32 and self.known[op.value].width <= 32 else "ULL"
        bits = self._bits(replace(op, signed=False))
        return f"({wide})(({bits}) ^ {sign:#x}{suffix}) - {literal(sign)}"

    def _shifted(self, op: Shift) -> str:
        """Rounded down: what a right shift of a negative value gives is the compiler's choice."""
        name, low = self._name(op.value), self.known[op.value].low
        if low >= 0:
            return f"{name} >> {op.bits}"
        ones = (1 << op.bits) - 1
        wide = _type(Range(low, ones - low), op)
        below = f"-((({wide}){literal(ones)} - {name}) >> {op.bits})"
        return f"{name} >= 0 ? {name} >> {op.bits} : {below}"

    def _bits(self, op: Field | Xor | Majority | Concat) -> str:
        reads = [self.known[ref] for ref in operands(op)]
        widths = sum(op.widths) if isinstance(op, Concat) else max(r.width for r in reads)
        word = "uint32_t" if max(widths, *(r.width for r in reads)) <= 32 else "uint64_t"
        suffix = "U" if word == "uint32_t" else "ULL"

        def unsigned(ref: Ref) -> str:
            return f"({word}){self._name(ref)}"

        if isinstance(op, Field):
            value = f"({unsigned(op.value)} >> {op.offset}U)" if op.offset else unsigned(op.value)
            return f"{value} & {(1 << op.width) - 1:#x}{suffix}"
        if isinstance(op, Majority):
            a, b, c = map(unsigned, op.operands)
            return f"({a} & {b}) | ({c} & ({a} | {b}))"
        if isinstance(op, Xor):
            return " ^ ".join(map(unsigned, op.operands))
        places, start = [], 0
        for ref, width in zip(op.operands, op.widths, strict=True):
            places.append(f"({unsigned(ref)} << {start}U)" if start else unsigned(ref))
            start += width
        return " | ".join(places)

    def _argmax(self, name: str, op: Argmax) -> Iterable[str]:
        if len(op.operands) == 1:
            yield f"const int32_t {name} = 0;"
            return
        best = f"{name}_best"
        wide = c_type(self.known[ref] for ref in op.operands)
        yield f"int32_t {name} = 0;"
        yield f"{wide} {best} = {self._name(op.operands[0])};"
        for place, ref in enumerate(op.operands[1:], start=1):
            # Strictly greater, so that the first of equal scores stays.
            yield f"if ({self._name(ref)} > {best}) {{"
            yield f"    {best} = {self._name(ref)};"
            yield f"    {name} = {place};"
            yield "}"

    def _table(self, op: Table) -> str:
        """The name of its table; equal ones are kept once."""
        # What lies beyond the greatest index is never read.
        contents = op.contents[: self.known[op.index].high + 1]
        if contents not in self.tables:
            low, high = min(contents), max(contents)
            type_ = next(t for t, least, most in _TABLE_TYPES if least <= low and high <= most)
            name = f"table_{len(self.tables)}"
            words = tuple(literal(entry) for entry in contents)
            self.tables[contents] = CTable(name, type_, words, _plain(op.name) or part_of(op).title)
        return self.tables[contents].name

    def _name(self, ref: Ref) -> str:
        name = _plain(self.program.ops[ref].name)[:32].strip("_") or "value"
        # The text is for readers; the number keeps names apart.
        return f"{name if name[0].isalpha() else 'n' + name}_{ref}"


def _needed(program: Program) -> set[Ref]:
    """What the outputs are made of."""
    needed = {*program.outputs}
    for ref in reversed(range(len(program.ops))):
        if ref in needed:
            needed.update(operands(program.ops[ref]))
    return needed


def _type(reach: Range, op: Op) -> str:
    """The type of a value; OptionError where there is none."""
    if reach.low >= -(2**31) and reach.high < 2**31:
        return "int32_t"
    if reach.low >= -(2**_WIDEST) and reach.high < 2**_WIDEST:
        return "int64_t"
    raise OptionError(
        f"values must have at most 64 bits in C, not {reach.width} as {op.name or 'a sum'} needs; "
        "choose fewer with --frac-bits"
    )


def c_type(reaches: Iterable[Range]) -> str:
    """The integer type that holds all of them."""
    found = list(reaches)
    least, most = min(r.low for r in found), max(r.high for r in found)
    return _type(Range(least, most), Constant(value=0, name="a port"))


def _product(left: Range, right: Range) -> Range:
    corners = [a * b for a in left for b in right]
    return Range(min(corners), max(corners))


def literal(value: int) -> str:
    """As a constant that has its type on every compiler; the least integers have no literal."""
    # C has no negative literals: this is a minus and a number that fits no type.
    if value == -(2**63):
        return "INT64_MIN"
    if value == -(2**31):
        return "INT32_MIN"
    text = str(abs(value)) if abs(value) < 2**31 else f"INT64_C({abs(value)})"
    return f"(-{text})" if value < 0 else text


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
