"""Nodes that see little become tables."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from scm_hw.ir import AtLeast, Builder, Input, Op, Program, Sum, Table, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes.node_tables import node_tables
from scm_hw.target import XC7
from tests.hw.programs import rows_for


def checked(program: Program) -> Program:
    after = node_tables(program, tech=XC7)
    verify(after)
    rows = rows_for(program)
    np.testing.assert_array_equal(interpret(after, rows), interpret(program, rows))
    return after


def kinds(program: Program) -> set[type[Op]]:
    return {type(op) for op in program.ops}


@pytest.mark.parametrize("seed", range(8))
def test_six_bits_are_one_table(seed: int) -> None:
    random = Random(seed)
    build = Builder()
    bits = tuple(build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(6))
    weights = tuple(random.choice([-3, -1, 1, 2, 5]) for _ in bits)
    total = build.add(Sum(bits, weights, random.randint(-3, 3)))
    middle = sum(ranges(build.program(bits, (total,)))[total]) // 2
    program = build.program(bits, (build.add(AtLeast(total, middle, name="node")),))
    after = checked(program)
    assert not kinds(after) & {Sum, AtLeast}
    assert [op.name for op in after.ops if isinstance(op, Table)] == ["node"]


@pytest.mark.parametrize("seed", range(12))
def test_two_tables_of_a_level(seed: int) -> None:
    """Whatever is chosen, the answers stay; at every bound."""
    rng = np.random.default_rng(seed)
    for bound in range(-1, 20, 2):
        build = Builder()
        codes = tuple(build.add(Input(i, 0, 15 + 16 * i, name=f"x{i}")) for i in range(2))
        steps = [np.cumsum(rng.choice([-1, 1], 16 << i)) for i in range(2)]
        tables = tuple(
            build.add(Table(code, tuple(int(v - walk.min()) for v in walk)))
            for code, walk in zip(codes, steps, strict=True)
        )
        total = build.add(Sum(tables, (1, 1)))
        checked(build.program(codes, (build.add(AtLeast(total, bound, name="node")),)))


def test_values_that_the_bound_cant_tell_apart_share_a_class() -> None:
    build = Builder()
    codes = tuple(build.add(Input(i, 0, 31, name=f"x{i}")) for i in range(2))
    walks = ([v % 5 for v in range(32)], [8 * (v % 2) for v in range(32)])
    tables = tuple(
        build.add(Table(code, tuple(walk))) for code, walk in zip(codes, walks, strict=True)
    )
    node = build.add(AtLeast(build.add(Sum(tables, (1, 1))), 9, name="node"))
    after = checked(build.program(codes, (node,)))
    assert not kinds(after) & {Sum, AtLeast}


def test_a_sum_that_others_read_stays() -> None:
    build = Builder()
    bits = tuple(build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(3))
    total = build.add(Sum(bits, (1, 1, 1)))
    program = build.program(bits, (total, build.add(AtLeast(total, 2))))
    assert checked(program) == program


def test_signed_and_wide_values_stay() -> None:
    build = Builder()
    codes = (build.add(Input(0, -4, 3, name="s")), build.add(Input(1, 0, 511, name="w")))
    total = build.add(Sum(codes, (1, 1)))
    program = build.program(codes, (build.add(AtLeast(total, 2)),))
    assert checked(program) == program
