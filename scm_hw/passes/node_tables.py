"""A node that sees little becomes a table of what it sees.

A comparison of a sum that depends on no more than six bits is one LUT. One that adds two tables,
`f(a) + g(b) >= t`, can't tell all values of `f` apart: two of them are the same to it unless some
value of `g` makes the difference. So each table is reduced to the classes that the threshold tells
apart, often eight or fewer, and the node is a table of two class numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from scm_hw.ir import AtLeast, Concat, Op, Program, Ref, Sum, Table
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.target import Technology, luts_per_bit

# The most bits of a node that becomes one table, in every family: a LUT6, or a few LUT4s.
MAX_BITS = 6


def node_tables(program: Program, tech: Technology) -> Program:
    """Replace comparisons of small sums by tables wherever that takes fewer LUTs."""
    uses = program.uses()

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        # A sum that others read has to stay, so a table would be extra logic.
        if not isinstance(op, AtLeast) or uses[op.value] != 1:
            return None
        source = build.ops[refs[0]]
        if not isinstance(source, Sum):
            return None
        bound = op.bound - source.constant
        terms = [_term(build, r, w) for r, w in zip(source.operands, source.weights, strict=True)]
        bits = sum(term.bits for term in terms)
        # Narrower LUTs make such a table of several.
        if bits <= tech.lut_inputs or (
            bits <= MAX_BITS and luts_per_bit(bits, tech) <= _adder_cost(*terms)
        ):
            return _one_table(build, terms, bound, op.name)
        if len(terms) == 2 and all(w == 1 for w in source.weights):
            return _two_tables(build, terms[0], terms[1], bound, op.name, tech)
        return None

    return rewrite(program, visit)


@dataclass(frozen=True)
class _Term:
    """What a term of a sum adds at each value of the bits that it depends on."""

    index: Ref
    bits: int
    values: tuple[int, ...]


def _term(build: Rewriter, ref: Ref, weight: int) -> _Term:
    op = build.ops[ref]
    index, contents = ref, None
    if isinstance(op, Table):
        index, contents = op.index, op.contents
    low, high = build.ranges[index]
    bits = build.ranges[index].width
    # Signed values, and those of many bits, never get as far as a table.
    if low < 0 or bits > 2 * MAX_BITS:
        return _Term(index, 2 * MAX_BITS + 1, ())
    addresses = range(high + 1)
    return _Term(index, bits, tuple(weight * (contents[a] if contents else a) for a in addresses))


def _one_table(build: Rewriter, terms: list[_Term], bound: int, name: str) -> Ref:
    sums = [0]
    for term in terms:
        padded = _padded(term.values, 1 << term.bits)
        sums = [value + below for value in padded for below in sums]
    index = _joined(build, [term.index for term in terms], name)
    bits = tuple(int(total >= bound) for total in sums)
    return build.table(index, bits[: build.ranges[index].high + 1], name=name)


def _two_tables(
    build: Rewriter, a: _Term, b: _Term, bound: int, name: str, tech: Technology
) -> Ref | None:
    if not a.values or not b.values:
        return None
    class_a, class_b = _classes(a.values, b.values, bound), _classes(b.values, a.values, bound)
    # A single class: this table never makes a difference.
    if not any(class_a):
        bits = tuple(int(a.values[0] + y >= bound) for y in b.values)
        return build.table(b.index, bits, name=name)
    coded = _width(class_a) + _width(class_b)
    cost = coded + _luts(coded, tech)
    if cost >= _adder_cost(a, b):
        return None
    left = build.table(a.index, class_a, name=f"{name}.class_a")
    right = build.table(b.index, class_b, name=f"{name}.class_b")
    index = _joined(build, [left, right], name)
    contents = []
    for q in range(1 << build.ranges[right].width):
        for p in range(1 << build.ranges[left].width):
            # Class numbers beyond the last never occur.
            x = a.values[class_a.index(min(p, max(class_a)))]
            y = b.values[class_b.index(min(q, max(class_b)))]
            contents.append(int(x + y >= bound))
    return build.table(index, tuple(contents[: build.ranges[index].high + 1]), name=name)


def _classes(mine: tuple[int, ...], other: tuple[int, ...], bound: int) -> tuple[int, ...]:
    """A number for each of my values, equal where no value of the other tells them apart."""
    distinct = sorted(set(other))
    # The values of the other that reach the bound are those from some value up, so their number
    # alone tells which they are: equal numbers are equal behaviour.
    reached = [len(distinct) - bisect_left(distinct, bound - value) for value in mine]
    rank = {count: number for number, count in enumerate(sorted(set(reached)))}
    return tuple(rank[count] for count in reached)


def _width(classes: tuple[int, ...]) -> int:
    return max(classes).bit_length()


def _luts(inputs: int, tech: Technology) -> int:
    """What joins the blocks of a table is free where LUTs are wide."""
    if tech.wide_luts:
        return 1 << max(inputs - tech.lut_inputs, 0)
    return luts_per_bit(inputs, tech)


def _adder_cost(*terms: _Term) -> int:
    """The alternative: tables, absorbed by additions where there are such, and a comparison."""
    spans = [max(t.values) - min(t.values) for t in terms]
    return sum(span.bit_length() for span in spans) + 1


def _joined(build: Rewriter, refs: list[Ref], name: str) -> Ref:
    if len(refs) == 1:
        return refs[0]
    widths = tuple(build.ranges[r].width for r in refs)
    return build.add(Concat(tuple(refs), widths, name=f"{name}.seen"))


def _padded(values: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Addresses beyond the last value never occur."""
    return values + values[-1:] * (size - len(values))
