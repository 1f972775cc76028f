"""Sums of many terms become chains of two-operand additions, laid out for LUT6 and carry.

On a 7-series part an addition takes one LUT for each bit that is added, and that LUT has inputs to
spare: a table of five address bits on one side of an addition is absorbed by it, as a function of
the table's address and of one bit of the other side. So everything that can be a table of five bits
becomes one (levels, groups of five node bits, five bits of a code times its constant), and tables
are added one after the other to a running sum, narrow ones first. Several shorter chains, added up
at their ends, shorten the path.
"""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.ir import AtLeast, Field, Op, Program, Range, Ref, Sum
from scm_hw.passes.carry_save import add_up, complemented
from scm_hw.passes.digits import Word, digit_luts, sum_reaches
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.passes.sum_chains import Chains, deal, spread
from scm_hw.passes.sum_terms import PlainTerm, TableTerm, Term, Terms, is_product
from scm_hw.target import Technology

# How many LUTs of a sum a nanosecond is worth.
LUTS_PER_NS = 1.0
# Products that DSP blocks add up one after the other; as many as are cut together.
CASCADED = 2
# Fewer words than these are added just as fast one after the other.
MIN_SAVED = 4


def lower_sums(
    program: Program,
    luts_per_ns: float = LUTS_PER_NS,
    *,
    totals_per_ns: float | None = None,
    multipliers: bool = False,
    carry_save: bool = False,
    tech: Technology,
) -> Program:
    """Only sums of one or two operands remain, with weights that are powers of two.

    A sum that is only compared with a bound may be offset so that one of its bits is the answer.
    The other sums, such as those of the outputs, may have a rate of their own, `totals_per_ns`.
    With `carry_save` they are not added one after the other (`scm_hw.passes.carry_save`).
    With `multipliers`, inputs are multiplied by their constants in DSP blocks where that pays; how
    many bits share a table, and what a DSP block can do, is the technology's.
    """
    compared = _compared_sums(program)

    def lowering(
        build: Rewriter, op: Sum, refs: tuple[Ref, ...], rate: float, early: bool = False
    ) -> _SumLowering:
        terms = Terms(build, op.name, op.constant, multipliers, tech, early=early)
        for ref, weight in zip(refs, op.weights, strict=True):
            terms.add(ref, weight)
        return _SumLowering(build, op.name, terms, rate)

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        match op:
            case Sum() if build.old not in compared:
                rate = luts_per_ns if totals_per_ns is None else totals_per_ns
                found = lowering(build, op, refs, rate, early=carry_save)
                total = found.saved(op.name) if carry_save else None
                return found.total() if total is None else total
            case AtLeast() if op.value in compared:
                source = program.ops[op.value]
                assert isinstance(source, Sum)
                terms = tuple(build.new[r] for r in source.operands)
                return lowering(build, source, terms, luts_per_ns).at_least(op)
        return None

    return rewrite(program, visit, tech)


def _compared_sums(program: Program) -> set[Ref]:
    """Sums of which nothing but one comparison with a bound is wanted."""
    uses = program.uses()
    compared = {op.value for op in program.ops if isinstance(op, AtLeast)}
    return {ref for ref in compared if uses[ref] == 1 and isinstance(program.ops[ref], Sum)}


