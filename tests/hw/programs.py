"""Random programs, and rows of inputs to run them on."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import (
    Argmax,
    AtLeast,
    Builder,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Program,
    Range,
    Ref,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    range_of,
)
from scm_hw.ir.interp import interpret
from scm_hw.sim.vectors import Vectors

# Every combination of inputs is tried up to this many.
EXHAUSTIVE = 1 << 12
# Random values stay narrow enough for any operation on two of them.
WIDEST = 24
LAID_OUT = (Sum, Product, Argmax, Select)


def without_parts(program: Program) -> Program:
    """The same operations, to be compared with some that were never given a part."""
    return replace(program, ops=tuple(replace(op, part=None) for op in program.ops))


def rows_for(program: Program, count: int = 200, seed: int = 0) -> NDArray[np.int64]:
    """All inputs a program can have, or else its corners and `count` random rows."""
    spans = [range(op.low, op.high + 1) for op in program.input_ops()]
    total = 1
    for span in spans:
        total *= len(span)
    if total <= EXHAUSTIVE:
        return np.array(list(product(*spans)), dtype=np.int64).reshape(total, len(spans))
    rng = np.random.default_rng(seed)
    columns = [rng.integers(span.start, span.stop, count) for span in spans]
    columns = [_with_corners(c, s) for c, s in zip(columns, spans, strict=True)]
    return np.stack(columns, axis=1).astype(np.int64)


def _with_corners(column: NDArray[np.int64], span: range) -> NDArray[np.int64]:
    ends = np.array([span.start, span.stop - 1])
    rng = np.random.default_rng(int(column.sum()) % 2**32)
    return np.concatenate([ends, rng.choice(ends, 8), column])


def packed_vectors(
    program: Program,
    in_widths: list[int],
    out_widths: list[int],
    count: int = 24,
    *,
    rows: NDArray[np.int64] | None = None,
) -> Vectors:
    """Rows (or some, spread over all that `rows_for` gives) as words of the core's ports."""
    if rows is None:
        every = rows_for(program, count)
        rows = every[:: max(len(every) // count, 1)]
    outputs = interpret(program, rows)
    return Vectors(
        tuple(_packed(row, in_widths) for row in rows),
        tuple(_packed(row, out_widths) for row in outputs),
        sum(in_widths),
        sum(out_widths),
    )


def _packed(row: NDArray[np.int64], widths: list[int]) -> int:
    """Fields side by side, the first in the lowest bits, each modulo its width."""
    word = start = 0
    for value, width in zip(row, widths, strict=True):
        word |= (int(value) % (1 << width)) << start
        start += width
    return word


def random_program(random: Random, size: int = 14, *, like_a_model: bool = False) -> Program:
    """A valid program of two or three inputs and about `size` operations of all kinds.

    As in the program of a model, bits and fields are not taken of sums, products and classes if it
    is to be `like_a_model`: those may be laid out so that less is known of their range.
    """
    ops: list[Op] = []
    known: list[Range] = []

    def add(op: Op) -> None:
        reach = range_of(op, known)
        if reach.width <= WIDEST:
            ops.append(op)
            known.append(reach)

    for position in range(random.randint(2, 3)):
        low = random.choice([0, 0, 0, -3, -8, 2])
        add(Input(position, low, low + random.choice([1, 3, 7, 12]), name=f"i{position}"))
    inputs = tuple(range(len(ops)))
    for _ in range(size):
        kept = [r for r in range(len(ops)) if not (like_a_model and isinstance(ops[r], LAID_OUT))]
        add(_random_op(random, known, kept))
    outputs = tuple(random.randrange(len(ops)) for _ in range(random.randint(1, 3)))
    return Program(tuple(ops), inputs, (len(ops) - 1, *outputs))


def random_sums(random: Random) -> Program:
    """Sums as passes meet them, and worse: of several tables of one level, of repeated operands, of
    terms that other sums have too; some compared, others outputs."""
    build = Builder()
    codes = tuple(build.add(Input(i, 0, 31, name=f"i{i}")) for i in range(random.randint(2, 4)))
    levels = [build.add(Field(code, 5 - (n := random.randint(2, 5)), n)) for code in codes]
    bits = [build.add(AtLeast(code, random.randint(1, 31))) for code in codes for _ in range(5)]
    shared = [_random_table(build, random, levels) for _ in range(3)]
    sums = []
    for _ in range(random.randint(9, 12)):
        # Two levels that most of the sums read, each in several tables.
        own = [_random_table(build, random, [level]) for level in random.choices(levels[:2], k=5)]
        own = own[: random.randint(3, 5)]
        common = random.choices([*bits, *shared, *codes], k=random.randint(1, 14))
        terms = tuple([*own, *common])
        weights = tuple(random.choice([1, 1, 1, -1, -1, 2, -3, 5]) for _ in terms)
        if random.random() < 0.5:
            weights = tuple(random.choice([1, -1]) for _ in terms)
        sums.append(build.add(Sum(terms, weights, random.randint(-9, 9))))
    # Enough nodes that two levels in common are worth a block RAM.
    compared = sums[: 3 * len(sums) // 4]
    nodes = [build.add(AtLeast(total, random.randint(-20, 40))) for total in compared]
    weights = tuple(random.choice([-7, -1, 1, 3, 8]) for _ in [*nodes, *shared])
    last = build.add(Sum((*nodes, *shared), weights, random.randint(-5, 5), name="output.y"))
    return build.program(codes, (last, *sums[len(compared) :]))


def _random_table(build: Builder, random: Random, levels: list[Ref]) -> Ref:
    contents = tuple(random.randint(-6, 9) for _ in range(32))
    return build.add(Table(random.choice(levels), contents))


def _random_op(random: Random, known: list[Range], fixed: list[Ref]) -> Op:
    """Unsigned operands are taken from those whose range is `fixed`."""
    refs = range(len(known))
    whole = [r for r in fixed if known[r].low >= 0]
    bits = [r for r in whole if known[r].high <= 1]
    short = [r for r in whole if known[r].high < 64]
    kind = random.choice(["sum", "sum", "threshold", "pair", "constant", "argmax", "whole"])
    if kind == "sum":
        return _random_sum(random, refs)
    if kind == "threshold":
        return _random_threshold(random, random.choice(refs), known)
    if kind == "pair":
        left, right = random.choice(refs), random.choice(refs)
        return Product(left, right) if random.random() < 0.5 else Less(left, right)
    if kind == "argmax":
        return Argmax(tuple(random.choice(refs) for _ in range(random.randint(1, 4))))
    if kind == "whole" and whole:
        return _random_unsigned(random, whole, bits, short, known)
    return Constant(random.randint(-20, 20))


def _random_sum(random: Random, refs: range) -> Sum:
    # Nine operands and more are added up as a matrix product.
    count = random.choice([1, 2, 3, 5, 9, 11])
    chosen = tuple(random.choice(refs) for _ in range(count))
    weights = tuple(random.choice([-5, -2, -1, 1, 1, 2, 3, 8]) for _ in chosen)
    return Sum(chosen, weights, random.choice([0, 0, 1, -7, 40]))


def _random_threshold(random: Random, ref: Ref, known: list[Range]) -> Op:
    bound = random.randint(known[ref].low - 1, known[ref].high + 1)
    return AtLeast(ref, bound)


def _random_unsigned(
    random: Random, whole: list[Ref], bits: list[Ref], short: list[Ref], known: list[Range]
) -> Op:
    kind = random.choice(["field", "xor", "concat", "table", "select", "shift", "majority"])
    if kind == "table" and short:
        index = random.choice(short)
        spare = random.choice([0, 0, 3])
        entries = (random.randint(-9, 30) for _ in range(known[index].high + 1 + spare))
        return Table(index, tuple(entries))
    if kind == "select" and bits:
        return Select(random.choice(bits), *(random.randrange(len(known)) for _ in range(2)))
    if kind == "xor":
        return Xor(tuple(random.choice(whole) for _ in range(random.randint(1, 4))))
    if kind == "majority":
        return Majority((random.choice(whole), random.choice(whole), random.choice(whole)))
    if kind == "concat":
        chosen = tuple(random.choice(whole) for _ in range(random.randint(1, 3)))
        return Concat(chosen, tuple(known[r].width + random.choice([0, 1]) for r in chosen))
    if kind == "shift":
        return Shift(random.randrange(len(known)), random.randint(1, 6))
    value = random.choice(whole)
    return Field(
        value, random.randint(0, known[value].width), random.randint(1, 4), random.random() < 0.3
    )
