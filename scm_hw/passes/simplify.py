"""Constants, dead nodes and dead bits go away."""

from __future__ import annotations

import math

from scm_hw.ir import (
    AtLeast,
    Concat,
    Constant,
    Input,
    Op,
    Program,
    Ref,
    Sum,
    Table,
    range_of,
    with_operands,
)
from scm_hw.passes.rewrite import Rewriter, rewrite


def simplify(program: Program) -> Program:
    """Fold what is constant by range, merge terms, and bring comparisons to lowest terms.

    A node that never switches is a constant; it leaves the readout and joins the intercept. Bits,
    nodes and sums that nobody reads any more are removed.
    """
    return rewrite(program, _visit)


def _visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
    # Inputs are ports: they stay even where only one value can enter.
    if isinstance(op, Input | Constant):
        return None
    reach = range_of(with_operands(op, refs), build.ranges)
    if reach.low == reach.high:
        return build.constant(reach.low)
    match op:
        case Sum():
            return build.sum(list(zip(refs, op.weights, strict=True)), op.constant, name=op.name)
        case Table():
            return build.table(refs[0], op.contents, name=op.name)
        case AtLeast():
            return _at_least(build, refs[0], op.bound, op.name)
    return None


def _at_least(build: Rewriter, value: Ref, bound: int, name: str) -> Ref:
    """`g * s + c >= t` is `s >= ceil((t - c) / g)`, and so with `g` a power of two in wires; a
    comparison of a table is a table of bits."""
    source = build.ops[value]
    if isinstance(source, Table):
        bits = tuple(int(entry >= bound) for entry in source.contents)
        return build.table(source.index, bits, name=name)
    # One bit, repeated, is that bit.
    if isinstance(source, Concat) and set(source.operands) == {source.operands[0]}:
        repeated = source.operands[0]
        # The value is 0 or all ones, so any bound in between asks for the bit.
        if set(source.widths) == {1} and 0 < bound < 1 << len(source.widths):
            return _at_least(build, repeated, 1, name)
    # Constant low bits go into the bound, and the comparison is as narrow as the high part.
    if isinstance(source, Concat) and len(source.operands) == 2:
        low, high = source.operands
        if isinstance(build.ops[low], Constant):
            reach = -((build.ranges[low].low - bound) // (1 << source.widths[0]))
            return _at_least(build, high, reach, name)
    # Between two multiples of the divisor the sum has no value, so the bound can be rounded up.
    if isinstance(source, Sum):
        common = math.gcd(*source.weights)
        terms = [(r, w // common) for r, w in zip(source.operands, source.weights, strict=True)]
        # `-(-x // g)` is the ceiling in integers of any size.
        bound = -((source.constant - bound) // common)
        value = build.sum(terms, name=source.name)
        reduced = build.ops[value]
        # A single term may be a table or a concatenation, which have simpler comparisons.
        if not isinstance(reduced, Sum):
            return _at_least(build, value, bound, name)
    if build.is_bit(value) and bound == 1:
        return value
    return build.add(AtLeast(value, bound, name=name))
