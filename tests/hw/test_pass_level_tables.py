"""Coded bits against their signs become tables of the level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scm_hw.ir import AtLeast, Field, Input, Op, Program, Sum, Table, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes.level_tables import level_tables
from scm_hw.passes.simplify import simplify
from scm_hw.target import XC7
from tests.hw.programs import rows_for, without_parts
from tests.support import random_model


def before_and_after(seed: int = 0, **options: Any) -> tuple[Program, Program]:
    model = random_model(seed, **options)
    before = simplify(lower(model, quantise(model, 8)))
    after = level_tables(before, tech=XC7)
    verify(after)
    rows = rows_for(before, 300)
    np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))
    return before, after


def node_sums(program: Program) -> list[Sum]:
    """The sums that are compared with a bound."""
    compared = [program.ops[op.value] for op in program.ops if isinstance(op, AtLeast)]
    return [op for op in compared if isinstance(op, Sum)]


@pytest.mark.parametrize("bits", [3, 7, 15, 31, 63])
def test_uniform_levels_cost_nothing_to_encode(bits: int) -> None:
    """2**k - 1 thresholds: the level is a field, and a node is one table for each feature."""
    before, after = before_and_after(bits=bits, layers=(6,), input_bits=8)
    inputs = set(after.inputs)
    assert any(isinstance(op, AtLeast) and op.value in inputs for op in before.ops)
    assert not any(isinstance(op, AtLeast) and op.value in inputs for op in after.ops)
    assert len(node_sums(after)) == 6
    for op in node_sums(after):
        assert len(op.operands) == 3
        for ref in op.operands:
            # A table that counts up is the level itself.
            table = after.ops[ref]
            field = after.ops[table.index] if isinstance(table, Table) else table
            assert isinstance(field, Field) and isinstance(after.ops[field.value], Input)
            assert 1 << field.width == bits + 1


@pytest.mark.parametrize("encoder", ["binary", "gray"])
def test_bits_of_a_code_become_tables_too(encoder: str) -> None:
    _, after = before_and_after(encoder=encoder, bits=5, layers=(6,))
    for op in node_sums(after):
        assert [type(after.ops[r]) for r in op.operands] == [Table] * 3


def test_tables_start_at_zero() -> None:
    _, after = before_and_after(bits=15, layers=(8,))
    known = ranges(after)
    found = [known[r].low for op in node_sums(after) for r in op.operands]
    assert found == [0] * 24


@pytest.mark.parametrize("bits", [3, 5, 20, 63])
def test_any_thresholds_of_fine_codes(bits: int) -> None:
    """Levels at quantiles take a search, whose outcome is the index of every table."""
    _, after = before_and_after(bits=bits, layers=(5,), input_bits=10, spacing="quantile")
    for op in node_sums(after):
        assert [type(after.ops[r]) for r in op.operands] == [Table] * 3


@pytest.mark.parametrize("bits", [1, 2])
def test_a_bit_or_two_stay_as_they_are(bits: int) -> None:
    before, after = before_and_after(bits=bits, layers=(5,), input_bits=10, spacing="quantile")
    assert not any(isinstance(op, Table) for op in after.ops)
    assert len(after.ops) == len(before.ops)


def test_too_many_levels_stay_as_they_are() -> None:
    before_and_after(bits=100, layers=(3,), input_bits=10, spacing="quantile")


def test_features_coded_in_different_ways() -> None:
    model = random_model(0, features=2, bits=7, input_bits=6, layers=(5,), inputs_per_node=1)
    program = lower(model, quantise(model, 8))
    after = level_tables(simplify(program), tech=XC7)
    rows = rows_for(program)
    np.testing.assert_array_equal(interpret(after, rows), interpret(program, rows))
    assert {len(op.operands) for op in node_sums(after)} <= {1}


@pytest.mark.parametrize(
    "ops",
    [
        # A sensor's word, which does not begin at 0.
        (Input(0, -4, 3), AtLeast(0, -1), AtLeast(0, 1), AtLeast(0, 2)),
        # A fine code with its lowest bit: there is a level for every code.
        (Input(0, 0, 4095), AtLeast(0, 5), AtLeast(0, 9), Field(0, 0, 1)),
    ],
    ids=["signed", "fine"],
)
def test_inputs_without_levels_stay_as_they_are(ops: tuple[Op, ...]) -> None:
    program = Program((*ops, Sum((1, 2, 3), (1, 1, 1), 0)), (0,), (4,))
    assert without_parts(level_tables(program, tech=XC7)) == program
