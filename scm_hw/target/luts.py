"""How many LUTs a table takes."""

from __future__ import annotations

from collections.abc import Sequence


def varying_bits(contents: Sequence[int]) -> int:
    """Bits of a table that aren't the same at every address: each of them is a LUT."""
    changes = 0
    for entry in contents:
        changes |= entry ^ contents[0]
    # Entries of both signs differ in all bits above their own, which are one bit, the sign.
    return changes.bit_count() if changes >= 0 else (~changes).bit_length() + 1
