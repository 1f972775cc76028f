"""How the terms of a sum are added: dealt out to chains, and where the constant goes."""

from __future__ import annotations

from collections.abc import Iterable

from scm_hw.ir import Range
from scm_hw.passes.sum_terms import PlainTerm, TableTerm, Term

Chains = list[list[Term]]


def deal(terms: list[Term], max_chain: int) -> Chains:
    """The cheapest way to deal the terms out to chains of at most `max_chain`."""
    return min(_dealings(terms, max_chain), key=_cost)


def spread(chains: Chains, constant: int) -> tuple[Chains, int]:
    """Put a constant into the tables; also says how many bits they grow by.

    A table has room for part of it up to the next power of two. What is left goes into the one
    table that it makes least harder to hold. Without tables, nothing is done and the growth is -1.
    """
    places = [(c, i) for c, chain in enumerate(chains) for i, t in enumerate(chain) if _is_table(t)]
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


def _is_table(term: Term) -> bool:
    return isinstance(term, TableTerm)


def _plus(term: Term, constant: int) -> TableTerm:
    assert isinstance(term, TableTerm)
    return term.plus(constant)


def _growth(term: Term, constant: int) -> int:
    assert isinstance(term, TableTerm)
    return term.plus(constant).varying_bits - term.varying_bits


def _table_bits(chains: Chains) -> int:
    return sum(t.varying_bits for chain in chains for t in chain if isinstance(t, TableTerm))


def _dealings(terms: list[Term], max_chain: int) -> Iterable[Chains]:
    """Narrow terms first, tables behind what is none and can't be absorbed."""
    ordered = sorted(terms, key=_order)
    fewest = max(1, -(-len(ordered) // max_chain))
    for count in range(fewest, max(fewest, len(ordered) // 2) + 1):
        yield [ordered[start::count] for start in range(count)]


def _order(term: Term) -> tuple[bool, bool, int, int]:
    size = term.range.high - term.range.low
    if isinstance(term, PlainTerm):
        return False, term.weight < 0, size, term.ref
    return term.absorbed, False, size, term.index


def _cost(chains: Chains) -> tuple[int, int]:
    """LUTs, then length. A sum costs a LUT for each bit of what is added to it, no more."""
    luts, ends = 0, []
    for chain in chains:
        for place, term in enumerate(chain):
            if isinstance(term, TableTerm):
                luts += term.varying_bits
            if place and not term.absorbed:
                luts += term.range.width
        low = sum(term.range.low for term in chain)
        ends.append(Range(low, sum(term.range.high for term in chain)))
    while len(ends) > 1:
        ends.sort(key=lambda r: r.width)
        luts += ends[0].width
        ends = [*ends[2:], Range(ends[0].low + ends[1].low, ends[0].high + ends[1].high)]
    return luts, max(len(chain) for chain in chains)
