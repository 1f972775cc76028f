"""The delay model: what is free, and that more logic never takes less time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scm_hw.ir import (
    Argmax,
    AtLeast,
    Builder,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Op,
    Product,
    Program,
    Range,
    Select,
    Sum,
    Table,
    Xor,
    ranges,
)
from scm_hw.target import GRADE_SCALE, XC7, delay, enable_delay, free_ops

ABSORBED_INPUTS, LUT_INPUTS = XC7.absorbed_inputs, XC7.lut_inputs


def unsigned(width: int) -> Range:
    return Range(0, (1 << width) - 1)


def delays(op: Op, width: int) -> float:
    """The delay of an operation on operands, and to a result, of that width."""
    return delay(op, [unsigned(width)] * 3, unsigned(width), XC7)


@pytest.mark.parametrize(
    "op", [Input(0, 0, 1), Constant(3), Field(0, 0, 1), Concat((0, 1), (9, 9)), Sum((0,), (4,))]
)
def test_wires_take_no_time(op: Op) -> None:
    assert delays(op, 9) == 0


@pytest.mark.parametrize(
    "op",
    [
        Sum((0, 1), (1, 1)),
        Sum((0,), (-1,)),
        Sum((0,), (1,), 3),
        Table(0, (0,)),
        AtLeast(0, 3),
        Less(0, 1),
        Product(0, 1),
        Select(0, 1, 2),
        Xor((0, 1)),
    ],
    ids=str,
)
def test_logic_takes_time_and_wider_logic_no_less(op: Op) -> None:
    times = [delays(op, width) for width in range(1, 40)]
    assert times[0] > 0
    assert all(narrow <= wide for narrow, wide in pairwise(times))


def test_a_table_of_one_lut_is_the_shortest_logic() -> None:
    level = delays(Table(0, (0,)), LUT_INPUTS)
    assert delays(Table(0, (0,)), 1) == level
    assert delays(Table(0, (0,)), LUT_INPUTS + 1) > level
    assert delays(Xor((0,) * LUT_INPUTS), 1) == level < delays(Xor((0,) * (LUT_INPUTS + 1)), 1)
    assert level < delays(Sum((0, 1), (1, 1)), 8) < delays(Product(0, 1), 8)


def test_long_products_take_more_than_one_multiplier() -> None:
    assert delays(Product(0, 1), 18) < delays(Product(0, 1), 19) < delays(Product(0, 1), 37)


@pytest.mark.parametrize("op", [Argmax((0, 1))], ids=str)
def test_what_was_not_lowered_has_no_time(op: Op) -> None:
    with pytest.raises(AssertionError, match="must be lowered before it is timed"):
        delays(op, 4)


def test_slower_grades_are_slower() -> None:
    assert GRADE_SCALE["1"] == 1
    assert GRADE_SCALE["3"] < GRADE_SCALE["2"] < GRADE_SCALE["1"] < GRADE_SCALE["1L"]


# What is free


def adding(
    index_bits: int, *more: Op, weights: tuple[int, int] = (1, 1), first: bool = False
) -> Program:
    """A value plus a table, the table at 2; `more` operations follow the sum at 3."""
    code, value = Input(0, 0, (1 << index_bits) - 1), Input(1, 0, 9)
    table = Table(0, tuple(v % 7 for v in range(1 << index_bits)))
    total = Sum((2, 1) if first else (1, 2), weights)
    ops = (code, value, table, total, *more)
    return Program(ops, (0, 1), (len(ops) - 1,))


def test_an_addition_absorbs_a_table_on_its_right() -> None:
    assert free_ops(adding(ABSORBED_INPUTS), XC7) == {2}


@pytest.mark.parametrize(
    "program",
    [
        adding(ABSORBED_INPUTS + 1),
        adding(ABSORBED_INPUTS, first=True),
        adding(ABSORBED_INPUTS, weights=(1, -1)),
        adding(ABSORBED_INPUTS, weights=(2, 1)),
        adding(ABSORBED_INPUTS, AtLeast(2, 3)),
        adding(ABSORBED_INPUTS, Sum((2, 1), (1, 1))),
    ],
    ids=["wide", "first", "subtracted", "shifted", "read", "first elsewhere"],
)
def test_other_tables_are_not_absorbed(program: Program) -> None:
    assert not free_ops(program, XC7)


def test_a_table_that_is_an_output_is_not_absorbed() -> None:
    program = adding(ABSORBED_INPUTS)
    assert not free_ops(Program(program.ops, program.inputs, (2, 3)), XC7)


def test_a_table_may_be_absorbed_more_than_once() -> None:
    assert free_ops(adding(ABSORBED_INPUTS, Sum((3, 2), (1, 1))), XC7) == {2}


def test_wires_and_constants_are_free() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 15, name="code"))
    free = {
        build.add(Field(code, 1, 2)),
        build.add(Concat((code, code), (4, 4))),
        build.add(Constant(3)),
        build.add(Sum((code,), (8,))),
    }
    kept = [
        build.add(op)
        for op in (Sum((code,), (-1,)), Sum((code,), (1,), 1), AtLeast(code, 3), Xor((code, code)))
    ]
    program = build.program((code,), (*sorted(free), *kept))
    assert free_ops(program, XC7) == free
    known = ranges(program)
    assert all(delay(program.ops[r], known, known[r], XC7) == 0 for r in free)


def test_an_enable_takes_longer_for_more_registers() -> None:
    one, *more = (enable_delay(registers, XC7) for registers in (1, 60, 600, 6000))
    assert one == pytest.approx(XC7.register + XC7.level)
    assert [one, *more] == sorted({one, *more})
    # Not what a 100 MHz clock is limited by.
    assert more[-1] < 4
