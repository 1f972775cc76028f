"""Tables of several draws of candidates on coded inputs, made in one go.

A sum of signed bits is twice the number of bits that match their signs, less their number; tables
count matches, in the smallest type that holds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scm_train._levels import LevelBlock
from scm_train.chunks import Scratch

__all__ = ["LevelTables", "at_least", "matches_needed"]

#: Rows compared at a time.
TILE = 16


class LevelTables:
    """Matches of signs (draws, candidates, inputs), none of them masked.

    They are in ``scratch``, and hold until the next tables are made there.
    """

    def __init__(
        self,
        blocks: list[tuple[LevelBlock, NDArray[np.uint16]]],
        weights: NDArray[np.int8],
        scratch: Scratch,
    ):
        self.draws, self.candidates, self.inputs = weights.shape
        self._dtype = np.min_scalar_type(self.inputs + 1)
        self._scratch = scratch
        self._levels = [levels for _, levels in blocks]
        exact = scratch("weights", weights.shape, np.float32)
        np.copyto(exact, weights)
        self._tables = [block.matches(exact, self._dtype, scratch) for block, _ in blocks]

    def sums_at(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The sum of each candidate on a row of its own, ``rows`` (draws, candidates)."""
        draws, candidates = np.ogrid[: self.draws, : self.candidates]
        matches = np.zeros(rows.shape, dtype=np.int64)
        for levels, table in zip(self._levels, self._tables, strict=True):
            matches += table[draws, levels[rows], candidates]
        return 2 * matches - self.inputs

    def fires(self, draw: int, limits: NDArray[np.int64]) -> Callable[[slice], NDArray[np.bool_]]:
        """Prepare ``H W^T >= limits`` of one of the draws."""
        tables = [table[draw] for table in self._tables]
        needed = matches_needed(limits, self.inputs, self.inputs).astype(self._dtype)

        def on(rows: slice) -> NDArray[np.bool_]:
            shape = (rows.stop - rows.start, self.candidates)
            total = self._scratch("total", shape, self._dtype)
            share = self._scratch("share", shape, self._dtype)
            for number, (levels, table) in enumerate(zip(self._levels, tables, strict=True)):
                # Levels are in range by construction; this mode spares the check of each.
                table.take(levels[rows], axis=0, mode="wrap", out=share if number else total)
                if number:
                    np.add(total, share, out=total)
            return at_least(total, needed, self._scratch("fires", shape, np.bool_))

        return on


def matches_needed(
    limits: NDArray[np.int64], seen: NDArray[np.integer] | int, inputs: int
) -> NDArray[np.int64]:
    """How many of the bits ``seen`` must match for a sum of at least ``limits``."""
    return np.minimum(np.maximum((limits + seen + 1) // 2, 0), inputs + 1)


def at_least(found: NDArray, needed: NDArray, out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``found >= needed`` (rows, T), several rows at a time: short loops cost more than they do."""
    rows, count = found.shape
    whole = rows - rows % TILE
    np.greater_equal(
        found[:whole].reshape(-1, TILE * count),
        np.tile(needed, TILE),
        out=out[:whole].reshape(-1, TILE * count),
    )
    np.greater_equal(found[whole:], needed, out=out[whole:])
    return out
