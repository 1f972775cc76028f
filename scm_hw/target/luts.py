"""How many LUTs a table takes."""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.target.technology import XC7, Technology


def varying_bits(contents: Sequence[int]) -> int:
    """Bits of a table that aren't the same at every address: each of them is a LUT."""
    changes = 0
    for entry in contents:
        changes |= entry ^ contents[0]
    # Entries of both signs differ in all bits above their own, which are one bit, the sign.
    return changes.bit_count() if changes >= 0 else (~changes).bit_length() + 1


def luts_per_bit(index_bits: int, tech: Technology = XC7) -> int:
    """LUTs for each bit of a table: one for each block of entries, and what joins the blocks.

    LUT6s are joined by fours in another LUT. LUT4s are joined by twos in a LUT where they have no
    multiplexers of their own; with them, up to eight cost nothing to join.
    """
    blocks = 1 << max(index_bits - tech.lut_inputs, 0)
    if tech.lut_inputs == XC7.lut_inputs:
        return blocks + (blocks - 1 + 2) // 3
    if tech.wide_luts:
        return blocks + -(-blocks // 8) - 1
    return 2 * blocks - 1
