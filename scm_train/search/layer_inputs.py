"""What the nodes of a layer see: real inputs, coded inputs, or the nodes of the layer before.

All three answer the same question, ``W H`` for many candidates on a chunk of rows, each in the way
that suits its structure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.chunks import Scratch, row_chunks
from scm_train.encode.rows import CHUNK, Rows
from scm_train.search.joint_levels import features_of, level_blocks, level_counts, occurring
from scm_train.search.level_tables import LevelTables, at_least, matches_needed
from scm_train.search.node_store import NodeStore
from scm_train.solve import packed

__all__ = [
    "DirectInputs",
    "LayerInputs",
    "LevelInputs",
    "NodeInputs",
    "exact_in_float32",
    "first_inputs",
]

#: Scaled inputs are kept up to this many numbers in each precision; beyond it, every chunk is
#: computed anew.
CACHE_ENTRIES = 64 << 20
#: Features are tabulated together up to this number of joint levels: a table of so many entries for
#: a hundred candidates still fits a core's own cache.
JOINT_LEVELS = 1024
#: A feature of more levels than this is cheaper to encode than to tabulate.
MOST_LEVELS = 4096
#: Whole numbers up to this are exact in float32, and so are sums of two of them.
FLOAT32_WHOLE = 1 << 23
#: Candidates that see a smaller share of the inputs are cheaper to add up one by one.
FEW_INPUTS = 1 / 32
#: Likewise where they are added up and packed in one go.
PACKED_INPUTS = 1 / 4

#: ``H W^T + b`` (rows in the slice, candidates) of some candidates, as a function of the rows. The
#: array is the caller's until the next call in the same thread, in either memory order.
Sums = Callable[[slice], NDArray]
#: Whether each candidate fires on each row, likewise.
Fires = Callable[[slice], NDArray[np.bool_]]
#: The same, written to words (candidates, words) as in :mod:`scm_train.solve.packed`.
Packs = Callable[[slice, NDArray[np.uint64]], None]


class LayerInputs(Protocol):
    """The inputs of a layer on a set of rows."""

    #: Group (feature, or node of the layer before) of every input.
    groups: NDArray[np.integer]
    #: Inputs are whole multiples of its inverse, with 1 for bits and 0 for none.
    unit: int

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        """Prepare ``H W^T + b`` of ``weights`` (candidates, inputs) and ``biases`` (candidates,).

        ``dtype`` is float32 or float64.
        """

    def fires(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Fires:
        """Prepare ``H W^T >= limits / unit`` of signs and whole limits, of sums that are exact."""

    def packs(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Packs | None:
        """Prepare likewise; None where :meth:`fires` is faster: candidates see many inputs."""

    def tables(self, weights: NDArray[np.int8]) -> LevelTables | None:
        """Tables of several draws (draws, candidates, inputs) of signs, where those serve.

        They hold until the next ones are made.
        """

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        """The inputs (len(indices), inputs) on chosen rows."""


def exact_in_float32(inputs: LayerInputs | _ChunkCache, weights: NDArray) -> bool:
    """Whether sums of inputs with these weights are exact in float32, whatever their order."""
    most = weights.shape[1] * inputs.unit
    return weights.dtype == np.int8 and 0 < most < FLOAT32_WHOLE


class _ChunkCache:
    """A matrix by chunks of rows, kept where it is small and computed anew where it is not.

    In float32 it has one more column, of ones, so that a product adds the biases as well; in
    float64 the sum is taken first and the bias added last, as the machine does it.
    """

    def __init__(
        self, chunk: Callable[[slice, DTypeLike], NDArray], rows: int, columns: int, unit: int
    ):
        self._chunk = chunk
        self.unit = unit
        self._scratch = Scratch()
        self._kept: dict[type, NDArray] = {}
        for dtype, height in ((np.float32, columns + 1), (np.float64, columns)):
            if rows * height <= CACHE_ENTRIES:
                self._kept[dtype] = kept = np.ones((height, rows), dtype=dtype)
                for part in row_chunks(rows, CHUNK):
                    kept[:columns, part] = chunk(part, dtype).T

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        if np.dtype(dtype) == np.float64:
            return self._precise(weights.astype(np.float64), biases[:, None])
        if exact_in_float32(self, weights):
            seen = np.count_nonzero(weights, axis=1).max(initial=0)
            if seen < FEW_INPUTS * weights.shape[1]:
                return self._few(weights, biases.astype(np.float32))
        extended = np.column_stack([weights, biases]).astype(np.float32)

        def on(rows: slice) -> NDArray[np.float32]:
            out = self._scratch("sums", (len(weights), rows.stop - rows.start), np.float32)
            return np.matmul(extended, self._columns_and_ones(rows), out=out).T

        return on

    def _precise(self, weights: NDArray[np.float64], biases: NDArray[np.float64]) -> Sums:
        seen: slice | NDArray[np.intp] = np.flatnonzero(weights.any(axis=0))
        # Without a unit, sums round, and must be taken as the machine takes them.
        if not self.unit or 2 * len(seen) > weights.shape[1]:
            seen = slice(None)
        weights = weights[:, seen]

        def on(rows: slice) -> NDArray[np.float64]:
            shape = len(weights), rows.stop - rows.start
            out = self._scratch("precise sums", shape, np.float64)
            np.matmul(weights, self._columns(rows)[seen], out=out)
            out += biases
            return out.T

        return on

    def _few(self, weights: NDArray[np.int8], biases: NDArray[np.float32]) -> Sums:
        """Likewise, where candidates see few inputs; exact sums are the same in any order."""
        seen = [np.flatnonzero(own) for own in weights]
        signs = [own[which].astype(np.float32) for own, which in zip(weights, seen, strict=True)]

        def on(rows: slice) -> NDArray[np.float32]:
            out = self._scratch("sums", (len(weights), rows.stop - rows.start), np.float32)
            columns = self._columns_and_ones(rows)
            for own, which, total in zip(signs, seen, out, strict=True):
                np.matmul(own, columns[which], out=total)
            out += biases[:, None]
            return out.T

        return on

    def fires(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Fires:
        # Exact: the unit is a power of two, and limits are within the range of whole sums.
        sums = self.sums(weights, -limits / self.unit, np.float32)
        return lambda rows: sums(rows) >= 0

    def packs(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Packs | None:
        seen = np.count_nonzero(weights, axis=1)
        if seen.sum() > PACKED_INPUTS * weights.size:
            return None
        starts = np.concatenate([[0], np.cumsum(seen)])
        candidates, which = np.nonzero(weights)
        signs = weights[candidates, which].astype(np.float32)
        least = (limits / self.unit).astype(np.float32)

        def on(rows: slice, out: NDArray[np.uint64]) -> None:
            columns = self._kept.get(np.float32)
            if columns is None:
                columns, rows = self._columns_and_ones(rows), slice(0, rows.stop - rows.start)
            packed.fire_by_columns(columns, rows, starts, which, signs, least, out)

        return on

    def _columns(self, rows: slice) -> NDArray[np.float64]:
        if np.float64 in self._kept:
            return self._kept[np.float64][:, rows]
        return self._chunk(rows, np.float64).T

    def _columns_and_ones(self, rows: slice) -> NDArray[np.float32]:
        if np.float32 in self._kept:
            return self._kept[np.float32][:, rows]
        chunk = self._chunk(rows, np.float32).T
        return np.concatenate([chunk, np.ones((1, chunk.shape[1]), dtype=np.float32)])


class _MatrixInputs:
    """Inputs that are added up as a matrix, whatever they stand for."""

    def __init__(self, chunks: _ChunkCache):
        self._chunks = chunks
        self.unit = chunks.unit

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        return self._chunks.sums(weights, biases, dtype)

    def fires(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Fires:
        return self._chunks.fires(weights, limits)

    def packs(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Packs | None:
        return self._chunks.packs(weights, limits)

    def tables(self, weights: NDArray[np.int8]) -> None:
        return None


class DirectInputs(_MatrixInputs):
    """``H_0`` as a matrix."""

    def __init__(self, rows: Rows):
        self.rows = rows
        coded = rows.encoder is not None and rows.encoder.coded
        self.groups = rows.encoder.groups if coded else np.arange(rows.features)
        unit = 0 if rows.encoder is None else rows.encoder.unit
        super().__init__(_ChunkCache(rows.encoded, len(rows), len(self.groups), unit))

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        return self.rows.encoded(indices, np.float64)


class NodeInputs(_MatrixInputs):
    """The nodes of the layer before."""

    def __init__(self, store: NodeStore):
        self.store = store
        self.groups = np.arange(len(store))
        unit = int(store.activation in HARDWARE_ACTIVATIONS)
        super().__init__(_ChunkCache(store.chunk, store.rows, len(store), unit))

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        return self.store.take(indices)


@dataclass(frozen=True, eq=False)
class _Share:
    """What a block of features adds to the sums of all candidates, or of some: one entry a row."""

    levels: NDArray[np.uint16]
    table: NDArray
    candidates: NDArray[np.intp] | None = None

    def of(self, rows: slice, out: NDArray | None = None) -> NDArray:
        # Levels are in range by construction; this mode spares the check of each.
        return self.table.take(self.levels[rows], axis=0, mode="wrap", out=out)


class LevelInputs:
    """Coded inputs by their levels: a feature's share of a sum is a function of its level alone.

    Rows keep one small integer per block of features, their joint level. The sum of a node is then
    one table entry per block, and the tables are shared by all rows.
    """

    unit = 1

    def __init__(self, rows: Rows):
        assert rows.encoder is not None
        self.groups = rows.encoder.groups
        self._scratch, self._tables = Scratch(), Scratch()
        self._starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        features = features_of(rows.encoder)
        levels = np.empty((len(features), len(rows)), dtype=np.uint16)
        for chunk in row_chunks(len(rows), CHUNK):
            codes = rows.encoder.codes(rows.unit(chunk))
            for feature, own in zip(features, levels, strict=True):
                own[chunk] = feature.levels(codes)
        features = [occurring(f, own) for f, own in zip(features, levels, strict=True)]
        self._features, self._levels = features, levels
        self._blocks = level_blocks(features, levels, min(JOINT_LEVELS, len(rows) // 4))

    def tables(self, weights: NDArray[np.int8]) -> LevelTables | None:
        return LevelTables.of(weights, self._blocks, self._tables) if weights.all() else None

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        return self._totals(weights, biases, np.dtype(dtype))

    def fires(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Fires:
        if weights.all():
            return LevelTables.of(weights, self._blocks, Scratch()).fires(limits)
        count = weights.shape[1]
        seen = np.count_nonzero(weights, axis=1)
        # A feature's share is a difference, and may be negative; the total of all shares and of
        # negative weights is a count, and right modulo the range of its type, too.
        negative = (seen - weights.sum(axis=1, dtype=np.int64)) // 2
        dtype = np.min_scalar_type(count + 1)
        matches = self._totals(weights, negative, dtype)
        fire = at_least(matches_needed(limits, seen, count).astype(dtype))

        def on(rows: slice) -> NDArray[np.bool_]:
            found = matches(rows)
            return fire(found, self._scratch("fires", found.shape, np.bool_))

        return on

    def packs(self, weights: NDArray[np.int8], limits: NDArray[np.int64]) -> Packs | None:
        seen = np.logical_or.reduceat(weights != 0, self._starts, axis=1)
        if seen.all():
            return None
        candidates, which = np.nonzero(seen)
        starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        tables = np.zeros((len(which), max(len(f.bits) for f in self._features)), dtype=np.float32)
        exact = weights.astype(np.float32)
        for number, feature in enumerate(self._features):
            own = np.flatnonzero(which == number)
            shares = feature.shares(exact[candidates[own]], tables.dtype)
            tables[own, : len(shares)] = shares.T
        least = limits.astype(np.float32)
        return lambda rows, out: packed.fire_by_levels(
            self._levels, rows, starts, which, tables, least, out
        )

    def _totals(self, weights: NDArray, offsets: NDArray, dtype: np.dtype) -> Sums:
        """``offsets`` and the shares of all features: of signed bits for floats, else of bits."""
        shares = self._shares(weights, dtype)
        dense = [share for share in shares if share.candidates is None]
        sparse = [share for share in shares if share.candidates is not None]
        offsets = offsets.astype(dtype)
        if dense:
            # Into the first table once, and not into the total of every row.
            dense[0].table[:] += offsets

        def on(rows: slice) -> NDArray:
            shape = (rows.stop - rows.start, len(weights))
            total = self._scratch("total", shape, dtype)
            if dense:
                dense[0].of(rows, out=total)
            else:
                total[:] = offsets
            for share in dense[1:]:
                total += share.of(rows, out=self._scratch("share", shape, dtype))
            for share in sparse:
                total[:, share.candidates] += share.of(rows)
            return total

        return on

    def _shares(self, weights: NDArray, dtype: np.dtype) -> list[_Share]:
        """The tables of all blocks, but of those that no candidate sees."""
        seen = None
        if not weights.all():
            seen = np.logical_or.reduceat(weights != 0, self._starts, axis=1)
        exact = weights.astype(np.float64 if dtype == np.float64 else np.float32)
        found = []
        for block, levels in self._blocks:
            some = None if seen is None else _few(seen[:, block.numbers].any(axis=1))
            if some is None:
                found.append(_Share(levels, block.shares(exact, dtype)))
            elif len(some):
                found.append(_Share(levels, block.shares(exact[some], dtype), some))
        return found

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        h = np.empty((len(indices), len(self.groups)), dtype=np.float32)
        for block, levels in self._blocks:
            block.write_bits(levels[indices], h)
        return h.astype(np.float64)


def first_inputs(rows: Rows) -> LayerInputs:
    """The inputs of the first layer in the form that suits the encoder."""
    encoder = rows.encoder
    if encoder is None or not encoder.coded or max(level_counts(encoder)) > MOST_LEVELS:
        return DirectInputs(rows)
    return LevelInputs(rows)


def _few(seeing: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """The candidates that see a block; None where taking all of them is cheaper.

    Adding to scattered columns costs several times as much as adding to all of them.
    """
    some = np.flatnonzero(seeing)
    return some if 4 * len(some) < len(seeing) else None
