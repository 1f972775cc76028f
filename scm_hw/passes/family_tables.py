"""All that a sum adds of the same few bits is one table of them, however many nodes it stands for.

Nodes that see the same few bits are functions of these, and so is what the readout makes of all of
them together. Their sum is one table, and a carry chain absorbs a table of five bits at a LUT for
each bit of its entries, addition included. The nodes themselves are gone, unless others read them.
A table of six bits takes its LUTs beside the addition, and pays where it stands for enough nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import AtLeast, Concat, Op, Program, Ref, Sum, Table
from scm_hw.ir.interp import values_given
from scm_hw.passes.cuts import Cut, Cuts
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.target import Technology, luts_per_bit, varying_bits

# A LUT6, or a few LUT4s.
MOST_BITS = 6
# In sums with more cuts than this, only terms that see the same bits, or some of them, are joined.
MOST_GROWN = 2000
# Taking fewer node bits than these out of their tables would not save a table.
MIN_NODES = 4

Integers = NDArray[np.int64]


def family_tables(program: Program, tech: Technology) -> Program:
    """Bring terms of the outputs' sums that see the same few bits into one table."""
    sums = _output_sums(program)
    if not sums:
        return program
    cuts, uses = Cuts(program, MOST_BITS), program.uses()
    families = {ref: _Families(program, ref, cuts, uses, tech).chosen() for ref in sums}

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        chosen = families.get(build.old)
        if not chosen or not isinstance(op, Sum):
            return None
        gone = {place for family in chosen for place in family.places}
        weighted = enumerate(zip(refs, op.weights, strict=True))
        terms = [term for place, term in weighted if place not in gone]
        for number, family in enumerate(chosen):
            terms.append((_built(build, family, f"{op.name}.family{number}"), 1))
        return build.sum(terms, op.constant, name=op.name)

    return rewrite(program, visit) if any(families.values()) else program


def _output_sums(program: Program) -> list[Ref]:
    """Sums that are no node's: what nodes have in common is the business of other passes."""
    nodes = {
        op.value for ref, op in program if isinstance(op, AtLeast) and ref not in program.outputs
    }
    return [ref for ref, op in program if isinstance(op, Sum) and ref not in nodes]


@dataclass(frozen=True)
class _Family:
    """The terms of a sum at `places`, as a table of the values that a cut names, in their order."""

    sources: tuple[Ref, ...]
    widths: tuple[int, ...]
    places: tuple[int, ...]
    contents: tuple[int, ...]


def _built(build: Rewriter, family: _Family, name: str) -> Ref:
    sources = tuple(build.new[ref] for ref in family.sources)
    index = sources[0]
    if len(sources) > 1:
        index = build.add(Concat(sources, family.widths, name=f"{name}.seen"))
    return build.table(index, family.contents[: build.ranges[index].high + 1], name=name)


