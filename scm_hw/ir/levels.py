"""The level of a code: how many thresholds it has reached, as a binary number."""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.ir.ops import AtLeast, Ref, Xor
from scm_hw.ir.program import Builder


def level_bits(build: Builder, code: Ref, thresholds: Sequence[int], name: str) -> list[Ref]:
    """The bits of the number of increasing thresholds that a code has reached, the lowest first.

    The comparisons are set from the first to the last that is reached. So the number of multiples
    of `2**j` up to the level is the count of every `2**j`-th comparison, and bit `j` its parity.
    """
    reached = [build.add(AtLeast(code, t, name=f"{name}.ge{t}")) for t in thresholds]
    bits = []
    for j in range(len(reached).bit_length()):
        every = tuple(reached[(1 << j) - 1 :: 1 << j])
        bits.append(every[0] if len(every) == 1 else build.add(Xor(every, name=f"{name}.parity")))
    return bits