class _SumLowering:
    def __init__(self, build: Rewriter, name: str, terms: Terms, luts_per_ns: float) -> None:
        self.build = build
        self.name = name
        self.tech = terms.tech
        # Bits that additions carry in, the earliest last. None yet: `_cascaded` adds products, and
        # DSP blocks carry nothing in.
        self.carried: list[PlainTerm] = []
        self.additions = 0
        self.collected = collected = self._cascaded(terms.collected())
        self.chains = deal(collected, luts_per_ns, terms.tech)
        self.constant = terms.constant
        self.carried = sorted(terms.carried, key=lambda term: (-term.arrival, term.ref))
        self.additions = len(collected) - 1

    def _cascaded(self, terms: list[Term]) -> list[Term]:
        """Products added up by their DSP blocks, a few at a time, each in one term."""
        if not self.tech.dsp_add:
            return terms
        products = [term for term in terms if is_product(self.build, term)]
        others = [term for term in terms if not is_product(self.build, term)]
        chains = [
            self._chain(products[start : start + CASCADED])
            for start in range(0, len(products), CASCADED)
        ]
        return [*others, *chains]

    def total(self) -> Ref:
        chains, growth = spread(self.chains, self.constant)
        return self._add_up(chains, self.constant if growth < 0 else 0)

    def saved(self, name: str) -> Ref | None:
        """The total by full adders, two tables to a carry chain; None where that is no gain."""
        if len(self.collected) < MIN_SAVED or self.carried:
            return None
        tables: list[Term] = [term for term in self.collected if isinstance(term, TableTerm)]
        plain = [term for term in self.collected if isinstance(term, PlainTerm)]
        if not tables or any(self.build.ranges[term.ref].signed for term in plain):
            return None
        low = self.constant + sum(term.range.low for term in self.collected)
        high = self.constant + sum(term.range.high for term in self.collected)
        result, constant, rows = Range(low, high), self.constant, []
        for term in plain:
            row, more = complemented(self.build, term, name)
            rows.append(row)
            constant += more
        # Sums wrap around here, so a negative constant is as good as its residue, which tables take
        # in.
        (held,), _ = spread([tables], constant % (1 << result.width))
        ordered = sorted(held, key=lambda term: (term.arrival, term.range))
        pairs = [self._chain(ordered[start : start + 2]) for start in range(0, len(held), 2)]
        return add_up(self.build, [*rows, *pairs], result, name)

    def at_least(self, op: AtLeast) -> Ref:
        """`s >= t` is bit `k` of `s + 2**k - t`, for a `k` that keeps all below `2**(k + 1)`.

        Where the tables would grow by more than a comparison costs, it stays a comparison. Of two
        chains the ends are compared digit by digit, where that takes fewer LUTs than to add them.
        """
        if (bit := self._compared_ends(op)) is not None:
            return bit
        reach = [t.range for chain in self.chains for t in chain]
        reach += [bit.range for bit in self.carried]
        low = sum(r.low for r in reach)
        high = sum(r.high for r in reach)
        bound = op.bound - self.constant
        bit = max((high - bound).bit_length(), (bound - low).bit_length())
        chains, growth = spread(self.chains, (1 << bit) - bound)
        # About the LUTs of a comparison with a constant.
        comparison = -(-high.bit_length() // self.tech.lut_inputs)
        # Tables begin at 0, so an offset below 0 has no room in them.
        if bound <= 1 << bit and 0 <= growth <= comparison:
            return self.build.add(Field(self._add_up(chains, 0), bit, 1, name=op.name))
        return self.build.add(AtLeast(self._add_up(self.chains, 0), bound, name=op.name))

    def _compared_ends(self, op: AtLeast) -> Ref | None:
        if not self.tech.wide_luts or len(self.chains) < 2 or self.carried:
            return None
        terms = [term for chain in self.chains for term in chain]
        if any(isinstance(term, PlainTerm) and term.weight != 1 for term in terms):
            return None
        if any(term.range.low < 0 for term in terms):
            return None
        ends = self._joined(self.chains, 2)
        words = [Word(end.ref, self.build.ranges[end.ref].width, end.weight) for end in ends]
        bound = op.bound - self.constant
        # Adding the ends would take a LUT for each bit of the wider one.
        luts = digit_luts(words, bound, self.tech)
        if luts is None or luts >= max(word.width for word in words):
            return None
        return sum_reaches(self.build, words, bound, op.name, self.tech)

    def _add_up(self, chains: Chains, constant: int) -> Ref:
        (total,) = self._joined(chains, 1)
        if total.weight == 1 and constant == 0:
            return total.ref
        return self.build.add(Sum((total.ref,), (total.weight,), constant, name=self.name))

    def _joined(self, chains: Chains, count: int) -> list[PlainTerm]:
        """The ends of the chains, added up until only `count` are left."""
        results = [self._chain(chain) for chain in chains]
        while len(results) > count:
            # The two that are ready first, so that late ends pass through few additions.
            results.sort(key=lambda term: (term.arrival, term.ref))
            results = [*results[2:], self._add(results[1], results[0])]
        return results

    def _chain(self, chain: Sequence[Term]) -> PlainTerm:
        # Compressors in front of the chain would cost more: a 6:3 counter takes three LUTs for six
        # bits, and its result still has to be added.
        total = self._built(chain[0])
        for term in chain[1:]:
            right = self._built(term)
            if term.absorbed:
                total = self._result((total.ref, right.ref), (total.weight, 1), 1)
            else:
                total = self._add(total, right)
        return total

    def _built(self, term: Term) -> PlainTerm:
        if isinstance(term, PlainTerm):
            return term
        with self.build.within(term.part):
            ref = self.build.table(term.index, term.contents, name=term.name)
        return PlainTerm(ref, 1, self.build.ranges[ref], term.arrival)

    def _add(self, left: PlainTerm, right: PlainTerm) -> PlainTerm:
        if left.weight < 0 < right.weight:
            left, right = right, left
        # A carry chain can subtract one side, not both: -a - b waits to be subtracted as a + b.
        sign = -1 if left.weight < 0 else 1
        weights = (sign * left.weight, sign * right.weight)
        return self._result((left.ref, right.ref), weights, sign)

    def _result(self, refs: tuple[Ref, ...], weights: tuple[int, ...], sign: int) -> PlainTerm:
        if bit := self._carry_in(refs):
            refs, weights = (*refs, *bit), (*weights, 1)
        ref = self.build.add(Sum(refs, weights, name=self.name))
        low, high = sorted(sign * end for end in self.build.ranges[ref])
        return PlainTerm(ref, sign, Range(low, high), self.build.arrival(ref))

    def _carry_in(self, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
        """The next bit, if it is there in time or has no later addition to wait for."""
        self.additions -= 1
        if not self.carried:
            return ()
        ready = max(self.build.arrival(r) for r in refs)
        if self.carried[-1].arrival > ready and len(self.carried) <= self.additions:
            return ()
        return (self.carried.pop().ref,)
