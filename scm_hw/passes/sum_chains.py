"""How the terms of a sum are added: dealt out to chains, and where the constant goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from scm_hw.ir import Range
from scm_hw.passes.sum_terms import PlainTerm, TableTerm, Term
from scm_hw.target import Technology, addition, luts_per_bit

Chains = list[Sequence[Term]]
_T = TypeVar("_T")

# Terms that arrive within this many levels of logic of the first count as there from the start.
EARLY_LEVELS = 1.5


def deal(terms: list[Term], luts_per_ns: float, tech: Technology) -> Chains:
    """Deal the terms out to chains, weighing LUTs against time.

    Terms that come late, such as the bits of the last layer, have chains of their own, so that
    what is there from the start is added up while they are awaited.
    """
    awaited = min(term.arrival for term in terms) + EARLY_LEVELS * tech.level
    # Narrow terms first. Tables last, since an addition absorbs only its second operand, and the
    # first term of a chain is nobody's second.
    ordered = sorted(terms, key=_order)
    early = [term for term in ordered if term.arrival <= awaited]
    late = [term for term in ordered if term.arrival > awaited]
    dealings = _dealings(_weighed(early, tech), _weighed(late, tech), tech)
    best = min(dealings, key=lambda dealing: dealing.luts + luts_per_ns * dealing.ready)
    return _cut(early, best.early) + _cut(late, best.late)


def _cut(terms: Sequence[_T], count: int) -> list[Sequence[_T]]:
    # Terms are sorted by size: dealt out in turn, each chain gets narrow and wide ones.
    return [terms[start::count] for start in range(count)]


@dataclass(frozen=True)
class _Weighed:
    """The properties of a term that the cost of a dealing depends on."""

    arrival: float
    range: Range
    absorbed: bool
    table_luts: int


def _weighed(terms: list[Term], tech: Technology) -> tuple[_Weighed, ...]:
    return tuple(
        _Weighed(term.arrival, term.range, term.absorbed, _table_luts(term, tech)) for term in terms
    )


def _table_luts(term: Term, tech: Technology) -> int:
    if not isinstance(term, TableTerm):
        return 0
    return term.varying_bits * luts_per_bit((len(term.contents) - 1).bit_length(), tech)


@dataclass(frozen=True)
class _Dealing:
    """The number of chains of each kind, their LUTs, and when the sum is ready."""

    early: int
    late: int
    luts: int
    ready: float


# The nodes of a layer are much alike, so most of their sums have been weighed before.
@lru_cache(maxsize=1 << 10)
def _dealings(
    early: tuple[_Weighed, ...], late: tuple[_Weighed, ...], tech: Technology
) -> list[_Dealing]:
    return [
        _Dealing(a, b, *_cost(_cut(early, a) + _cut(late, b), tech))
        for a in _counts(early)
        for b in _counts(late)
    ]


def _counts(terms: tuple[_Weighed, ...]) -> list[int]:
    most = (len(terms) + 1) // 2
    return [n for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if n <= most] or [len(terms)]


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


def _cost(chains: list[Sequence[_Weighed]], tech: Technology) -> tuple[int, float]:
    """LUTs and time. A sum costs a LUT for each bit of what is added to it, no more."""
    luts, ends = 0, []
    for chain in chains:
        end = _Partial(0.0, 0, 0)
        for place, term in enumerate(chain):
            luts += term.table_luts
            luts += term.range.width if place and not term.absorbed else 0
            end.low += term.range.low
            end.high += term.range.high
            end.ready = max(end.ready, term.arrival) + (addition(end.width, tech) if place else 0.0)
        ends.append(end)
    while len(ends) > 1:
        # The order in which `lower_sums` joins the ends of chains; the estimate has to follow it.
        ends.sort(key=lambda end: end.ready)
        a, b, *rest = ends
        luts += min(a.width, b.width)
        both = _Partial(max(a.ready, b.ready), a.low + b.low, a.high + b.high)
        both.ready += addition(both.width, tech)
        ends = [*rest, both]
    return luts, ends[0].ready


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
    filled: list[list[Term]] = [list(chain) for chain in chains]
    before = _table_bits(filled)
    for c, i in places:
        room = (1 << filled[c][i].range.width) - 1 - filled[c][i].range.high
        share = min(room, constant) if constant > 0 else 0
        filled[c][i] = _plus(filled[c][i], share)
        constant -= share
    if constant:
        c, i = min(places, key=lambda place: _growth(filled[place[0]][place[1]], constant))
        filled[c][i] = _plus(filled[c][i], constant)
    return [*filled], max(_table_bits(filled) - before, 0)


def _plus(term: Term, constant: int) -> TableTerm:
    assert isinstance(term, TableTerm)
    return term.plus(constant)


def _growth(term: Term, constant: int) -> int:
    assert isinstance(term, TableTerm)
    return term.plus(constant).varying_bits - term.varying_bits


def _table_bits(chains: Sequence[Sequence[Term]]) -> int:
    return sum(t.varying_bits for chain in chains for t in chain if isinstance(t, TableTerm))
