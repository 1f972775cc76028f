"""Tables of several draws of candidates on coded inputs, made in one go.

A sum of signed bits is twice the number of bits that match their signs, less their number; tables
count matches, in the smallest type that holds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scm_train._compiled import MOST_TABLES, fired_dots
from scm_train._levels import LevelBlock
from scm_train.chunks import Scratch

__all__ = ["DrawTables", "LevelTables", "at_least", "matches_needed"]

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

    def of(self, draw: int) -> DrawTables:
        """The tables of one of the draws."""
        tables = [table[draw] for table in self._tables]
        return DrawTables(tables, self._levels, self.inputs, self._scratch)


class DrawTables:
    """Matches of one draw: for each block a table (levels, T), and every row's level in it."""

    def __init__(
        self,
        tables: list[NDArray],
        levels: list[NDArray[np.uint16]],
        inputs: int,
        scratch: Scratch,
    ):
        self.tables, self.levels, self.inputs = tables, levels, inputs
        self._scratch = scratch

    def subset(self, which: NDArray[np.intp]) -> DrawTables:
        """The tables of some of the candidates."""
        return DrawTables([t[:, which] for t in self.tables], self.levels, self.inputs, Scratch())

    def fires(self, limits: NDArray[np.int64]) -> Callable[[slice], NDArray[np.bool_]]:
        """Prepare ``H W^T >= limits``."""
        needed = self._needed(limits)

        def on(rows: slice) -> NDArray[np.bool_]:
            shape = (rows.stop - rows.start, len(limits))
            total = self._scratch("total", shape, needed.dtype)
            share = self._scratch("share", shape, needed.dtype)
            for number, (levels, table) in enumerate(zip(self.levels, self.tables, strict=True)):
                # Levels are in range by construction; this mode spares the check of each.
                table.take(levels[rows], axis=0, mode="wrap", out=share if number else total)
                if number:
                    np.add(total, share, out=total)
            return at_least(total, needed, self._scratch("fires", shape, np.bool_))

        return on

    def dots(
        self, limits: NDArray[np.int64]
    ) -> Callable[[slice, NDArray[np.float32]], NDArray[np.float64]] | None:
        """Prepare the sums (probes, T) of probes (probes, rows) over the rows that fire.

        None without a compiled loop for it.
        """
        if fired_dots is None or len(self.tables) > MOST_TABLES:
            return None
        needed = self._needed(limits)
        missing = MOST_TABLES - len(self.tables)
        nothing = np.zeros((1, len(limits)), dtype=needed.dtype)
        tables = (*self.tables, *[nothing] * missing)

        def on(rows: slice, probes: NDArray[np.float32]) -> NDArray[np.float64]:
            own = [levels[rows] for levels in self.levels]
            levels = (*own, *[np.zeros(probes.shape[1], dtype=np.uint16)] * missing)
            out = np.zeros((len(probes), len(limits)))
            for probe, sums in zip(probes, out, strict=True):
                fired_dots(tables, levels, needed, probe, sums)
            return out

        return on

    def _needed(self, limits: NDArray[np.int64]) -> NDArray:
        return matches_needed(limits, self.inputs, self.inputs).astype(self.tables[0].dtype)


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
