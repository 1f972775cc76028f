"""Tables of several draws of candidates on coded inputs, made in one go.

A sum of signed bits is twice the number of bits that match their signs, less their number; tables
count matches, in the smallest type that holds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import Scratch
from scm_train.search import kernels
from scm_train.search.joint_levels import LevelBlock
from scm_train.search.kernels import MOST_TABLES

__all__ = ["LevelTables", "at_least", "matches_needed"]

#: Rows compared at a time.
TILE = 16
#: The compiled loops run over multiples of this many candidates, the surplus of any content.
MULTIPLE = 32


class LevelTables:
    """Matches of signs: for each block a table (levels, columns), and every row's level in it.

    The candidates are some of the columns.
    """

    def __init__(
        self,
        tables: list[NDArray],
        levels: list[NDArray[np.uint16]],
        inputs: int,
        columns: slice,
        scratch: Scratch,
    ):
        self.tables, self.levels, self.inputs = tables, levels, inputs
        self._columns = columns
        self._scratch = scratch

    @classmethod
    def of(
        cls,
        weights: NDArray[np.int8],
        blocks: list[tuple[LevelBlock, NDArray[np.uint16]]],
        scratch: Scratch,
    ) -> LevelTables:
        """Tables of signs (candidates, inputs), none of them masked.

        They are in ``scratch``, and hold until the next tables are made there.
        """
        candidates, inputs = weights.shape
        # One more than the most matches: what a candidate that never fires needs must fit as well.
        dtype = np.min_scalar_type(inputs + 1)
        if kernels.loops is None:
            signs = scratch("signs", (inputs, candidates), np.float32)
        else:
            # A part may start at any column, and its loop runs to a multiple from there.
            signs = scratch("signs", (inputs, _padded(candidates) + MULTIPLE), np.int8)
        np.copyto(signs[:, :candidates], weights.T)
        tables = [block.matches(signs, dtype, scratch) for block, _ in blocks]
        levels = [levels for _, levels in blocks]
        return cls(tables, levels, inputs, slice(0, candidates), scratch)

    def part(self, some: slice) -> LevelTables:
        """The tables of candidates in a row."""
        start = self._columns.start
        columns = slice(start + some.start, start + some.stop)
        return LevelTables(self.tables, self.levels, self.inputs, columns, self._scratch)

    def subset(self, which: NDArray[np.intp]) -> LevelTables:
        """The tables of some of the candidates."""
        tables = [table[:, self._columns.start + which] for table in self.tables]
        return LevelTables(tables, self.levels, self.inputs, slice(0, len(which)), Scratch())

    def sums_at(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The sum of each candidate on a row of its own."""
        columns = np.arange(self._columns.start, self._columns.stop)
        matches = np.zeros(rows.shape, dtype=np.int64)
        for levels, table in zip(self.levels, self.tables, strict=True):
            matches += table[levels[rows], columns]
        # A match adds 1 to a sum of signs, and every other input takes 1 off.
        return 2 * matches - self.inputs

    def fires(self, limits: NDArray[np.int64]) -> Callable[[slice], NDArray[np.bool_]]:
        """Prepare ``H W^T >= limits``."""
        needed = self._needed(limits)
        loops = self._loops
        if loops is None:
            return self._fires_in_numpy(needed)
        tables = self._four_tables()

        def on(rows: slice) -> NDArray[np.bool_]:
            out = self._scratch("fires", (rows.stop - rows.start, len(limits)), np.bool_)
            loops.fired(tables, self._columns.start, self._four_levels(rows), needed, out)
            return out

        return on

    def _fires_in_numpy(self, needed: NDArray) -> Callable[[slice], NDArray[np.bool_]]:
        tables = [np.ascontiguousarray(table[:, self._columns]) for table in self.tables]
        fire = at_least(needed)

        def on(rows: slice) -> NDArray[np.bool_]:
            shape = (rows.stop - rows.start, len(needed))
            total = self._scratch("total", shape, needed.dtype)
            share = self._scratch("share", shape, needed.dtype)
            for number, (levels, table) in enumerate(zip(self.levels, tables, strict=True)):
                # Levels are in range by construction; this mode spares the check of each.
                table.take(levels[rows], axis=0, mode="wrap", out=share if number else total)
                if number:
                    np.add(total, share, out=total)
            return fire(total, self._scratch("fires", shape, np.bool_))

        return on

    def dots(
        self, limits: NDArray[np.int64]
    ) -> Callable[[slice, NDArray[np.float64]], NDArray[np.float64]] | None:
        """Prepare the sums (probes, T) of probes (probes, rows) over the rows that fire.

        None without a compiled loop for it.
        """
        loops = self._loops
        if loops is None:
            return None
        count = len(limits)
        tables, needed = self._four_tables(), np.zeros(_padded(count), self.tables[0].dtype)
        needed[:count] = self._needed(limits)

        def on(rows: slice, probes: NDArray[np.float64]) -> NDArray[np.float64]:
            out = np.zeros((len(probes), len(needed)))
            probes = np.ascontiguousarray(probes)
            loops.fired_dots(
                tables, self._columns.start, self._four_levels(rows), needed, probes, out
            )
            return out[:, :count]

        return on

    def outputs(
        self, which: NDArray[np.intp], limits: NDArray[np.int64], least: float
    ) -> Callable[[slice, NDArray[np.float64]], None]:
        """Prepare to write some candidates' outputs (them, rows): 1 where they fire, or ``least``.

        ``limits`` are theirs.
        """
        loops = self._loops
        if loops is None:
            fires = self.subset(which).fires(limits)
            return lambda rows, out: np.copyto(out, np.where(fires(rows).T, 1.0, least))
        tables, needed = self._four_tables(), self._needed(limits)
        columns = self._columns.start + which

        def on(rows: slice, out: NDArray[np.float64]) -> None:
            levels = self._four_levels(rows)
            for column, most, own in zip(columns.tolist(), needed.tolist(), out, strict=True):
                loops.outputs(tables, column, levels, most, least, own)

        return on

    @property
    def _loops(self) -> kernels.Loops | None:
        return kernels.loops if len(self.tables) <= MOST_TABLES else None

    def _four_tables(self) -> tuple[NDArray, ...]:
        """The tables and, where they are fewer, tables of nothing, as the compiled loops want."""
        missing = MOST_TABLES - len(self.tables)
        if not missing:
            return tuple(self.tables)
        return (*self.tables, *[np.zeros_like(self.tables[0][:1])] * missing)

    def _four_levels(self, rows: slice) -> tuple[NDArray[np.uint16], ...]:
        found = tuple(levels[rows] for levels in self.levels)
        missing = MOST_TABLES - len(found)
        if not missing:
            return found
        return (*found, *[np.zeros(rows.stop - rows.start, dtype=np.uint16)] * missing)

    def _needed(self, limits: NDArray[np.int64]) -> NDArray:
        return matches_needed(limits, self.inputs, self.inputs).astype(self.tables[0].dtype)


def _padded(candidates: int) -> int:
    return -(-candidates // MULTIPLE) * MULTIPLE


def matches_needed(
    limits: NDArray[np.int64], seen: NDArray[np.integer] | int, inputs: int
) -> NDArray[np.int64]:
    """How many of the bits ``seen`` must match for a sum of at least ``limits``."""
    # A sum is 2 matches - seen, hence matches >= (limit + seen) / 2, rounded up. 0 always fires,
    # and inputs + 1 never does.
    return np.minimum(np.maximum((limits + seen + 1) // 2, 0), inputs + 1)


def at_least(
    needed: NDArray,
) -> Callable[[NDArray, NDArray[np.bool_]], NDArray[np.bool_]]:
    """Prepare ``found >= needed`` (rows, T), written to an array.

    Several rows are compared at a time: short loops cost more than they do.
    """
    tiled = np.tile(needed, TILE)

    def on(found: NDArray, out: NDArray[np.bool_]) -> NDArray[np.bool_]:
        whole = len(found) - len(found) % TILE
        shape = (-1, len(tiled))
        np.greater_equal(found[:whole].reshape(shape), tiled, out=out[:whole].reshape(shape))
        np.greater_equal(found[whole:], needed, out=out[whole:])
        return out

    return on
