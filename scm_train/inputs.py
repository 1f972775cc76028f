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
from scm_train.chunks import row_chunks
from scm_train.encoders import Encoder
from scm_train.nodes import NodeStore
from scm_train.scaling import to_unit

__all__ = ["DirectInputs", "LayerInputs", "LevelInputs", "NodeInputs", "Rows", "first_inputs"]

#: Rows that are encoded or scaled at a time.
CHUNK = 65536
#: Scaled inputs are kept up to this size, and computed anew for every chunk beyond it.
CACHE_BYTES = 128 << 20
#: Features are tabulated together up to this number of joint levels: a table of so many entries for
#: a hundred candidates still fits a core's own cache.
JOINT_LEVELS = 1024
#: A feature of more levels than this is cheaper to encode than to tabulate.
MOST_LEVELS = 4096

#: ``H W^T`` (rows in the slice, candidates) of some candidates, as a function of the rows.
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

    def sums(self, weights: NDArray, dtype: DTypeLike) -> Sums:
        """Prepare ``H W^T`` of ``weights`` (candidates, inputs), no less exact than ``dtype``."""

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        """The inputs (len(indices), inputs) on chosen rows."""


class DirectInputs:
    """``H_0`` as a matrix, kept where it is small and computed chunk by chunk where it is not."""

    def __init__(self, rows: Rows):
        self.rows = rows
        coded = rows.encoder is not None and rows.encoder.coded
        self.groups = rows.encoder.groups if coded else np.arange(rows.x.shape[1])
        self.integer = coded
        self._kept: dict[np.dtype, NDArray] = {}
        if len(rows) * len(self.groups) * 8 <= CACHE_BYTES:
            exact = rows.encoded(slice(0, len(rows)), np.float64)
            self._kept = {exact.dtype: exact, np.dtype(np.float32): exact.astype(np.float32)}

    def sums(self, weights: NDArray, dtype: DTypeLike) -> Sums:
        dtype = _floating(dtype)
        columns = np.ascontiguousarray(weights.T, dtype=dtype)
        if dtype in self._kept:
            kept = self._kept[dtype]
            return lambda rows: kept[rows] @ columns
        return lambda rows: self.rows.encoded(rows, dtype) @ columns

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        return self.rows.encoded(indices, np.float64)


