"""How many LUTs a table takes."""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.target.technology import Technology


def varying_bits(contents: Sequence[int]) -> int:
    """Bits of a table that aren't the same at every address: each of them is a LUT."""
    changes = 0
    for entry in contents:
        changes |= entry ^ contents[0]
    # Entries of both signs differ in all bits above their own, which are one bit, the sign.
    return changes.bit_count() if changes >= 0 else (~changes).bit_length() + 1


def luts_per_bit(index_bits: int, tech: Technology) -> int:
    """LUTs for each bit of a table: one for each block of entries, and what joins the blocks.

    Wide LUTs are joined by fours in another LUT, others by twos.
    """
    blocks = 1 << max(index_bits - tech.lut_inputs, 0)
    return blocks + (blocks - 1 + 2) // 3 if tech.wide_luts else 2 * blocks - 1
