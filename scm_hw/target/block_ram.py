"""How much block RAM a memory takes."""

from __future__ import annotations

# Bits and words of a half block RAM, in each of its shapes.
SHAPES = ((36, 512), (18, 1024), (9, 2048), (4, 4096), (2, 8192), (1, 16384))


def half_blocks(width: int, depth: int) -> int:
    """Half block RAMs for `depth` words of `width` bits, in the best of their shapes."""
    return min(-(-width // bits) * -(-depth // words) for bits, words in SHAPES)
