"""Sums of many terms become additions of two, whatever a nanosecond is worth."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from scm_hw.ir import AtLeast, Builder, Input, Program, Sum, Table, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes import lower_sums
from scm_hw.passes.sum_terms import signed_digits
from scm_hw.schedule.pipeline import LUTS_PER_NS
from scm_hw.target import XC7
from tests.hw.programs import rows_for


def checked(program: Program, rate: float | None = None) -> Program:
    after = lower_sums(program, tech=XC7) if rate is None else lower_sums(program, rate, tech=XC7)
    verify(after)
    rows = rows_for(program, 300)
    np.testing.assert_array_equal(interpret(after, rows), interpret(program, rows))
    sums = [op for op in after.ops if isinstance(op, Sum)]
    # A third operand is a bit that an addition carries in.
    known = ranges(after)
    assert all(len(op.operands) in (1, 2) for op in sums if op.weights != (1, 1, 1))
    assert all(known[r] == (0, 1) for op in sums for r in op.operands[2:])
    assert all(abs(w).bit_count() == 1 for op in sums for w in op.weights)
    # A carry chain can take off one side, not both.
    assert all(max(op.weights) > 0 for op in sums if len(op.operands) == 2)
    return after


def mixed_sum(random: Random, *, compared: bool) -> Program:
    """Bits, tables, codes, signed words and products of all kinds of weight."""
    build = Builder()
    bits = [build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(4)]
    code = build.add(Input(4, 0, 15, name="code"))
    word = build.add(Input(5, -3, 2, name="word"))
    tables = [
        build.add(Table(code, tuple(random.randint(-6, 20) for _ in range(16)))) for _ in range(3)
    ]
    refs = [*bits, code, word, *tables]
    chosen = random.sample(refs, random.randint(1, len(refs)))
    weights = tuple(random.choice([-37, -8, -4, -1, 1, 2, 3, 23, 64]) for _ in chosen)
    total = build.add(Sum(tuple(chosen), weights, random.choice([0, 0, 5, -90, 1000]), name="sum"))
    outputs = (total,)
    if compared:
        outputs = (build.add(AtLeast(total, random.randint(-60, 120), name="node")),)
    return build.program((*bits, code, word), outputs)


@pytest.mark.parametrize("rate", LUTS_PER_NS)
@pytest.mark.parametrize("compared", [False, True])
def test_sums_of_every_kind_of_term(rate: float, compared: bool) -> None:
    for seed in range(25):
        checked(mixed_sum(Random(seed), compared=compared), rate)


@pytest.mark.parametrize("weight", [*range(-33, 0), *range(1, 34), 1000, -4095])
def test_a_code_times_a_constant(weight: int) -> None:
    build = Builder()
    code, word = build.add(Input(0, 0, 255, name="c")), build.add(Input(1, -4, 3, name="w"))
    outputs = tuple(build.add(Sum((ref,), (weight,), 7)) for ref in (code, word))
    checked(build.program((code, word), outputs))


def test_a_negative_term_before_tables() -> None:
    """The first of a chain may have to be taken off."""
    build = Builder()
    code = build.add(Input(0, 0, 15, name="code"))
    bits = tuple(build.add(Input(i, 0, 1, name=f"b{i}")) for i in (1, 2, 3))
    total = build.add(Sum((code, *bits), (-4, 1, 3, 5), 2))
    checked(build.program((code, *bits), (total,)))


@pytest.mark.parametrize(("count", "weight"), list(product([3, 5, 6, 13, 40], [1, -1])))
def test_a_count_of_bits(count: int, weight: int) -> None:
    build = Builder()
    bits = tuple(build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(count))
    total = build.add(Sum(bits, (weight,) * count))
    for bound in (-count // 2, 0, 1, count // 2, count):
        checked(build.program(bits, (build.add(AtLeast(total, bound)),)))
    checked(build.program(bits, (total,)))


@pytest.mark.parametrize("rate", LUTS_PER_NS)
@pytest.mark.parametrize("tables", [0, 1, 3])
def test_additions_carry_bits_in(rate: float, tables: int) -> None:
    """Bits of both signs beside tables: one for each addition, as far as they are positive."""
    random = Random(tables)
    for count in (1, 2, 6, 7, 11, 12, 13, 29):
        build = Builder()
        bits = [build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(count)]
        code = build.add(Input(count, 0, 7, name="code"))
        looked_up = [
            build.add(Table(code, tuple(random.randint(0, 9) for _ in range(8))))
            for _ in range(tables)
        ]
        weights = [random.choice([1, 1, -1]) for _ in bits] + [1] * tables
        total = build.add(Sum((*bits, *looked_up), tuple(weights), 3, name="sum"))
        node = build.add(AtLeast(total, count // 3, name="node"))
        after = checked(build.program((*bits, code), (node,)), rate)
        additions = [op for op in after.ops if isinstance(op, Sum) and len(op.operands) > 1]
        carried = [op for op in additions if len(op.operands) == 3]
        assert len(carried) >= min(len(additions), weights[:count].count(1)) - 4


def test_a_sum_that_is_compared_and_read() -> None:
    build = Builder()
    bits = tuple(build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(8))
    total = build.add(Sum(bits, (1, 2, 3, 4, -5, 6, -7, 8), 3))
    nodes = tuple(build.add(AtLeast(total, bound)) for bound in (0, 4, 9))
    checked(build.program(bits, (total, *nodes)))


def test_signed_digits_are_few_and_add_up() -> None:
    for weight in [*range(-300, 300), 2**40 - 1, -(3**20)]:
        digits = signed_digits(weight)
        assert sum(digits) == weight
        places = sorted(abs(digit).bit_length() for digit in digits)
        assert all(abs(digit).bit_count() == 1 for digit in digits)
        # No two neighbours: the canonical form, which has the fewest digits.
        assert all(b - a >= 2 for a, b in pairwise(places))


def test_ends_of_two_chains_are_compared_digit_by_digit() -> None:
    """Ten tables of a node: two chains, and nothing that adds them."""
    random = Random(5)
    build = Builder()
    codes = tuple(build.add(Input(i, 0, 31)) for i in range(10))
    nodes = []
    for bound in range(20, 60, 8):
        tables = tuple(
            build.add(Table(code, tuple(random.randint(0, 7) for _ in range(32)))) for code in codes
        )
        total = build.add(Sum(tables, (1,) * len(tables), random.randint(-3, 3)))
        nodes.append(build.add(AtLeast(total, bound)))
    before = build.program(codes, tuple(nodes))
    rows = rows_for(before)
    for haste in (1.0, 1000.0):
        after = lower_sums(before, haste, tech=XC7)
        np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))
    # The bits are tables of digits, where a carry chain would give a field of a sum.
    ends = [after.ops[ref] for ref in after.outputs]
    assert all(isinstance(op, Table) and set(op.contents) == {0, 1} for op in ends)
