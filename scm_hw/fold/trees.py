"""Trees of two-operand additions, cut by registers where a cycle ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from scm_hw.target import Technology, addition

# Three bits are counted in one level of logic, with their signs.
COUNTED_BITS = 3


@dataclass(frozen=True)
class AdderTree:
    """Some terms added up in pairs, level by level.

    There are registers before each level in `cuts`, and behind the last; `ns` is the longest path
    between two of them.
    """

    cuts: frozenset[int]
    ns: float

    @property
    def ranks(self) -> int:
        return len(self.cuts) + 1


@lru_cache(maxsize=4096)
def counting_tree(simd: int, lane_bits: int, budget_ns: float, tech: Technology) -> AdderTree:
    """The sum of lanes: bits are counted by threes first."""
    if lane_bits > 1:
        return _cut(simd, lane_bits, budget_ns, tech)
    return _cut(simd // COUNTED_BITS + simd % COUNTED_BITS, 2, budget_ns, tech)


@lru_cache(maxsize=4096)
def selecting_tree(lanes: int, width: int, budget_ns: float, tech: Technology) -> AdderTree:
    """The sum of words of which some are set to zero."""
    return _cut(lanes, width, budget_ns, tech)


def _cut(terms: int, width: int, budget_ns: float, tech: Technology) -> AdderTree:
    """A level of logic makes the terms; then as many additions to a cycle as it has time for.

    Three bits and their signs are six inputs: as many levels as LUT4s need for them.
    """
    levels = 1 if tech.lut_inputs >= 2 * COUNTED_BITS else 2
    ns = longest = tech.register + levels * tech.level
    cuts, level = set(), 0
    while terms > 1:
        # A sum has a bit more than its terms.
        takes = addition(width + 1, tech)
        if ns + takes > budget_ns:
            cuts.add(level)
            ns = tech.register
        ns += takes
        longest = max(longest, ns)
        terms, width, level = -(-terms // 2), width + 1, level + 1
    return AdderTree(frozenset(cuts), longest)
