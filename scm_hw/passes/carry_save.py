"""A sum of many words in few levels: three words become two in a LUT, and two are added at last.

A carry chain takes as long as two or three levels of LUTs, and adds only one word to another. So
where cycles count more than LUTs, pairs of tables are added by chains, and what they leave, with
all other words, goes through full adders side by side: the parity of three words, and twice their
majority. Sums go round modulo a power of two, so that nothing has to be extended by its sign; the
result is read as two's complement.
"""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.ir import Field, Majority, Range, Ref, Sum, Xor
from scm_hw.passes.rewrite import Rewriter
from scm_hw.passes.sum_terms import PlainTerm


def complemented(build: Rewriter, term: PlainTerm, name: str) -> tuple[PlainTerm, int]:
    """A subtracted term as an added one and a constant: `-v` is `(ones - v) - ones`."""
    if term.weight > 0:
        return term, 0
    ones = (1 << build.ranges[term.ref].width) - 1
    ref = build.add(Sum((term.ref,), (-1,), ones, name=f"{name}.rest"))
    reach = Range(0, -term.weight * ones)
    return PlainTerm(ref, -term.weight, reach, build.arrival(ref)), term.weight * ones


def add_up(build: Rewriter, terms: Sequence[PlainTerm], reach: Range, name: str) -> Ref:
    """The sum of all terms, which are added, modulo a power of two that has room for `reach`."""
    rows = [_placed(build, term.ref, term.weight, name) for term in terms]
    while len(rows) > 2:
        # The three that are ready first, so that late words pass through few levels.
        rows.sort(key=lambda ref: (build.arrival(ref), ref))
        parity, majority = _full_adders(build, rows[:3], name)
        rows = [*rows[3:], parity, _placed(build, majority, 2, name)]
    total = build.sum([(ref, 1) for ref in rows], name=name)
    return build.add(Field(total, 0, reach.width, signed=reach.signed, name=name))


def _placed(build: Rewriter, ref: Ref, weight: int, name: str) -> Ref:
    return ref if weight == 1 else build.add(Sum((ref,), (weight,), name=f"{name}.place"))


def _full_adders(build: Rewriter, rows: list[Ref], name: str) -> tuple[Ref, Ref]:
    a, b, c = rows
    parity = build.add(Xor((a, b, c), name=f"{name}.parity"))
    return parity, build.add(Majority((a, b, c), name=f"{name}.majority"))
