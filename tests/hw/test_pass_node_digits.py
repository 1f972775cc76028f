"""Comparisons of two or three levels, digit by digit."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from scm_hw.ir import AtLeast, Builder, Field, Input, Program, Sum, Table
from scm_hw.ir.interp import interpret
from scm_hw.passes.digits import Word, digit_luts, sum_reaches
from scm_hw.passes.node_digits import node_digits
from scm_hw.passes.rewrite import Rewriter
from scm_hw.target import TECHNOLOGIES, XC7
from tests.hw.programs import rows_for


def nodes_of(
    random: Random, count: int, words: int, width: int, levels: int = 4
) -> tuple[Program, int]:
    """Nodes of levels, and of what levels leave to all ones, with any signs and bounds."""
    build = Builder()
    top = (1 << width) - 1
    codes = [build.add(Input(i, 0, top, name=f"x{i}")) for i in range(levels)]
    flipped = [build.add(Table(code, tuple(range(top, -1, -1)))) for code in codes]
    found = []
    for _ in range(count):
        chosen = random.sample(range(levels), words)
        refs = tuple(random.choice((codes, flipped))[i] for i in chosen)
        weights = tuple(random.choice((1, 1, -1)) for _ in refs)
        total = build.add(Sum(refs, weights, random.randint(-3, 3)))
        found.append(build.add(AtLeast(total, random.randint(-top, words * top))))
    return build.program(tuple(codes), tuple(found)), len(set(found))


def sums(program: Program) -> int:
    return sum(isinstance(op, Sum) for op in program.ops)


@pytest.mark.parametrize("width", [2, 4, 5, 6])
@pytest.mark.parametrize("words", [2, 3])
def test_the_same_bits(words: int, width: int) -> None:
    for seed in range(4):
        before, _ = nodes_of(Random(seed), 12, words, width)
        after = node_digits(before, XC7)
        assert sums(after) < sums(before)
        rows = rows_for(before, 600)
        np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))


def test_nodes_share_the_sum_of_two_levels() -> None:
    """Also with opposite signs, and a node of the two alone takes it up."""
    build = Builder()
    a, b, c, d = codes = tuple(build.add(Input(i, 0, 31)) for i in range(4))
    of = [
        ((a, b, c), (1, 1, 1)),
        ((a, b, d), (-1, -1, 1)),
        ((a, b, c), (1, 1, -1)),
        ((a, b), (1, 1)),
    ]
    nodes = tuple(build.add(AtLeast(build.add(Sum(r, w)), 9)) for r, w in of)
    after = node_digits(build.program(codes, nodes), XC7)
    assert sums(after) == 1


@pytest.mark.parametrize("grade", ["ecp5-6", "ice40-up"])
def test_narrow_luts_keep_their_carry_chains(grade: str) -> None:
    before, _ = nodes_of(Random(1), 6, 2, 5)
    assert node_digits(before, TECHNOLOGIES[grade]) is before


def test_sums_that_anything_else_reads_stay() -> None:
    build = Builder()
    a, b = (build.add(Input(i, 0, 31)) for i in range(2))
    total = build.add(Sum((a, b), (1, 1)))
    before = build.program((a, b), (build.add(AtLeast(total, 20)), total))
    assert node_digits(before, XC7) is before


def test_tables_that_are_no_levels_stay() -> None:
    build = Builder()
    a, b = (build.add(Input(i, 0, 31)) for i in range(2))
    crooked = build.add(Table(a, (*range(1, 32), 0)))
    total = build.add(Sum((crooked, b), (1, 1)))
    before = build.program((a, b), (build.add(AtLeast(total, 20)),))
    assert node_digits(before, XC7) is before


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1), (1, 1, 1), (1, -1, 1)])
def test_any_bound(signs: tuple[int, ...]) -> None:
    """From below what the words can reach to beyond it, and words of unequal width."""
    widths = (3, 5, 2)[: len(signs)]
    for bound in range(-40, 50, 3):
        build = Rewriter()
        refs = tuple(build.add(Input(i, 0, (1 << w) - 1)) for i, w in enumerate(widths))
        words = [Word(*word) for word in zip(refs, widths, signs, strict=True)]
        bit = sum_reaches(build, words, bound, "node", XC7)
        literal = build.add(AtLeast(build.add(Sum(refs, signs)), bound))
        program = build.program(refs, (bit, literal))
        found = interpret(program, rows_for(program))
        np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_luts_are_those_that_are_built() -> None:
    """Five bits and five are two LUTs for the low digits and one for the rest."""
    words = [Word(0, 5, 1), Word(1, 5, 1)]
    assert digit_luts(words, 17, XC7) == 3
    assert digit_luts([Word(0, 6, 1)], 17, XC7) == 1
    assert digit_luts([Word(i, 4, 1) for i in range(7)], 17, XC7) is None
    build = Rewriter()
    a, b = (build.add(Input(i, 0, 31)) for i in range(2))
    sum_reaches(build, [Word(a, 5, 1), Word(b, 5, 1)], 17, "node", XC7)
    tables = [op for op in build.ops if isinstance(op, Table)]
    assert sum(max(op.contents).bit_length() for op in tables) == 3
    assert any(isinstance(op, Field) for op in build.ops)
