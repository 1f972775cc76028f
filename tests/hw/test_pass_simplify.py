"""What is constant, repeated or dead goes away."""

from __future__ import annotations

import numpy as np
import pytest

from scm_hw.ir import (
    Argmax,
    AtLeast,
    Builder,
    Constant,
    Input,
    Less,
    Op,
    Program,
    Select,
    Sum,
    Table,
    verify,
)
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes.simplify import simplify
from tests.hw.programs import rows_for, without_parts
from tests.support import random_model

INPUTS = (Input(0, 0, 3, name="a"), Input(1, 0, 3, name="b"), Input(2, 0, 1, name="bit"))


def simplified(*ops: Op) -> Program:
    """The program of the last operation, simplified and found to do the same."""
    program = Program((*INPUTS, *ops), (0, 1, 2), (len(INPUTS) + len(ops) - 1,))
    after = simplify(program)
    verify(after)
    rows = rows_for(program)
    np.testing.assert_array_equal(interpret(after, rows), interpret(program, rows))
    after = without_parts(after)
    assert after.ops[:3] == INPUTS
    return after


@pytest.mark.parametrize(
    "ops",
    [
        (AtLeast(0, 0),),
        (AtLeast(0, 4),),
        (Table(0, (5, 5, 5, 5, 9)),),
        (Sum((0, 0), (2, -2), 3),),
        (Sum((0,), (1,), 4), Less(0, 3)),
        (Constant(1), Select(3, 2, 2), Less(4, 4)),
        (Sum((0,), (1,), 9), Argmax((3, 1))),
        (Constant(2), Constant(3), Sum((3, 4), (5, -1), 1)),
        (Constant(2), Table(3, (7, 8, 9))),
    ],
    ids=str,
)
def test_what_is_constant_becomes_a_constant(ops: tuple[Op, ...]) -> None:
    after = simplified(*ops)
    if not isinstance(ops[-1], Less):
        assert isinstance(after.ops[after.outputs[0]], Constant)
        assert len(after.ops) == 4


def test_terms_of_one_operand_are_merged() -> None:
    after = simplified(Constant(5), Sum((0, 1, 0, 3), (2, 1, 3, -2), 1))
    assert after.ops[after.outputs[0]] == Sum((0, 1), (5, 1), -9)


def test_terms_that_cancel_leave_the_other() -> None:
    after = simplified(Sum((0, 1, 0), (2, 1, -2)))
    assert after.outputs == (1,)


def test_a_table_that_changes_nothing_is_its_index() -> None:
    assert simplified(Table(0, (0, 1, 2, 3))).outputs == (0,)


def test_a_comparison_is_brought_to_lowest_terms() -> None:
    after = simplified(Sum((0, 1), (6, -4), 3), AtLeast(3, 2))
    assert after.ops[3:] == (Sum((0, 1), (3, -2)), AtLeast(3, 0))


def test_a_comparison_of_a_bit_is_the_bit() -> None:
    assert simplified(Sum((2,), (2,), -1), AtLeast(3, 0)).outputs == (2,)


def test_a_comparison_of_a_table_is_a_table_of_bits() -> None:
    after = simplified(Table(0, (4, 9, -2, 5)), AtLeast(3, 5))
    assert after.ops[3:] == (Table(0, (0, 1, 0, 1)),)


@pytest.mark.parametrize("weight", [-7, -4, -1, 1, 3, 6])
def test_every_bound_of_a_scaled_sum(weight: int) -> None:
    for bound in range(-25, 26):
        simplified(Sum((0, 1), (weight, 2 * weight), 1), AtLeast(3, bound))


def test_nodes_that_never_switch_leave_the_readout() -> None:
    model = random_model(0, layers=(6,), features=2, input_bits=4, bits=3)
    # Three coded bits for each of two features: no sum reaches 7.
    model.layers[0].biases[:] = [0.5, 7, -7, 100, -100, 0.5]
    program = lower(model, quantise(model, 8))
    after = simplify(program)
    rows = rows_for(program)
    np.testing.assert_array_equal(interpret(after, rows), interpret(program, rows))
    names = {op.name for op in after.ops}
    assert {"layer1.node0", "layer1.node5"} <= names
    assert not names & {f"layer1.node{i}{part}" for i in (1, 2, 3, 4) for part in ("", ".sum")}


def test_a_dead_layer_takes_its_inputs_along() -> None:
    model = random_model(0, layers=(4, 3), features=2, input_bits=4, bits=3, linear=False)
    model.readout[:4] = 0
    model.layers[1].biases[:] = 50
    after = simplify(lower(model, quantise(model, 8)))
    assert [type(op) for op in after.ops] == [Input, Input, Constant]


def test_ports_stay_where_nobody_reads_them() -> None:
    build = Builder()
    refs = tuple(build.add(Input(i, 0, 1, name=f"x{i}")) for i in range(3))
    after = simplify(build.program(refs, (build.add(Constant(1)),)))
    assert [op.name for op in after.input_ops()] == ["x0", "x1", "x2"]
