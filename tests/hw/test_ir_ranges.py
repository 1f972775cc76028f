"""Ranges hold every value, and are reached where operands are independent."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw.ir import (
    Argmax,
    AtLeast,
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
    Shift,
    Sum,
    Table,
    Xor,
    ranges,
)
from scm_hw.ir.interp import trace
from tests.hw import oracle
from tests.hw.programs import random_program, rows_for


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_no_value_leaves_its_range(seed: int) -> None:
    program = random_program(Random(seed), size=18)
    found = trace(program, rows_for(program), range(len(program.ops)))
    for ref, reach in enumerate(ranges(program)):
        assert reach.low <= found[ref].min(), program
        assert found[ref].max() <= reach.high, program


# Operations on independent inputs: 0 is unsigned, 1 signed, 2 a bit, 3 away from zero.
INPUTS = (Input(0, 0, 6), Input(1, -3, 4), Input(2, 0, 1), Input(3, 5, 9))
EXACT: list[Op] = [
    Constant(-4),
    AtLeast(1, -3),
    AtLeast(1, -2),
    AtLeast(1, 4),
    AtLeast(1, 5),
    AtLeast(3, 5),
    Field(0, 0, 2),
    Field(0, 1, 2),
    Field(0, 3, 1),
    Field(3, 0, 3),
    Field(3, 1, 1),
    Field(3, 2, 2),
    Shift(0, 1),
    Field(0, 0, 2, True),
    Field(3, 1, 1, True),
    Shift(1, 1),
    Shift(1, 2),
    Shift(3, 9),
    Sum((0, 1, 2), (3, -2, 5), -7),
    Sum((3,), (-1,)),
    Sum((), (), 4),
    Product(0, 1),
    Product(1, 3),
    Concat((0, 2), (3, 1)),
    Concat((2, 3, 0), (2, 4, 3)),
    Table(0, (9, -2, 3, 4, 5, 6, 7)),
    Table(3, (100, 100, 100, 100, 100, 3, 4, 5, 6, 7, -100)),
    Less(0, 1),
    Less(1, 3),
    Less(3, 1),
    Less(0, 3),
    Select(2, 0, 1),
    Select(2, 3, 3),
    Argmax((0, 1, 3)),
    Argmax((3, 1, 2)),
    Argmax((1, 0)),
    Xor((0, 2)),
]


@pytest.mark.parametrize("op", EXACT, ids=str)
def test_extremes_are_reached_where_operands_are_independent(op: Op) -> None:
    program = Program((*INPUTS, op), (0, 1, 2, 3), (4,))
    values = [oracle.all_values(program, row)[4] for row in product(*map(_span, INPUTS))]
    low, high = ranges(program)[4]
    if isinstance(op, Argmax):
        # Only the last contender is promised: the first may have no chance.
        assert (0, max(values)) == (low, high)
    else:
        assert (min(values), max(values)) == (low, high)


def _span(op: Input) -> range:
    return range(op.low, op.high + 1)


def test_a_constant_condition_leaves_one_side() -> None:
    one, zero = Constant(1), Constant(0)
    ops = (*INPUTS, one, zero, Select(4, 0, 1), Select(5, 0, 1))
    assert ranges(Program(ops, (0, 1, 2, 3), (6, 7)))[6:] == [Range(0, 6), Range(-3, 4)]


def test_a_class_that_can_only_draw_level_never_wins() -> None:
    ops = (Input(0, 2, 6), Input(1, -3, 2), Input(2, -3, 3), Argmax((0, 1)), Argmax((0, 1, 2)))
    assert ranges(Program(ops, (0, 1, 2), (3, 4)))[3:] == [Range(0, 0), Range(0, 2)]


def fits(reach: Range, width: int) -> bool:
    if reach.low < 0:
        return -(2 ** (width - 1)) <= reach.low and reach.high < 2 ** (width - 1)
    return reach.high < 2**width


def test_widths_are_the_narrowest() -> None:
    ends = sorted({sign * (2**k + d) for sign in (1, -1) for k in range(7) for d in (-1, 0, 1)})
    for low, high in product(ends, ends):
        if low <= high:
            reach = Range(low, high)
            assert reach.width == next(w for w in range(1, 10) if fits(reach, w)), reach
            assert reach.signed == (low < 0)


def test_wide_values_are_no_problem() -> None:
    ops = (Input(0, 0, 2**60), Sum((0,), (2**70,), 1))
    assert ranges(Program(ops, (0,), (1,)))[1] == Range(1, 2**130 + 1)


def test_bounds_that_no_integer_can_reach() -> None:
    ops = (*INPUTS, AtLeast(0, 2**70), AtLeast(0, -(2**70)))
    assert ranges(Program(ops, (0, 1, 2, 3), (4,)))[4:] == [Range(0, 0), Range(1, 1)]
