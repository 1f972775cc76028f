"""The rules that every Program keeps. Breaking one is an error of the compiler, not of its user."""

from __future__ import annotations

from scm_hw.ir.ops import (
    Argmax,
    Concat,
    Field,
    Input,
    Majority,
    Op,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
)
from scm_hw.ir.program import Program
from scm_hw.ir.ranges import Range, range_of

# Interpreters hold values in 64-bit integers and add two of them at a time.
WIDEST = 62


class BrokenProgram(AssertionError):
    """A Program breaks a rule of the IR."""


def verify(program: Program) -> None:
    """Check order of definitions, shapes of operations, ranges of operands, inputs and outputs."""
    known: list[Range] = []
    for ref, op in program:
        if any(not 0 <= r < ref for r in operands(op)):
            raise BrokenProgram(f"%{ref} must read earlier references only: {op}")
        _verify_shape(ref, op)
        _verify_operands(ref, op, known)
        known.append(range_of(op, known))
        if known[ref].width > WIDEST:
            raise BrokenProgram(f"%{ref} must fit {WIDEST} bits, not {known[ref].width}: {op.name}")
    _verify_ends(program)


def _verify_shape(ref: int, op: Op) -> None:
    match op:
        case Sum() if len(op.operands) != len(op.weights) or 0 in op.weights:
            raise BrokenProgram(f"%{ref} must have one non-zero weight for each operand: {op}")
        case Concat() if len(op.operands) != len(op.widths) or not op.operands:
            raise BrokenProgram(f"%{ref} must have one width for each operand: {op}")
        case Argmax() | Xor() if not op.operands:
            raise BrokenProgram(f"%{ref} must have operands: {op}")
        case Field() if op.offset < 0 or op.width < 1:
            raise BrokenProgram(f"%{ref} must take at least one bit: {op}")
        case Shift() if op.bits < 1:
            raise BrokenProgram(f"%{ref} must drop at least one bit: {op}")
        case Input() if op.low > op.high:
            raise BrokenProgram(f"%{ref} must have an ordered range: {op}")


def _verify_operands(ref: int, op: Op, known: list[Range]) -> None:
    match op:
        case Field() | Xor() | Majority():
            if any(known[r].signed for r in operands(op)):
                raise BrokenProgram(f"%{ref} must read non-negative values: {op}")
        case Select():
            if known[op.condition].low < 0 or known[op.condition].high > 1:
                raise BrokenProgram(f"%{ref} must select by a bit: {op}")
        case Table():
            if known[op.index].low < 0 or known[op.index].high >= len(op.contents):
                raise BrokenProgram(f"%{ref} must be indexed inside its contents: {op.name}")
        case Concat():
            for r, width in zip(op.operands, op.widths, strict=True):
                if known[r].signed or known[r].high >> width:
                    raise BrokenProgram(f"%{ref} must give %{r} room for its range: {op}")


def _verify_ends(program: Program) -> None:
    # Ports are packed by position: one that is missing or double would shift all behind it.
    found = {op.position: ref for ref, op in program if isinstance(op, Input)}
    if program.inputs != tuple(found.get(i) for i in range(len(found))):
        raise BrokenProgram(f"inputs must name every input once, in order, not {program.inputs}")
    if not program.outputs or any(not 0 <= r < len(program.ops) for r in program.outputs):
        raise BrokenProgram(f"outputs must be references of the program, not {program.outputs}")
