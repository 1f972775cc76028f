"""Sums of many terms become chains of two-operand additions, laid out for LUT6 and carry.

On a 7-series part an addition takes one LUT for each result bit, and that LUT has inputs to spare:
a table of five address bits on one side of an addition is absorbed by it, as a function of the
table's address and of one bit of the other side. So everything that can be a table of five bits
becomes one (levels, groups of five node bits, five bits of a code times its constant), and tables
are added one after the other to a running sum, narrow ones first. Several shorter chains, added up
at their ends, keep the sums narrow and the path short.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scm_hw.ir import AtLeast, Concat, Field, Input, Op, Program, Range, Ref, Sum, Table
from scm_hw.passes.rewrite import Rewriter, rewrite

# Address bits of a table that an addition absorbs.
ABSORBED_BITS = 5
# Additions in a row that one cycle of a 100 MHz clock has time for.
MAX_CHAIN = 6

Term = tuple[Ref, int]


@dataclass(frozen=True)
class Addend:
    """`weight * value`, the weight a power of two with its sign; or a table to be absorbed."""

    ref: Ref
    weight: int
    range: Range
    is_table: bool

    @property
    def width(self) -> int:
        return self.range.width


def lower_sums(program: Program, max_chain: int = MAX_CHAIN) -> Program:
    """Only sums of one or two operands remain, with weights that are powers of two.

    A sum that is only compared with a bound is offset so that one of its bits is the answer.
    """
    uses = program.uses()

    def compared_only(ref: Ref) -> bool:
        return uses[ref] == 1 and isinstance(program.ops[ref], Sum)

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        match op:
            case Sum():
                return _SumLowering(build, op, refs, max_chain).total()
            case AtLeast() if compared_only(op.value):
                source = program.ops[op.value]
                assert isinstance(source, Sum)
                terms = tuple(build.new[r] for r in source.operands)
                return _SumLowering(build, source, terms, max_chain).at_least(op)
        return None

    return rewrite(program, visit)


class _SumLowering:
    def __init__(self, build: Rewriter, op: Sum, refs: tuple[Ref, ...], max_chain: int) -> None:
        self.build = build
        self.name = op.name
        self.constant = op.constant
        self.max_chain = max_chain
        self.terms = list(zip(refs, op.weights, strict=True))

    def total(self) -> Ref:
        return self._add_up(self._addends())

    def at_least(self, op: AtLeast) -> Ref:
        """`s >= t` is bit `k` of `s + 2**k - t`, for a `k` that keeps all below `2**(k + 1)`."""
        addends = self._addends()
        low = self.constant + sum(a.range.low for a in addends)
        high = self.constant + sum(a.range.high for a in addends)
        bit = max((high - op.bound).bit_length(), (op.bound - low).bit_length())
        self.constant += (1 << bit) - op.bound
        return self.build.add(Field(self._add_up(addends), bit, 1, name=op.name))

    # What is added

    def _addends(self) -> list[Addend]:
        bits: list[Term] = []
        addends: list[Addend] = []
        for ref, weight in self.terms:
            if self.build.is_bit(ref):
                bits.append((ref, weight))
            elif isinstance(self.build.ops[ref], Table):
                addends.append(self._scaled_table(ref, weight))
            elif _is_power_of_two(weight):
                addends.append(self._plain(ref, weight))
            elif self._has_free_bits(ref):
                addends += self._code_tables(ref, weight)
            else:
                addends += [self._plain(ref, digit) for digit in _signed_digits(weight)]
        return addends + self._bit_tables(bits)

    def _plain(self, ref: Ref, weight: int) -> Addend:
        low, high = sorted(weight * end for end in self.build.ranges[ref])
        return Addend(ref, weight, Range(low, high), is_table=False)

    def _scaled_table(self, ref: Ref, weight: int) -> Addend:
        op = self.build.ops[ref]
        assert isinstance(op, Table)
        return self._table(op.index, [weight * v for v in op.contents], op.name)

    def _table(self, index: Ref, contents: list[int], name: str) -> Addend:
        """A table from 0 up; what is below moves into the constant of the sum."""
        low, high = self.build.ranges[index]
        least = min(contents[low : high + 1])
        self.constant += least
        shifted = tuple(v - least for v in contents)
        ref = self.build.table(index, shifted, name=name)
        return Addend(ref, 1, self.build.ranges[ref], is_table=True)

    def _has_free_bits(self, ref: Ref) -> bool:
        """Whether single bits of a value can be had for nothing and are unsigned."""
        return isinstance(self.build.ops[ref], Input | Field) and self.build.ranges[ref].low >= 0

    def _code_tables(self, ref: Ref, weight: int) -> list[Addend]:
        width = self.build.ranges[ref].width
        tables = []
        for offset in range(0, width, ABSORBED_BITS):
            bits = min(ABSORBED_BITS, width - offset)
            index = self.build.add(Field(ref, offset, bits, name=f"{self.name}.digit"))
            high = self.build.ranges[index].high
            contents = [(weight * value) << offset for value in range(high + 1)]
            tables.append(self._table(index, contents, f"{self.name}.multiple"))
        return tables

    def _bit_tables(self, bits: list[Term]) -> list[Addend]:
        """Distributed arithmetic: five bits address the sum of their weights."""
        if len(bits) <= 2:
            addends = []
            for ref, weight in bits:
                addends.append(self._table(ref, [0, weight], f"{self.name}.bit"))
            return addends
        ordered = sorted(bits, key=lambda term: (abs(term[1]), term[0]))
        groups = [ordered[i : i + ABSORBED_BITS] for i in range(0, len(ordered), ABSORBED_BITS)]
        return [self._bit_table(group) for group in groups]

    def _bit_table(self, group: list[Term]) -> Addend:
        refs, weights = zip(*group, strict=True)
        index = refs[0]
        if len(refs) > 1:
            index = self.build.add(Concat(refs, (1,) * len(refs), name=f"{self.name}.bits"))
        contents = [
            sum(w for j, w in enumerate(weights) if address >> j & 1)
            for address in range(1 << len(refs))
        ]
        return self._table(index, contents, f"{self.name}.part")

    # How it is added

    def _add_up(self, addends: list[Addend]) -> Ref:
        addends = self._with_constant(addends)
        if not addends:
            return self.build.constant(self.constant)
        chains = min(_chainings(addends, self.max_chain), key=_cost)
        results = [self._chain(chain) for chain in chains]
        while len(results) > 1:
            results.sort(key=lambda a: (a.width, a.ref))
            results = [*results[2:], self._add(results[1], results[0])]
        return self._finish(results[0])

    def _with_constant(self, addends: list[Addend]) -> list[Addend]:
        """The constant rides in the widest table, where it costs nothing."""
        tables = [a for a in addends if a.is_table]
        if not tables or not self.constant:
            return addends
        host = max(tables, key=lambda a: (a.range.high, a.ref))
        op = self.build.ops[host.ref]
        if isinstance(op, Table):
            index, contents = op.index, op.contents
        else:
            index, contents = host.ref, tuple(range(self.build.ranges[host.ref].high + 1))
        shifted = tuple(v + self.constant for v in contents)
        ref = self.build.table(index, shifted, name=self.build.ops[host.ref].name)
        self.constant = 0
        moved = Addend(ref, 1, self.build.ranges[ref], is_table=True)
        return [moved if a is host else a for a in addends]

    def _chain(self, chain: list[Addend]) -> Addend:
        total = chain[0]
        for addend in chain[1:]:
            total = self._add(total, addend)
        return total

    def _add(self, left: Addend, right: Addend) -> Addend:
        if left.weight < 0 < right.weight:
            left, right = right, left
        # A carry chain can subtract one side, not both: -a - b waits to be taken off as a + b.
        sign = -1 if left.weight < 0 else 1
        weights = (sign * left.weight, sign * right.weight)
        return self._plain(
            self.build.add(Sum((left.ref, right.ref), weights, name=self.name)), sign
        )

    def _finish(self, total: Addend) -> Ref:
        if total.weight == 1 and self.constant == 0:
            return total.ref
        return self.build.add(Sum((total.ref,), (total.weight,), self.constant, name=self.name))


def _chainings(addends: list[Addend], max_chain: int) -> Iterable[list[list[Addend]]]:
    """Ways to deal the addends out to chains, narrow ones first, tables behind what is none."""
    ordered = sorted(
        addends, key=lambda a: (a.is_table, a.weight < 0, a.range.high - a.range.low, a.ref)
    )
    fewest = max(1, -(-len(ordered) // max_chain))
    for count in range(fewest, max(fewest, len(ordered) // 2) + 1):
        yield [ordered[start::count] for start in range(count)]


def _cost(chains: list[list[Addend]]) -> tuple[int, int]:
    """LUTs, then length: a bit of every sum, and of every table that starts a chain."""
    luts, ends = 0, []
    for chain in chains:
        reach = chain[0].range
        luts += reach.width if chain[0].is_table else 0
        for addend in chain[1:]:
            reach = Range(reach.low + addend.range.low, reach.high + addend.range.high)
            luts += reach.width
        ends.append(reach)
    while len(ends) > 1:
        ends.sort(key=lambda r: r.width)
        merged = Range(ends[0].low + ends[1].low, ends[0].high + ends[1].high)
        luts += merged.width
        ends = [*ends[2:], merged]
    return luts, max(len(chain) for chain in chains)


def _is_power_of_two(weight: int) -> bool:
    return abs(weight) & (abs(weight) - 1) == 0


def _signed_digits(weight: int) -> list[int]:
    """The weight as a sum of signed powers of two, as few as there can be (canonical form)."""
    digits = []
    rest, place = weight, 1
    while rest:
        if rest & 1:
            digit = 2 - (rest & 3)
            digits.append(digit * place)
            rest -= digit
        rest >>= 1
        place <<= 1
    return digits