class _Families:
    """The families of one sum."""

    def __init__(
        self, program: Program, ref: Ref, cuts: Cuts, uses: Sequence[int], tech: Technology
    ) -> None:
        self.program, self.cuts, self.uses, self.tech = program, cuts, uses, tech
        op = program.ops[ref]
        assert isinstance(op, Sum)
        self.terms = list(zip(op.operands, op.weights, strict=True))
        self.free: set[int] = set()
        # What cuts are worth with the terms that are free now.
        self._worths: dict[Cut, float] = {}
        # The places of terms by the cuts that decide them.
        self.places: dict[Cut, list[int]] = defaultdict(list)
        for place, (term, _) in enumerate(self.terms):
            if self._may_join(term):
                self.free.add(place)
                for cut in filter(None, cuts.of[term]):
                    self.places[cut].append(place)

    def _may_join(self, ref: Ref) -> bool:
        """Bits and tables; a code times its constant is left to those who multiply."""
        op = self.program.ops[ref]
        return not op.memory if isinstance(op, Table) else self.cuts.is_bit(ref)

    def chosen(self) -> list[_Family]:
        """One after the other the family that saves most, of terms that are in none yet."""
        # The heap holds gains as they were last weighed; only its head is weighed again.
        waiting = [(-self._gain(cut), sorted(cut), cut) for cut in self._supports]
        heapify(waiting)
        chosen: list[_Family] = []
        while waiting:
            expected, order, cut = waiting[0]
            gain = self._gain(cut)
            if gain <= 0:
                heappop(waiting)
            elif gain < -expected:
                # Other families have taken some of its terms since it was weighed.
                heapreplace(waiting, (-gain, order, cut))
            else:
                heappop(waiting)
                chosen.append(self._family(cut))
                self.free -= set(chosen[-1].places)
                self._worths.clear()
        return chosen

    @cached_property
    def _supports(self) -> set[Cut]:
        """Cuts of several terms: those of single ones, and such as have room for more of them."""
        cuts = list(self.places)
        if len(cuts) <= MOST_GROWN:
            cuts = [self._grown(cut) for cut in cuts]
        return {cut for cut in cuts if len(self._members(cut)) > 1}

    def _grown(self, cut: Cut) -> Cut:
        """A cut, and the bits that bring most terms with them, up to what a table can take."""
        while True:
            wider = {cut | near for ref in cut for near in self._near[ref]} - {cut}
            wider = {each for each in wider if self.cuts.bits(each) <= self._room}
            # Ties are settled by references: the result is the same in every run.
            best = max(wider, key=lambda each: (self._worth(each), sorted(each)), default=cut)
            if self._worth(best) <= self._worth(cut):
                return cut
            cut = best

    @cached_property
    def _near(self) -> dict[Ref, list[Cut]]:
        near: dict[Ref, list[Cut]] = defaultdict(list)
        for cut in self.places:
            for ref in cut:
                near[ref].append(cut)
        return near

    @property
    def _room(self) -> int:
        return self.tech.absorbed_inputs or self.tech.lut_inputs

    def _members(self, cut: Cut) -> list[int]:
        """The free terms that see no more than this."""
        refs = sorted(cut)
        # Six bits have few subsets: these are looked up, instead of searching all terms.
        found = {
            place
            for size in range(1, len(refs) + 1)
            for some in combinations(refs, size)
            for place in self.places.get(frozenset(some), ())
        }
        return sorted(found & self.free)

    def _worth(self, cut: Cut) -> float:
        """LUTs that its terms take now, each on its own."""
        if cut not in self._worths:
            members = self._members(cut)
            self._worths[cut] = sum(self._luts(place, cut) for place in members)
        return self._worths[cut]

    def _gain(self, cut: Cut) -> float:
        """LUTs that one table saves."""
        members = self._members(cut)
        tables = sum(not self.cuts.is_bit(self.terms[place][0]) for place in members)
        if len(members) < (2 if tables else MIN_NODES):
            return 0.0
        contents = self._family(cut).contents
        return self._worth(cut) - self._table_luts(contents, self.cuts.bits(cut))

    def _luts(self, place: int, cut: Cut) -> float:
        """LUTs of a term: to add it and, unless the cut itself has it, to make it."""
        ref, weight = self.terms[place]
        op = self.program.ops[ref]
        if not self.cuts.is_bit(ref):
            assert isinstance(op, Table)
            contents = tuple(weight * entry for entry in op.contents)
            return self._table_luts(contents, self.cuts.width(op.index))
        # Bits of weights of like size share a table.
        luts = (abs(weight).bit_length() + 1) / self.tech.group_inputs
        if isinstance(op, Table) and ref not in cut:
            # Each of the sums that read a node frees its part of it.
            luts += luts_per_bit(self.cuts.width(op.index), self.tech) / self.uses[ref]
        return luts

    def _table_luts(self, contents: tuple[int, ...], bits: int) -> int:
        varying = varying_bits(contents)
        if bits <= self.tech.absorbed_inputs:
            return varying
        span = max(contents) - min(contents)
        return varying * luts_per_bit(bits, self.tech) + span.bit_length()

    def _family(self, cut: Cut) -> _Family:
        sources = tuple(sorted(cut))
        widths = tuple(self.cuts.width(ref) for ref in sources)
        places = tuple(self._members(cut))
        given: dict[Ref, Integers] = {}
        addresses, shift = np.arange(1 << sum(widths), dtype=np.int64), 0
        for ref, width in zip(sources, widths, strict=True):
            # Addresses beyond the highest value never occur.
            field = addresses >> shift & ((1 << width) - 1)
            given[ref] = np.minimum(field, self.cuts.highest(ref))
            shift += width
        refs, weights = zip(*(self.terms[place] for place in places), strict=True)
        values = values_given(self.program, given, refs)
        total = sum(weight * values[ref] for ref, weight in zip(refs, weights, strict=True))
        return _Family(sources, widths, places, tuple(int(v) for v in total))
