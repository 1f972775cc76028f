"""What the nodes of a layer see: real inputs, coded inputs, or the nodes of the layer before.

All three answer the same question, ``W H`` for many candidates on a chunk of rows, each in the way
that suits its structure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.chunks import row_chunks
from scm_train.encoders import Encoder
from scm_train.nodes import NodeStore
from scm_train.scaling import to_unit

__all__ = ["DirectInputs", "LayerInputs", "LevelInputs", "NodeInputs", "Rows", "first_inputs"]

#: Rows that are encoded or scaled at a time.
CHUNK = 65536
#: Scaled inputs are kept up to this size in either precision, and computed anew for every chunk
#: beyond it.
CACHE_BYTES = 512 << 20
#: Features are tabulated together up to this number of joint levels: a table of so many entries for
#: a hundred candidates still fits a core's own cache.
JOINT_LEVELS = 1024
#: A feature of more levels than this is cheaper to encode than to tabulate.
MOST_LEVELS = 4096

#: ``H W^T + b`` (rows in the slice, candidates) of some candidates, as a function of the rows. The
#: array belongs to the caller, in whichever memory order suited its making.
Sums = Callable[[slice], NDArray]


class Rows:
    """Raw inputs with their scaling and quantisation, chunk by chunk."""

    def __init__(self, x: NDArray, low: NDArray, high: NDArray, encoder: Encoder | None = None):
        self.x, self.low, self.high, self.encoder = x, low, high, encoder

    def __len__(self) -> int:
        return len(self.x)

    def unit(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Inputs scaled to [0, 1] by the training range."""
        return to_unit(self.x[rows], self.low, self.high)

    def seen(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Inputs as all parts of the machine see them: quantised where there is an encoder."""
        unit = self.unit(rows)
        return unit if self.encoder is None else self.encoder.quantised(unit)

    def encoded(self, rows: slice | NDArray, dtype: DTypeLike) -> NDArray:
        """``H_0``, the inputs of the first layer."""
        unit = self.unit(rows)
        return unit.astype(dtype) if self.encoder is None else self.encoder.encode(unit, dtype)


class LayerInputs(Protocol):
    """The inputs of a layer on a set of rows."""

    #: Group (feature, or node of the layer before) of every input.
    groups: NDArray[np.integer]
    #: Whether every input is an integer, so that sums of signed inputs are exact in float32.
    integer: bool

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        """Prepare ``H W^T + b`` of ``weights`` (candidates, inputs) and ``biases`` (candidates,).

        It is no less exact than ``dtype``; a whole-number ``dtype`` needs whole numbers throughout.
        """

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        """The inputs (len(indices), inputs) on chosen rows."""


class _ChunkCache:
    """A matrix by chunks of rows, kept where it is small and computed anew where it is not.

    In float32 it has one more column, of ones, so that a product adds the biases as well; in
    float64 the sum is taken first and the bias added last, as the machine does it.
    """

    def __init__(self, chunk: Callable[[slice, DTypeLike], NDArray], rows: int, columns: int):
        self._chunk = chunk
        self._kept: dict[type, NDArray] = {}
        for dtype, height in ((np.float32, columns + 1), (np.float64, columns)):
            if rows * height * np.dtype(dtype).itemsize <= CACHE_BYTES:
                self._kept[dtype] = kept = np.ones((height, rows), dtype=dtype)
                for part in row_chunks(rows, CHUNK):
                    kept[:columns, part] = chunk(part, dtype).T

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        if np.dtype(dtype) == np.float64:
            exact = weights.astype(np.float64)
            return lambda rows: (exact @ self._columns(rows) + biases[:, None]).T
        # Sums of signed bits are exact in float32, too.
        signs = np.column_stack([weights, biases]).astype(np.float32)
        return lambda rows: (signs @ self._columns_and_ones(rows)).T

    def _columns(self, rows: slice) -> NDArray[np.float64]:
        if np.float64 in self._kept:
            return self._kept[np.float64][:, rows]
        return self._chunk(rows, np.float64).T

    def _columns_and_ones(self, rows: slice) -> NDArray[np.float32]:
        if np.float32 in self._kept:
            return self._kept[np.float32][:, rows]
        chunk = self._chunk(rows, np.float32).T
        return np.concatenate([chunk, np.ones((1, chunk.shape[1]), dtype=np.float32)])


class DirectInputs:
    """``H_0`` as a matrix."""

    def __init__(self, rows: Rows):
        self.rows = rows
        coded = rows.encoder is not None and rows.encoder.coded
        self.groups = rows.encoder.groups if coded else np.arange(rows.x.shape[1])
        self.integer = coded
        self._chunks = _ChunkCache(rows.encoded, len(rows), len(self.groups))

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        return self._chunks.sums(weights, biases, dtype)

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        return self.rows.encoded(indices, np.float64)


class NodeInputs:
    """The nodes of the layer before."""

    def __init__(self, store: NodeStore):
        self.store = store
        self.groups = np.arange(len(store))
        self.integer = store.activation in HARDWARE_ACTIVATIONS
        self._chunks = _ChunkCache(store.chunk, store.rows, len(store))

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        return self._chunks.sums(weights, biases, dtype)

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        return self.store.take(indices)


class LevelInputs:
    """Coded inputs by their levels: a feature's share of a sum is a function of its level alone.

    Rows keep one small integer per block of features, their joint level. The sum of a node is then
    one table entry per block, and the tables are shared by all rows.
    """

    integer = True

    def __init__(self, rows: Rows):
        assert rows.encoder is not None
        self.groups = rows.encoder.groups
        self._starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        features = _features(rows.encoder)
        levels = np.empty((len(features), len(rows)), dtype=np.uint16)
        for chunk in row_chunks(len(rows), CHUNK):
            codes = rows.encoder.codes(rows.unit(chunk))
            for feature, own in zip(features, levels, strict=True):
                own[chunk] = feature.levels(codes)
        features = [_occurring(f, own) for f, own in zip(features, levels, strict=True)]
        self._blocks = _level_blocks(features, min(JOINT_LEVELS, len(rows) // 4))
        self._levels = [block.join(levels) for block in self._blocks]

    def sums(self, weights: NDArray, biases: NDArray, dtype: DTypeLike) -> Sums:
        seen = None
        if not weights.all():
            seen = np.logical_or.reduceat(weights != 0, self._starts, axis=1)
        exact = weights.astype(np.float64 if dtype == np.float64 else np.float32)
        offsets = biases.astype(dtype)
        dense, sparse = [], []
        for levels, block in zip(self._levels, self._blocks, strict=True):
            candidates, table = block.shares(exact, seen, dtype)
            if candidates is None:
                dense.append((levels, table))
            elif len(candidates):
                sparse.append((levels, candidates, table))
        if dense:
            dense[0][1][:] += offsets

        def on(rows: slice) -> NDArray:
            # Levels are in range by construction; this mode spares the check of each.
            parts = (table.take(levels[rows], axis=0, mode="wrap") for levels, table in dense)
            total = next(parts, None)
            if total is None:
                total = np.repeat(offsets[None], rows.stop - rows.start, axis=0)
            for part in parts:
                total += part
            for levels, candidates, table in sparse:
                total[:, candidates] += table.take(levels[rows], axis=0, mode="wrap")
            return total

        return on

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        h = np.empty((len(indices), len(self.groups)))
        for levels, block in zip(self._levels, self._blocks, strict=True):
            block.write_bits(levels[indices], h)
        return h


@dataclass(frozen=True)
class _Feature:
    """A coded feature: the least code of each level, its bits (levels, bits) as +-1, its inputs."""

    number: int
    codes: NDArray[np.int64]
    bits: NDArray[np.float32]
    inputs: slice

    def levels(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.searchsorted(self.codes, codes[:, self.number], side="right") - 1


@dataclass(frozen=True)
class _LevelBlock:
    """Features tabulated together; in a joint level the last feature runs fastest."""

    features: tuple[_Feature, ...]

    def join(self, levels: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """The joint level of each row from the levels (features, rows) of all features."""
        joint = np.zeros(levels.shape[1], dtype=np.uint16)
        for feature in self.features:
            joint *= np.uint16(len(feature.bits))
            joint += levels[feature.number]
        return joint

    def write_bits(self, joint: NDArray[np.uint16], h: NDArray[np.float64]) -> None:
        """Write the coded bits at joint levels to their columns of ``h``."""
        for feature in reversed(self.features):
            joint, level = np.divmod(joint, np.uint16(len(feature.bits)))
            h[:, feature.inputs] = feature.bits[level]

    def shares(
        self, weights: NDArray, seen: NDArray[np.bool_] | None, dtype: DTypeLike
    ) -> tuple[NDArray[np.intp] | None, NDArray]:
        """The candidates that see this block (None: take all) and their table (levels, them).

        ``seen`` (candidates, features) says who sees what, None meaning everything.
        """
        candidates = None
        if seen is not None:
            some = np.flatnonzero(seen[:, [f.number for f in self.features]].any(axis=1))
            # Adding to scattered columns costs several times as much as adding to all of them.
            if 4 * len(some) < len(weights):
                candidates, weights = some, weights[some]
        table = np.zeros((1, len(weights)), dtype=dtype)
        for feature in self.features:
            own = (feature.bits @ weights[:, feature.inputs].T).astype(dtype, copy=False)
            joint = own if len(self.features) == 1 else table[:, None, :] + own
            table = joint.reshape(len(table) * len(own), len(weights))
        return candidates, table


def first_inputs(rows: Rows) -> LayerInputs:
    """The inputs of the first layer in the form that suits the encoder."""
    encoder = rows.encoder
    if encoder is None or not encoder.coded or max(_level_counts(encoder)) > MOST_LEVELS:
        return DirectInputs(rows)
    return LevelInputs(rows)


def _level_counts(encoder: Encoder) -> list[int]:
    if encoder.kind == "thermometer":
        return [bits + 1 for bits in encoder.bits]
    return [2**bits for bits in encoder.bits]


def _occurring(feature: _Feature, levels: NDArray[np.uint16]) -> _Feature:
    """Keep the levels that occur, and renumber ``levels`` (rows,) accordingly, in place."""
    occurs = np.bincount(levels, minlength=len(feature.bits)) > 0
    levels[:] = (np.cumsum(occurs) - 1).astype(np.uint16)[levels]
    return replace(feature, codes=feature.codes[occurs], bits=feature.bits[occurs])


def _level_blocks(features: list[_Feature], most: int) -> list[_LevelBlock]:
    """Join features, those of few levels first, while joint levels stay at ``most`` or below."""
    blocks: list[list[_Feature]] = []
    joint = 0
    for feature in sorted(features, key=lambda f: len(f.bits)):
        joint *= len(feature.bits)
        if blocks and joint <= most:
            blocks[-1].append(feature)
        else:
            blocks.append([feature])
            joint = len(feature.bits)
    return [_LevelBlock(tuple(block)) for block in blocks]


def _features(encoder: Encoder) -> list[_Feature]:
    starts = np.concatenate([[0], np.cumsum(encoder.bits)])
    features = []
    for number, (start, stop) in enumerate(pairwise(starts.tolist())):
        codes = _level_codes(encoder, number)
        rows = np.zeros((len(codes), encoder.n_features), dtype=np.int64)
        rows[:, number] = codes
        bits = encoder.encode_codes(rows, np.float32)[:, start:stop]
        features.append(_Feature(number, codes, bits, slice(start, stop)))
    return features


def _level_codes(encoder: Encoder, feature: int) -> NDArray[np.int64]:
    """The least code of every level of a feature."""
    if encoder.kind == "thermometer":
        return np.concatenate([[0], encoder.thresholds[feature]]).astype(np.int64)
    assert encoder.input_bits is not None
    bits = encoder.bits[feature]
    return np.arange(2**bits, dtype=np.int64) << (encoder.input_bits - bits)