class NodeInputs:
    """The nodes of the layer before."""

    def __init__(self, store: NodeStore):
        self.store = store
        self.groups = np.arange(len(store))
        self.integer = store.activation in HARDWARE_ACTIVATIONS

    def sums(self, weights: NDArray, dtype: DTypeLike) -> Sums:
        dtype = _floating(dtype)
        columns = np.ascontiguousarray(weights.T, dtype=dtype)
        return lambda rows: self.store.chunk(rows, dtype) @ columns

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
        self.rows = rows
        self.groups = rows.encoder.groups
        self._blocks = _level_blocks(rows.encoder, min(JOINT_LEVELS, max(2, len(rows) // 4)))
        self._levels = np.empty((len(self._blocks), len(rows)), dtype=np.uint16)
        for chunk in row_chunks(len(rows), CHUNK):
            codes = rows.encoder.codes(rows.unit(chunk))
            for levels, block in zip(self._levels, self._blocks, strict=True):
                levels[chunk] = block.levels(codes)

    def sums(self, weights: NDArray, dtype: DTypeLike) -> Sums:
        weights = np.asarray(weights)
        shares = [block.shares(weights, dtype) for block in self._blocks]

        def on(rows: slice) -> NDArray:
            total = np.zeros((rows.stop - rows.start, len(weights)), dtype=dtype)
            for levels, (candidates, table) in zip(self._levels, shares, strict=True):
                if candidates is None:
                    total += table.take(levels[rows], axis=0)
                elif len(candidates):
                    total[:, candidates] += table.take(levels[rows], axis=0)
            return total

        return on

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        return self.rows.encoded(indices, np.float64)


@dataclass(frozen=True)
class _LevelBlock:
    """Features tabulated together: ``patterns`` (joint levels, inputs) are +-1."""

    features: tuple[int, ...]
    counts: tuple[int, ...]
    inputs: slice
    patterns: NDArray[np.float32]
    feature_levels: Callable[[int, NDArray], NDArray]

    def levels(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """The joint level of each row of codes."""
        joint = np.zeros(len(codes), dtype=np.int64)
        for feature, count in zip(self.features, self.counts, strict=True):
            joint *= count
            joint += self.feature_levels(feature, codes[:, feature])
        return joint

    def shares(self, weights: NDArray, dtype: DTypeLike) -> tuple[NDArray[np.intp] | None, NDArray]:
        """The candidates that see this block (None: take all) and their table (levels, them)."""
        own = weights[:, self.inputs]
        seen = np.flatnonzero(own.any(axis=1))
        # Adding to scattered columns costs several times as much as adding to all of them.
        candidates = seen if 4 * len(seen) < len(weights) else None
        own = own if candidates is None else own[candidates]
        exact = np.float64 if dtype == np.float64 else np.float32
        return candidates, (self.patterns.astype(exact) @ own.T.astype(exact)).astype(dtype)


def first_inputs(rows: Rows) -> LayerInputs:
    """The inputs of the first layer in the form that suits the encoder."""
    encoder = rows.encoder
    if encoder is None or not encoder.coded or max(_level_counts(encoder)) > MOST_LEVELS:
        return DirectInputs(rows)
    return LevelInputs(rows)


def _floating(dtype: DTypeLike) -> np.dtype:
    """``dtype`` itself, or float32 for integers: sums of signed bits are exact in either."""
    return np.dtype(dtype) if np.issubdtype(dtype, np.floating) else np.dtype(np.float32)


def _level_counts(encoder: Encoder) -> list[int]:
    if encoder.kind == "thermometer":
        return [bits + 1 for bits in encoder.bits]
    return [2**bits for bits in encoder.bits]


def _level_codes(encoder: Encoder, feature: int) -> NDArray[np.int64]:
    """One code of every level of a feature, in the order of the levels."""
    if encoder.kind == "thermometer":
        return np.concatenate([[0], encoder.thresholds[feature]]).astype(np.int64)
    assert encoder.input_bits is not None
    bits = encoder.bits[feature]
    return np.arange(2**bits, dtype=np.int64) << (encoder.input_bits - bits)


def _level_blocks(encoder: Encoder, most: int) -> list[_LevelBlock]:
    """Join neighbouring features while their joint levels stay at ``most`` or below."""

    def levels(feature: int, codes: NDArray) -> NDArray:
        return np.searchsorted(_level_codes(encoder, feature), codes, side="right") - 1

    counts = _level_counts(encoder)
    runs: list[list[int]] = []
    for feature, count in enumerate(counts):
        if runs and np.prod([counts[f] for f in runs[-1]]) * count <= most:
            runs[-1].append(feature)
        else:
            runs.append([feature])
    starts = np.concatenate([[0], np.cumsum(encoder.bits)])
    return [
        _LevelBlock(
            tuple(run),
            tuple(counts[f] for f in run),
            slice(int(starts[run[0]]), int(starts[run[-1] + 1])),
            _patterns(encoder, run),
            levels,
        )
        for run in runs
    ]


def _patterns(encoder: Encoder, run: list[int]) -> NDArray[np.float32]:
    """The coded bits (+-1) of a run of features at every joint level, last feature fastest."""
    mesh = np.meshgrid(*(_level_codes(encoder, f) for f in run), indexing="ij")
    codes = np.zeros((mesh[0].size, encoder.n_features), dtype=np.int64)
    for feature, values in zip(run, mesh, strict=True):
        codes[:, feature] = values.ravel()
    columns = np.isin(encoder.groups, run)
    return encoder.encode_codes(codes, np.float32)[:, columns]
