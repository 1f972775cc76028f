"""Tables lose a bit where many nodes share their parity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scm_hw.ir import AtLeast, Builder, Field, Input, Program, Sum, Table, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes.level_tables import level_tables
from scm_hw.passes.share_parity import share_parity
from scm_hw.passes.simplify import simplify
from scm_hw.target import XC7
from tests.hw.programs import rows_for
from tests.support import random_model


def before_and_after(seed: int = 0, **options: Any) -> tuple[Program, Program]:
    model = random_model(seed, **options)
    before = simplify(level_tables(simplify(lower(model, quantise(model, 8))), tech=XC7))
    return before, checked(before)


def checked(before: Program) -> Program:
    after = share_parity(before)
    verify(after)
    rows = rows_for(before, 300)
    np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))
    return after


def table_tops(program: Program) -> dict[str, int]:
    """The largest entry of every table of a node, by name."""
    known = ranges(program)
    tables = {r for op in program.ops if isinstance(op, Sum) for r in op.operands}
    return {
        op.name: known[ref].high
        for ref, op in program
        if isinstance(op, Table) and ref in tables and op.name.startswith("layer")
    }


@pytest.mark.parametrize("bits", [7, 15, 31])
def test_every_table_is_halved(bits: int) -> None:
    before, after = before_and_after(bits=bits, layers=(12,), features=4)
    old, new = table_tops(before), table_tops(after)
    # Equal tables are one.
    assert 40 <= len(old) <= 48
    assert all(new.get(name, 0) <= top // 2 for name, top in old.items())


def test_the_parities_are_counted_once() -> None:
    _, after = before_and_after(bits=15, layers=(12,), features=4)
    counts = [op for op in after.ops if op.name == "parity.half"]
    # Two at most: thresholds are odd or even.
    assert 1 <= len(counts) <= 2
    bits = [op for op in after.ops if op.name == "parity.bit"]
    assert len(bits) == 4 and all(isinstance(op, Field) for op in bits)


def test_a_few_nodes_are_not_worth_it() -> None:
    before, after = before_and_after(bits=15, layers=(2,), features=4)
    assert after == before


def test_nodes_that_see_different_features_share_with_their_like() -> None:
    for seed in range(4):
        before_and_after(seed, bits=15, layers=(24,), features=3, inputs_per_node=2, input_bits=4)


@pytest.mark.parametrize("bound", range(-3, 12))
def test_every_bound(bound: int) -> None:
    """Tables of any parity, odd entries first or not, negative ones too."""
    rng = np.random.default_rng(bound + 3)
    build = Builder()
    codes = tuple(build.add(Input(i, 0, 7, name=f"x{i}")) for i in range(3))
    parity = rng.integers(0, 2, (3, 8))
    nodes = []
    for node in range(6):
        entries = 2 * rng.integers(-2, 4, (3, 8)) + (parity ^ rng.integers(0, 2, (3, 1)))
        tables = [
            build.add(Table(code, tuple(int(v) for v in row), name=f"layer1.{node}.{i}"))
            for i, (code, row) in enumerate(zip(codes, entries, strict=True))
        ]
        total = build.add(Sum(tuple(tables), (1, 1, 1), int(rng.integers(-3, 4))))
        nodes.append(build.add(AtLeast(total, bound + node % 2)))
    after = checked(build.program(codes, tuple(nodes)))
    assert any(op.name == "parity.half" for op in after.ops)


@pytest.mark.parametrize("bound", [4, 5])
def test_one_parity_needs_no_count(bound: int) -> None:
    """Of a single table there is nothing to share but where the bound is odd."""
    build = Builder()
    code = build.add(Input(0, 0, 7, name="x"))
    nodes = []
    for node in range(6):
        table = build.add(Table(code, tuple(2 * ((3 * v + node) % 7) + v % 2 for v in range(8))))
        nodes.append(build.add(AtLeast(build.add(Sum((table,), (1,), 2 * node)), bound)))
    after = checked(build.program((code,), tuple(nodes)))
    assert max(max(op.contents) for op in after.ops if isinstance(op, Table)) <= 6
    assert any(op.name == "parity.half" for op in after.ops) == (bound % 2 == 1)


def test_sums_that_are_read_elsewhere_are_left_alone() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 7, name="x"))
    outputs = []
    for node in range(5):
        table = build.add(Table(code, tuple((3 * v + node) % 9 for v in range(8))))
        total = build.add(Sum((table, code), (1, 1), node))
        outputs += [build.add(AtLeast(total, 6)), total]
    program = build.program((code,), tuple(outputs))
    assert checked(program) == program
