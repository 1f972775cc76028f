"""Which few values decide an operation: the cuts of its cone.

A cut is a set of earlier references of which an operation is a function, and nothing else. An
operation has many: a node of the second layer is a function of its own bit, of the bits of the
first layer that it sees, and of the levels of the codes that those look at. As in mapping to LUTs,
only cuts of a few bits are kept, and of those the smallest.
"""

from __future__ import annotations

from collections.abc import Iterable

from scm_hw.ir import Concat, Constant, Input, Op, Program, Ref, operands, ranges

__all__ = ["Cut", "Cuts"]

Cut = frozenset[Ref]

# Cuts kept for each operation. More hardly ever find anything, and take time on wide layers.
MOST_CUTS = 8


class Cuts:
    """`of[ref]`: cuts of at most `most_bits` bits, the smallest first."""

    def __init__(self, program: Program, most_bits: int) -> None:
        self.most_bits = most_bits
        self._known = ranges(program)
        self._widths = [reach.width for reach in self._known]
        self.of: list[tuple[Cut, ...]] = []
        for ref, op in program:
            self.of.append(self._cuts(ref, op))

    def width(self, ref: Ref) -> int:
        return self._widths[ref]

    def is_bit(self, ref: Ref) -> bool:
        low, high = self._known[ref]
        return low >= 0 and high <= 1

    def highest(self, ref: Ref) -> int:
        return self._known[ref].high

    def bits(self, cut: Cut) -> int:
        return sum(map(self._widths.__getitem__, cut))

    def _cuts(self, ref: Ref, op: Op) -> tuple[Cut, ...]:
        found: set[Cut] = set()
        # Values side by side are no more than these values.
        if not isinstance(op, Constant | Concat) and self._known[ref].low >= 0:
            found.add(frozenset((ref,)))
        # A constant has no operands, and so the empty cut.
        if not isinstance(op, Input):
            found |= self._joined(operands(op))
        return self._smallest(found)

    def _joined(self, refs: Iterable[Ref]) -> set[Cut]:
        """Cuts that decide all of these."""
        joined: set[Cut] = {frozenset()}
        for ref in dict.fromkeys(refs):
            # Reduced after each operand: all combinations of all operands would be exponentially
            # many.
            joined = set(self._smallest({a | b for a in joined for b in self.of[ref]}))
        return joined

    def _smallest(self, cuts: set[Cut]) -> tuple[Cut, ...]:
        """Those of few bits, without those that have more than another one."""
        sized = sorted((self.bits(cut), sorted(cut), cut) for cut in cuts)
        kept: list[Cut] = []
        for bits, _, cut in sized:
            if bits > self.most_bits or len(kept) == MOST_CUTS:
                break
            # A cut that contains another one costs more bits and decides no more.
            if not any(other <= cut for other in kept):
                kept.append(cut)
        return tuple(kept)
