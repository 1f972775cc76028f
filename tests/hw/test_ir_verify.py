"""Every rule of the IR, broken once."""

from __future__ import annotations

import re
from random import Random

import pytest

from scm_hw.ir import (
    Argmax,
    AtLeast,
    BrokenProgram,
    Concat,
    Constant,
    Field,
    Input,
    Majority,
    Op,
    Product,
    Program,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    verify,
)
from tests.hw.programs import random_program

UNSIGNED, SIGNED = Input(0, 0, 5, name="u"), Input(1, -2, 2, name="s")

BROKEN: list[tuple[Op, str]] = [
    (AtLeast(2, 0), "%2 must read earlier references only: "),
    (AtLeast(3, 0), "%2 must read earlier references only: "),
    (AtLeast(-1, 0), "%2 must read earlier references only: "),
    (Sum((0, 1), (1,)), "%2 must have one non-zero weight for each operand: "),
    (Sum((0, 1), (1, 0)), "%2 must have one non-zero weight for each operand: "),
    (Concat((0, 0), (3,)), "%2 must have one width for each operand: "),
    (Concat((), ()), "%2 must have one width for each operand: "),
    (Argmax(()), "%2 must have operands: "),
    (Xor(()), "%2 must have operands: "),
    (Field(0, -1, 1), "%2 must take at least one bit: "),
    (Field(0, 0, 0), "%2 must take at least one bit: "),
    (Shift(0, 0), "%2 must drop at least one bit: "),
    (Input(2, 1, 0), "%2 must have an ordered range: "),
    (Constant(1 << 62), "%2 must fit 62 bits, not 63: "),
    (Majority((0, 0, 1)), "%2 must read non-negative values: "),
    (Field(1, 0, 1), "%2 must read non-negative values: "),
    (Xor((0, 1)), "%2 must read non-negative values: "),
    (Select(0, 0, 1), "%2 must select by a bit: "),
    (Select(1, 0, 1), "%2 must select by a bit: "),
    (Table(0, (1, 2, 3, 4, 5)), "%2 must be indexed inside its contents: "),
    (Table(1, (1, 2, 3, 4, 5)), "%2 must be indexed inside its contents: "),
    (Concat((0, 0), (3, 2)), "%2 must give %0 room for its range: "),
    (Concat((1,), (3,)), "%2 must give %1 room for its range: "),
]


def program(*ops: Op, inputs: tuple[int, ...] = (0, 1), outputs: tuple[int, ...] = (2,)) -> Program:
    return Program((UNSIGNED, SIGNED, *ops), inputs, outputs)


@pytest.mark.parametrize(("op", "message"), BROKEN, ids=lambda v: str(v)[:40])
def test_a_broken_operation_is_found(op: Op, message: str) -> None:
    with pytest.raises(BrokenProgram, match=f"^{re.escape(message)}"):
        verify(program(op))


def test_the_nearest_good_operations_pass() -> None:
    good: list[Op] = [
        AtLeast(1, 0),
        Sum((0, 1), (1, -1)),
        Concat((0, 0), (3, 4)),
        Field(0, 5, 1),
        Constant((1 << 62) - 1),
        Constant(-(1 << 61)),
        Table(0, (1, 2, 3, 4, 5, 6)),
        Product(1, 1),
    ]
    for op in good:
        verify(program(op))


@pytest.mark.parametrize("inputs", [(), (0,), (1, 0), (0, 1, 1), (0, 2)])
def test_inputs_are_named_once_and_in_order(inputs: tuple[int, ...]) -> None:
    message = f"inputs must name every input once, in order, not {inputs}"
    with pytest.raises(BrokenProgram, match=f"^{re.escape(message)}$"):
        verify(program(Constant(1), inputs=inputs))


def test_positions_may_not_be_left_out_or_taken_twice() -> None:
    for position in (2, 0):
        ops = (UNSIGNED, Input(position, 0, 1), Constant(1))
        with pytest.raises(BrokenProgram, match=r"^inputs must name every input once, in order"):
            verify(Program(ops, (0, 1), (2,)))


@pytest.mark.parametrize("outputs", [(), (3,), (-1,)])
def test_outputs_are_references(outputs: tuple[int, ...]) -> None:
    message = f"outputs must be references of the program, not {outputs}"
    with pytest.raises(BrokenProgram, match=f"^{re.escape(message)}$"):
        verify(program(Constant(1), outputs=outputs))


def test_random_programs_keep_the_rules() -> None:
    for seed in range(50):
        verify(random_program(Random(seed)))
