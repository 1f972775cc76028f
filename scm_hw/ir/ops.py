"""The operations of a Program.

Every operation yields one integer per sample. Operands are references: indices of earlier
operations in `Program.ops`. An operation is immutable and says nothing of widths, time or gates;
those follow from ranges (`scm_hw.ir.ranges`) and from the schedule (`scm_hw.schedule`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scm_hw.ir.part import Part

Ref = int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """`name` is for people; `part` is what the operation belongs to, the interface where None."""

    name: str = ""
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Input(_Named):
    """An integer from outside, in [low, high]; `position` counts inputs as they are packed."""

    position: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Constant(_Named):
    """Always `value`."""

    value: int


@dataclass(frozen=True, slots=True)
class AtLeast(_Named):
    """1 where `value >= bound`, else 0."""

    value: Ref
    bound: int


@dataclass(frozen=True, slots=True)
class Field(_Named):
    """`width` bits of a non-negative value, from bit `offset` up.

    With `signed` they are read as two's complement, so that sums may go round modulo `2**width`.
    """

    value: Ref
    offset: int
    width: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Shift(_Named):
    """`value` without its lowest `bits`: divided by `2**bits` and rounded down."""

    value: Ref
    bits: int


@dataclass(frozen=True, slots=True)
class Xor(_Named):
    """Bitwise exclusive or of non-negative values."""

    operands: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Majority(_Named):
    """Bitwise, of three non-negative values: set where two of them are, or all."""

    operands: tuple[Ref, Ref, Ref]


@dataclass(frozen=True, slots=True)
class Sum(_Named):
    """`constant + sum of weight * operand`."""

    operands: tuple[Ref, ...]
    weights: tuple[int, ...]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Product(_Named):
    """`left * right`."""

    left: Ref
    right: Ref


@dataclass(frozen=True, slots=True)
class Concat(_Named):
    """Non-negative values side by side, the first in the lowest bits; `widths[i]` bits for each."""

    operands: tuple[Ref, ...]
    widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table(_Named):
    """`contents[index]`; the index is never outside.

    With `memory` the table is to be kept in a memory that is read at a clock edge.
    """

    index: Ref
    contents: tuple[int, ...]
    memory: bool = False


@dataclass(frozen=True, slots=True)
class Less(_Named):
    """1 where `left < right`, else 0."""

    left: Ref
    right: Ref


@dataclass(frozen=True, slots=True)
class Select(_Named):
    """`chosen` where the condition bit is set, else `other`."""

    condition: Ref
    chosen: Ref
    other: Ref


@dataclass(frozen=True, slots=True)
class Argmax(_Named):
    """The position of the largest operand, the first of them where several are equal."""

    operands: tuple[Ref, ...]


Op = (
    Input
    | Constant
    | AtLeast
    | Field
    | Shift
    | Xor
    | Majority
    | Sum
    | Product
    | Concat
    | Table
    | Less
    | Select
    | Argmax
)


def operands(op: Op) -> tuple[Ref, ...]:
    """What an operation reads, in order, repeated where it is read twice."""
    match op:
        # Most are of the first few kinds.
        case Sum() | Concat():
            return op.operands
        case Table():
            return (op.index,)
        case AtLeast() | Field() | Shift():
            return (op.value,)
        case Product() | Less():
            return (op.left, op.right)
        case Select():
            return (op.condition, op.chosen, op.other)
        case Input() | Constant():
            return ()
        case Xor() | Majority() | Argmax():
            return op.operands


def with_operands(op: Op, refs: tuple[Ref, ...]) -> Op:
    """The same operation on other operands, given in the order of `operands`."""
    if refs == operands(op):
        return op
    match op:
        case Input() | Constant():
            return op
        case AtLeast() | Field() | Shift():
            return replace(op, value=refs[0])
        case Table():
            return replace(op, index=refs[0])
        case Product() | Less():
            return replace(op, left=refs[0], right=refs[1])
        case Select():
            return replace(op, condition=refs[0], chosen=refs[1], other=refs[2])
        case Majority():
            return replace(op, operands=(refs[0], refs[1], refs[2]))
        case Xor() | Sum() | Concat() | Argmax():
            return replace(op, operands=refs)
