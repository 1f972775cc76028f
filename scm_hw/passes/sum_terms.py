"""What a sum is made of, once everything that can be a table of five bits has become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from scm_hw.ir import Concat, Field, Input, Part, Product, Range, Ref, Sum, Table
from scm_hw.passes.rewrite import Rewriter
from scm_hw.target import Technology, dsps, varying_bits

Weighted = tuple[Ref, int]

# With fewer partial product bits than these, tables are as good as a DSP block.
MIN_PRODUCT_BITS = 40


@dataclass(frozen=True)
class PlainTerm:
    """`weight * value`, the weight a power of two with its sign."""

    ref: Ref
    weight: int
    range: Range
    arrival: float

    absorbed = False


@dataclass(frozen=True)
class TableTerm:
    """`contents[index]`, the contents just those that the index can reach."""

    index: Ref
    contents: tuple[int, ...]
    absorbed: bool
    arrival: float
    name: str
    # The part of the table that it was made from, if there was one.
    part: Part | None = None

    @cached_property
    def range(self) -> Range:
        return Range(min(self.contents), max(self.contents))

    @cached_property
    def varying_bits(self) -> int:
        return varying_bits(self.contents)

    def plus(self, constant: int) -> TableTerm:
        return replace(self, contents=tuple(v + constant for v in self.contents))


Term = PlainTerm | TableTerm


class Terms:
    """Collects the terms of one sum. `constant` is what remains to be added to them."""

    def __init__(
        self,
        build: Rewriter,
        name: str,
        constant: int,
        multipliers: bool,
        tech: Technology,
        *,
        early: bool = False,
    ) -> None:
        self.build = build
        self.name = name
        self.constant = constant
        self.multipliers = multipliers
        self.tech = tech
        self.early = early
        self.terms: list[Term] = []
        self.carried: list[PlainTerm] = []
        self._bits: list[Weighted] = []

    def add(self, ref: Ref, weight: int) -> None:
        op = self.build.ops[ref]
        if self.build.is_bit(ref):
            self._bits.append((ref, weight))
        elif isinstance(op, Sum) and len(op.operands) == 1:
            # Not a factor: Yosys moves a sum that two multipliers share into one, and loses it.
            self.constant += weight * op.constant
            self.add(op.operands[0], weight * op.weights[0])
        elif isinstance(op, Table) and not op.memory:
            self._table(op.index, [weight * v for v in op.contents], op.name, op.part)
        elif abs(weight) & (abs(weight) - 1) == 0:
            self._plain(ref, weight)
        elif self.multipliers and self._worth_multiplier(ref, weight):
            self._product(ref, weight)
        elif isinstance(op, Input | Field) and self.build.ranges[ref].low >= 0:
            self._multiples(ref, weight)
        else:
            for digit in signed_digits(weight):
                self._plain(ref, digit)

    def collected(self) -> list[Term]:
        """All terms; call it once, when the last has been added."""
        self._carry_in()
        if len(self._bits) <= 2:
            groups = [[bit] for bit in self._bits]
        else:
            # Weights of like size share a table, so that small ones stay narrow. Where only time
            # counts, bits that arrive together do.
            ordered = sorted(self._bits, key=lambda bit: (self._time(bit), abs(bit[1]), bit[0]))
            size = self.tech.group_inputs
            groups = [ordered[i : i + size] for i in range(0, len(ordered), size)]
        for group in groups:
            self._bit_group(group)
        return self.terms

    def _time(self, bit: Weighted) -> float:
        return self.build.arrival(bit[0]) if self.early else 0.0

    def _carry_in(self) -> None:
        """Set bits aside that additions can carry in, which costs nothing: the last to be there."""
        if not self._can_carry():
            return
        ones = [bit for bit in self._bits if bit[1] == 1]
        ones.sort(key=lambda bit: (self.build.arrival(bit[0]), bit[0]))
        for ref, weight in ones[len(ones) - self._carried(len(ones)) :]:
            self._bits.remove((ref, weight))
            self.carried.append(PlainTerm(ref, 1, Range(0, 1), self.build.arrival(ref)))

    def _can_carry(self) -> bool:
        """Whether additions of these terms have a carry to spare, and bits that fit it."""
        # A chain takes a carry in at its lowest place, where the bit weighs one.
        if not self.tech.absorbed_inputs or not all(map(_at_lowest_place, self.terms)):
            return False
        # Additions in DSP blocks carry nothing in.
        if any(is_product(self.build, term) for term in self.terms):
            return False
        return all(abs(weight) == 1 for _, weight in self._bits)

    def _carried(self, ones: int) -> int:
        """How many bits are carried in, with the fewest tables that can take the others."""
        count, size, tables = len(self._bits), self.tech.group_inputs, 0
        # Terms and tables take an addition less than there are of them, and each carries one bit.
        while count - size * tables > min(ones, len(self.terms) + tables - 1):
            tables += 1
        # More would leave the last table empty, which saves an addition but loses its carry.
        most = count - size * (tables - 1) - 1 if tables else count
        return max(0, min(ones, len(self.terms) + tables - 1, most))

    def _plain(self, ref: Ref, weight: int) -> None:
        low, high = sorted(weight * end for end in self.build.ranges[ref])
        arrival = self.build.arrival(ref)
        self.terms.append(PlainTerm(ref, weight, Range(low, high), arrival))

    def _table(
        self, index: Ref, contents: Sequence[int], name: str, part: Part | None = None
    ) -> None:
        """A table from 0 up; what is below moves into the constant."""
        low, high = self.build.ranges[index]
        reachable = contents[low : high + 1]
        least = min(reachable)
        self.constant += least
        # Addresses below the reach of the index never occur.
        entries = (*[reachable[0]] * low, *reachable)
        absorbed = self.build.ranges[index].width <= self.tech.absorbed_inputs
        contents_from_0 = tuple(v - least for v in entries)
        arrival = self.build.arrival(index)
        self.terms.append(TableTerm(index, contents_from_0, absorbed, arrival, name, part))

    def _worth_multiplier(self, ref: Ref, weight: int) -> bool:
        """Yosys may take a DSP block for less, but tables are as good then."""
        factors = self.build.ranges[ref], Range(weight, weight)
        bits = factors[0].width * factors[1].width
        return bits >= MIN_PRODUCT_BITS and dsps(*factors, self.tech) > 0

    def _product(self, ref: Ref, weight: int) -> None:
        """The odd part of the weight in the multiplier, sign and place by how it is added.

        Amaranth writes a negative constant as wide as the product, which would take two DSPs.
        """
        place = (weight & -weight) * (1 if weight > 0 else -1)
        if self.tech.dsp_add and weight > 0:
            # In its place it can be added in DSP blocks.
            place = 1
        factor = self.build.constant(weight // place)
        product = self.build.add(Product(ref, factor, name=f"{self.name}.product"))
        self._plain(product, place)

    def _multiples(self, ref: Ref, weight: int) -> None:
        """A code times a constant: five bits of the code address their multiple."""
        width = self.build.ranges[ref].width
        size = self.tech.group_inputs
        for offset in range(0, width, size):
            bits = min(size, width - offset)
            index = self.build.add(Field(ref, offset, bits, name=f"{self.name}.digit"))
            high = self.build.ranges[index].high
            contents = [(weight * value) << offset for value in range(high + 1)]
            self._table(index, contents, f"{self.name}.multiple")

    def _bit_group(self, group: list[Weighted]) -> None:
        """Distributed arithmetic: the bits of a group address the sum of their weights."""
        refs, weights = zip(*group, strict=True)
        index = refs[0]
        if len(refs) > 1:
            index = self.build.add(Concat(refs, (1,) * len(refs), name=f"{self.name}.bits"))
        self._table(index, _subset_sums(weights), f"{self.name}.part")


@lru_cache(maxsize=1 << 12)
def _subset_sums(weights: tuple[int, ...]) -> tuple[int, ...]:
    """At each address, the weights of the bits that are set in it."""
    sums = [0]
    for weight in weights:
        sums += [total + weight for total in sums]
    return tuple(sums)


def is_product(build: Rewriter, term: Term) -> bool:
    """Whether a multiplier gives the term as it is to be added."""
    if not isinstance(term, PlainTerm) or term.weight != 1:
        return False
    return isinstance(build.ops[term.ref], Product)


def _at_lowest_place(term: Term) -> bool:
    return isinstance(term, TableTerm) or term.weight == 1


def signed_digits(weight: int) -> list[int]:
    """The weight as a sum of signed powers of two, as few as there can be (canonical form)."""
    digits = []
    rest, place = weight, 1
    while rest:
        if rest & 1:
            # A 3 in the lowest two bits becomes 4 - 1, which leaves a zero beside the digit: of two
            # neighbouring places at most one is used.
            digit = 2 - (rest & 3)
            digits.append(digit * place)
            rest -= digit
        rest >>= 1
        place <<= 1
    return digits
