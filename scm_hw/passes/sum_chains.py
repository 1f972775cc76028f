"""How the terms of a sum are added: dealt out to chains, and where the constant goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scm_hw.ir import Range
from scm_hw.passes.sum_terms import PlainTerm, TableTerm, Term
from scm_hw.target import addition

Chains = list[list[Term]]

# Terms that arrive within this many nanoseconds of the first are there from the start.
EARLY = 1.0


def deal(terms: list[Term], luts_per_ns: float) -> Chains:
    """Deal the terms out to chains, weighing LUTs against time.

    Terms that come late, such as the bits of the last layer, have chains of their own, so that
    what is there from the start is added up while they are awaited.
    """
    first = min(term.arrival for term in terms)
    early = [term for term in terms if term.arrival <= first + EARLY]
    late = [term for term in terms if term.arrival > first + EARLY]
    return min(_dealings(early, late), key=lambda chains: _cost(chains, luts_per_ns))


def _dealings(early: list[Term], late: list[Term]) -> Iterable[Chains]:
    for first in _cuts(early):
        for second in _cuts(late):
            yield first + second


def _cuts(terms: list[Term]) -> list[Chains]:
    """Narrow terms first, tables behind what is none and can't be absorbed."""
    if not terms:
        return [[]]
    ordered = sorted(terms, key=_order)
    counts = [n for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if n <= (len(terms) + 1) // 2]
    return [[ordered[start::count] for start in range(count)] for count in counts or [1]]


def _order(term: Term) -> tuple[bool, bool, int, int]:
    size = term.range.high - term.range.low
    if isinstance(term, PlainTerm):
        return False, term.weight < 0, size, term.ref
    return term.absorbed, False, size, term.index


@dataclass
class _Partial:
    """A chain's end, or a sum of several."""

    ready: float
    low: int
    high: int

    @property
    def width(self) -> int:
        return Range(self.low, self.high).width


def _cost(chains: Chains, luts_per_ns: float) -> float:
    """LUTs, and time in LUTs. A sum costs a LUT for each bit of what is added to it, no more."""
    luts, ends = 0, []
    for chain in chains:
        end = _Partial(0.0, 0, 0)
        for place, term in enumerate(chain):
            luts += term.varying_bits if isinstance(term, TableTerm) else 0
            luts += term.range.width if place and not term.absorbed else 0
            end.low += term.range.low
            end.high += term.range.high
            end.ready = max(end.ready, term.arrival) + (addition(end.width) if place else 0.0)
        ends.append(end)
    while len(ends) > 1:
        ends.sort(key=lambda end: end.ready)
        a, b, *rest = ends
        luts += min(a.width, b.width)
        both = _Partial(max(a.ready, b.ready), a.low + b.low, a.high + b.high)
        both.ready += addition(both.width)
        ends = [*rest, both]
    return luts + luts_per_ns * ends[0].ready


def spread(chains: Chains, constant: int) -> tuple[Chains, int]:
    """Put a constant into the tables; also says how many bits they grow by.

    A table has room for part of it up to the next power of two. What is left goes into the one
    table that it makes least harder to hold. Without tables, nothing is done and the growth is -1.
    """
    places = [
        (c, i)
        for c, chain in enumerate(chains)
        for i, term in enumerate(chain)
        if isinstance(term, TableTerm)
    ]
    if not places:
        return chains, -1
    filled = [list(chain) for chain in chains]
    before = _table_bits(filled)
    for c, i in places:
        room = (1 << filled[c][i].range.width) - 1 - filled[c][i].range.high
        share = min(room, constant) if constant > 0 else 0
        filled[c][i] = _plus(filled[c][i], share)
        constant -= share
    if constant:
        c, i = min(places, key=lambda place: _growth(filled[place[0]][place[1]], constant))
        filled[c][i] = _plus(filled[c][i], constant)
    return filled, max(_table_bits(filled) - before, 0)


def _plus(term: Term, constant: int) -> TableTerm:
    assert isinstance(term, TableTerm)
    return term.plus(constant)


def _growth(term: Term, constant: int) -> int:
    assert isinstance(term, TableTerm)
    return term.plus(constant).varying_bits - term.varying_bits


def _table_bits(chains: Chains) -> int:
    return sum(t.varying_bits for chain in chains for t in chain if isinstance(t, TableTerm))
