"""A Program: operations in order, and which of them are the outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, get_args

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
    operands,
)
from scm_hw.ir.part import INTERFACE, Part

# A printed table shows this many entries.
SHOWN_ENTRIES = 16


@dataclass(frozen=True)
class Program:
    """The integer-exact meaning of a machine.

    `ops[r]` defines the value of reference `r` from earlier references only. Inputs arrive packed
    in the order of `inputs`, the first in the lowest bits; outputs leave the same way.
    """

    ops: tuple[Op, ...]
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]

    def __iter__(self) -> Iterator[tuple[Ref, Op]]:
        return iter(enumerate(self.ops))

    def __str__(self) -> str:
        lines = [f"%{ref} = {describe(op)}" for ref, op in self]
        lines.append("return " + ", ".join(f"%{ref}" for ref in self.outputs))
        return "\n".join(lines)

    def uses(self) -> list[int]:
        """How often each reference is read, outputs included."""
        count = [0] * len(self.ops)
        for op in self.ops:
            for ref in operands(op):
                count[ref] += 1
        # An output that is read nowhere else must not count as dead.
        for ref in self.outputs:
            count[ref] += 1
        return count

    def input_ops(self) -> list[Input]:
        """The inputs in the order in which they are packed."""
        found = [self.ops[ref] for ref in self.inputs]
        return [op for op in found if isinstance(op, Input)]


# All fields of an operation but its name and part.
_MEANING = {
    kind: attrgetter(*(f.name for f in fields(kind) if f.name not in ("name", "part")))
    for kind in get_args(Op)
}


@dataclass
class Builder:
    """Collects operations; equal operations on equal operands become one."""

    ops: list[Op] = field(default_factory=list)
    part: Part = INTERFACE
    _seen: dict[tuple[type[Op], Any], Ref] = field(default_factory=dict)

    @contextmanager
    def within(self, part: Part | None) -> Iterator[None]:
        """Operations without a part belong to `part` here (None: as before)."""
        outer, self.part = self.part, part or self.part
        try:
            yield
        finally:
            self.part = outer

    def add(self, op: Op) -> Ref:
        """The reference of `op`, new or already there. The first name and part given stay."""
        # Two names for one value would be built as two circuits.
        key = (type(op), _MEANING[type(op)](op))
        ref = self._seen.get(key)
        if ref is None:
            ref = len(self.ops)
            self.ops.append(op if op.part is not None else replace(op, part=self.part))
            self._seen[key] = ref
        return ref

    def program(self, inputs: tuple[Ref, ...], outputs: tuple[Ref, ...]) -> Program:
        return Program(tuple(self.ops), inputs, outputs)


def part_of(op: Op) -> Part:
    """What an operation belongs to."""
    return op.part or INTERFACE


def describe(op: Op) -> str:
    """One operation as a person reads it."""
    text = _describe(op)
    return f"{text}  # {op.name}" if op.name else text


def as_json(program: Program) -> dict[str, object]:
    """A program in the types of JSON: each operation by its kind, with its own fields."""
    return {
        "inputs": list(program.inputs),
        "outputs": list(program.outputs),
        "ops": [
            {"ref": ref, "op": type(op).__name__, **asdict(op), "part": part_of(op).title}
            for ref, op in program
        ],
    }


def _describe(op: Op) -> str:
    match op:
        case Input():
            return f"input {op.position} in [{op.low}, {op.high}]"
        case Constant():
            return f"constant {op.value}"
        case AtLeast():
            return f"%{op.value} >= {op.bound}"
        case Field():
            return f"%{op.value}[{op.offset}:{op.offset + op.width}]"
        case Xor():
            return "xor " + ", ".join(f"%{r}" for r in op.operands)
        case Sum():
            return "sum " + _terms(op)
        case Majority():
            return "majority " + ", ".join(f"%{r}" for r in op.operands)
        case Shift():
            return f"%{op.value} >> {op.bits}"
        case Product():
            return f"%{op.left} * %{op.right}"
        case Concat():
            return "concat " + ", ".join(
                f"%{r}:{w}" for r, w in zip(op.operands, op.widths, strict=True)
            )
        case Table():
            return f"table %{op.index} of {_shortened(op.contents)}"
        case Less():
            return f"%{op.left} < %{op.right}"
        case Select():
            return f"%{op.chosen} if %{op.condition} else %{op.other}"
        case Argmax():
            return "argmax " + ", ".join(f"%{r}" for r in op.operands)


def _terms(op: Sum) -> str:
    terms = [f"{w:+d}*%{r}" for r, w in zip(op.operands, op.weights, strict=True)]
    return " ".join([*terms, f"{op.constant:+d}"])


def _shortened(contents: tuple[int, ...]) -> str:
    if len(contents) <= SHOWN_ENTRIES:
        return str(list(contents))
    shown = ", ".join(map(str, contents[:SHOWN_ENTRIES]))
    return f"[{shown}, ... {len(contents)} entries]"
