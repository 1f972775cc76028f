"""Memories of constants, and what decides whether they are block RAM."""

from __future__ import annotations

from dataclasses import dataclass

# Deeper memories are worth a block RAM; shallower ones are a few LUTs for each bit.
BLOCK_DEPTH = 64


@dataclass(frozen=True)
class Bank:
    """A memory of constants: `depth` words of `width` bits."""

    name: str
    width: int
    depth: int

    @property
    def bits(self) -> int:
        return self.width * self.depth
