"""The interpreter against one operation at a time in Python's integers."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw.ir import Argmax, AtLeast, Builder, Constant, Input, Program, Sum, Xor, verify
from scm_hw.ir.interp import BLOCK_ROWS, interpret, trace
from tests.hw import oracle
from tests.hw.programs import random_program, rows_for


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_random_graphs_of_operations(seed: int) -> None:
    program = random_program(Random(seed))
    verify(program)
    rows = rows_for(program, 20)[:40]
    np.testing.assert_array_equal(interpret(program, rows), oracle.outputs(program, rows))


def test_every_kind_of_operation_was_drawn() -> None:
    kinds = {type(op).__name__ for seed in range(40) for op in random_program(Random(seed)).ops}
    assert kinds == {
        *("Input", "Constant", "AtLeast", "Field", "Xor", "Sum"),
        *("Product", "Concat", "Table", "Less", "Select", "Argmax", "Shift", "Majority"),
    }


def test_trace_gives_every_reference_its_value() -> None:
    for seed in range(20):
        program = random_program(Random(seed))
        rows = rows_for(program, 30)[:30]
        found = trace(program, rows, range(len(program.ops)))
        for number, row in enumerate(rows):
            values = [found[ref][number] for ref in range(len(program.ops))]
            assert values == oracle.all_values(program, [int(v) for v in row])


def test_rows_are_kept_in_order_across_blocks() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 3 * BLOCK_ROWS, name="code"))
    program = build.program((code,), (build.add(Sum((code,), (3,), -1)), code))
    rows = np.random.default_rng(0).permutation(2 * BLOCK_ROWS + 5)[:, None]
    np.testing.assert_array_equal(interpret(program, rows), np.hstack([3 * rows - 1, rows]))
    np.testing.assert_array_equal(trace(program, rows, [code])[code], rows[:, 0])


def test_no_rows_give_no_outputs() -> None:
    program = random_program(Random(0))
    none = np.empty((0, len(program.inputs)), np.int64)
    assert interpret(program, none).shape == (0, len(program.outputs))
    assert trace(program, none, [0])[0].shape == (0,)


def wide_sums(weight: int) -> Program:
    """Two sums of twelve inputs that differ in the lowest place only."""
    build = Builder()
    codes = tuple(build.add(Input(i, 0, 1, name=f"x{i}")) for i in range(12))
    weights = tuple(weight + i for i in range(12))
    sums = [build.add(Sum(codes, weights, constant)) for constant in (0, 1)]
    odd = build.add(Sum(codes, (weight + 1, *weights[1:])))
    return build.program(codes, (*sums, odd))


@pytest.mark.parametrize("weight", [1, (1 << 49) - 100, (1 << 53) + 1, (1 << 57) + 1])
def test_wide_sums_are_exact_where_floating_point_is_not(weight: int) -> None:
    program = wide_sums(weight)
    rows = rows_for(program)[-300:]
    np.testing.assert_array_equal(interpret(program, rows), oracle.outputs(program, rows))


def test_ties_go_to_the_first_and_thresholds_are_met_exactly() -> None:
    build = Builder()
    left, right = (build.add(Input(i, -2, 2, name=f"x{i}")) for i in range(2))
    best = build.add(Argmax((left, right, left)))
    above, reached = (build.add(AtLeast(left, bound)) for bound in (2, 1))
    program = build.program((left, right), (best, above, reached))
    rows = np.array([[1, 1], [1, 2], [2, 1], [0, 0]])
    assert interpret(program, rows).tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1], [0, 0, 0]]


def test_outputs_that_are_inputs_constants_and_repeated() -> None:
    build = Builder()
    code = build.add(Input(0, -4, 3, name="code"))
    seven = build.add(Constant(7))
    program = build.program((code,), (code, seven, code))
    assert interpret(program, np.array([[-4], [3]])).tolist() == [[-4, 7, -4], [3, 7, 3]]


def test_a_single_row_may_come_without_its_brackets() -> None:
    program = random_program(Random(3))
    row = rows_for(program)[0]
    np.testing.assert_array_equal(interpret(program, row), interpret(program, row[None]))


def test_inputs_outside_their_range_are_refused() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 7, name="speed"))
    program = build.program((code,), (build.add(Xor((code, code))),))
    for rows, seen in (([[1], [8]], "[1, 8]"), ([[-1]], "[-1, -1]")):
        message = f"input 'speed' must be in [0, 7], not {seen}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            interpret(program, np.array(rows))
    message = "inputs must have 1 columns, not shape (1, 2)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        interpret(program, np.array([[1, 2]]))
