"""Levels of coded features, and tables of what they add to a node's sum.

A feature's coded bits are a function of its level, and so is its share of a sum. Features are
tabulated in blocks, by those combinations of their levels that occur: related features have few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from scm_model import Encoder
from scm_train.chunks import Scratch
from scm_train.search import kernels

__all__ = [
    "Feature",
    "LevelBlock",
    "features_of",
    "level_blocks",
    "level_counts",
    "occurring",
]

#: With more features than this only those next to each other by their number of levels are joined.
MOST_PAIRED = 16
#: Which blocks to join is judged on this many rows, evenly spread.
JUDGED_ROWS = 1 << 14
#: With more joint levels than this, sorting is faster than counting.
MOST_COUNTED = 1 << 18


@dataclass(frozen=True, eq=False)
class Feature:
    """A coded feature: the least code of each level, its bits (levels, bits) as +-1, its inputs."""

    number: int
    codes: NDArray[np.int64]
    bits: NDArray[np.float32]
    inputs: slice

    @cached_property
    def ones(self) -> NDArray[np.float32]:
        """The bits as 1 and 0."""
        return (self.bits > 0).astype(np.float32)

    @cached_property
    def _halves(self) -> NDArray[np.float32]:
        return np.float32(0.5) * self.bits

    def shares(self, weights: NDArray, dtype: np.dtype) -> NDArray:
        """The tables (..., levels, candidates) of weights (..., candidates, inputs)."""
        own = np.swapaxes(weights[..., self.inputs], -1, -2)
        if dtype.kind == "f":
            return self.bits @ own
        # Only between whole numbers does a cast wrap around.
        return (self.ones @ own).astype(np.int16).astype(dtype)

    def matches(self, signs: NDArray, dtype: np.dtype) -> NDArray:
        """The numbers of bits (levels, candidates) that match ``signs`` (inputs, candidates).

        These are int8 for the compiled loop, and float32 for a matrix product.
        """
        own = signs[self.inputs]
        if signs.dtype == np.int8:
            assert kernels.loops is not None
            table = np.empty((len(self.bits), own.shape[1]), dtype=dtype)
            kernels.loops.matches(own, *self._steps, table)
            return table
        # A product of signs is 1 for a match and -1 else: matches are half of their sum and number.
        surplus = self._halves @ own
        surplus += 0.5 * self.bits.shape[1]
        return surplus.astype(dtype)

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int8], NDArray[np.uint32], NDArray[np.int8]]:
        """From level to level one bit at a time, as the compiled loop takes it."""
        bits = self.bits.astype(np.int8)
        level, which = np.nonzero(bits[1:] != bits[:-1])
        again = np.diff(level, prepend=-1) == 0
        steps = np.column_stack([level + again, level + 1, which]).astype(np.uint32)
        return bits[0], steps, bits[level + 1, which]

    def levels(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.searchsorted(self.codes, codes[:, self.number], side="right") - 1


@dataclass(frozen=True, eq=False)
class LevelBlock:
    """Features tabulated together: one feature, or two blocks by their joint levels.

    ``parts`` has each block of a pair with its own level in every joint level.
    """

    features: tuple[Feature, ...]
    size: int
    parts: tuple[tuple[LevelBlock, NDArray[np.uint16]], ...] = ()

    @cached_property
    def numbers(self) -> list[int]:
        """The features by their numbers."""
        return [feature.number for feature in self.features]

    def write_bits(self, joint: NDArray[np.uint16], h: NDArray[np.float32]) -> None:
        """Write the coded bits at joint levels to their columns of ``h``."""
        if not self.parts:
            h[:, self.features[0].inputs] = self.features[0].bits[joint]
        for part, levels in self.parts:
            part.write_bits(levels[joint], h)

    def shares(self, weights: NDArray, dtype: np.dtype) -> NDArray:
        """The tables (..., levels, candidates) of weights (..., candidates, inputs).

        Tables of floats have sums of signed bits, those of unsigned numbers the weights of the bits
        that are set, modulo their range.
        """
        if not self.parts:
            return self.features[0].shares(weights, dtype)
        first, second = (
            part.shares(weights, dtype).take(levels, axis=-2) for part, levels in self.parts
        )
        first += second
        return first

    def matches(self, signs: NDArray, dtype: np.dtype, scratch: Scratch) -> NDArray:
        """The numbers of bits (levels, candidates) that match ``signs`` (inputs, candidates).

        The array is the caller's until the next call with the same ``scratch``.
        """
        if not self.parts:
            return self.features[0].matches(signs, dtype)
        shape = (self.size, signs.shape[1])
        total = scratch(f"matches {self.numbers}", shape, dtype)
        tables = [part.matches(signs, dtype, scratch) for part, _ in self.parts]
        first, second = (levels for _, levels in self.parts)
        if signs.dtype == np.int8:
            assert kernels.loops is not None
            kernels.loops.sums(*tables, first, second, total)
            return total
        share = scratch("share of matches", shape, dtype)
        # Levels are in range by construction; this mode spares the check of each.
        tables[0].take(first, axis=0, mode="wrap", out=total)
        tables[1].take(second, axis=0, mode="wrap", out=share)
        total += share
        return total


def level_counts(encoder: Encoder) -> list[int]:
    if encoder.kind == "thermometer":
        return [bits + 1 for bits in encoder.bits]
    return [2**bits for bits in encoder.bits]


def occurring(feature: Feature, levels: NDArray[np.uint16]) -> Feature:
    """Keep the levels that occur, and renumber ``levels`` (rows,) accordingly, in place."""
    occurs = np.bincount(levels, minlength=len(feature.bits)) > 0
    levels[:] = (np.cumsum(occurs) - 1).astype(np.uint16)[levels]
    return replace(feature, codes=feature.codes[occurs], bits=feature.bits[occurs])


def level_blocks(
    features: list[Feature], levels: NDArray[np.uint16], most: int
) -> list[tuple[LevelBlock, NDArray[np.uint16]]]:
    """Join features while joint levels stay at ``most`` or below, those with the fewest first.

    ``levels`` (features, rows) are those of the features; the answer has those of the blocks.
    """
    blocks = [_Levelled(LevelBlock((f,), len(f.bits)), levels[f.number]) for f in features]
    if len(blocks) > MOST_PAIRED:
        blocks = _join_neighbours(blocks, most)
    sizes: dict[tuple[_Levelled, _Levelled], int] = {}
    while 1 < len(blocks) <= MOST_PAIRED:
        for pair in combinations(blocks, 2):
            if pair not in sizes:
                sizes[pair] = _judged_size(*pair, most)
        pair = min(combinations(blocks, 2), key=sizes.__getitem__)
        if sizes[pair] > most:
            break
        joint = _joined(*pair)
        if joint.block.size > most:
            sizes[pair] = joint.block.size
        else:
            blocks = [b for b in blocks if b not in pair] + [joint]
    return [(b.block, b.levels) for b in blocks]


@dataclass(frozen=True, eq=False)
class _Levelled:
    """A block and its joint level on every row."""

    block: LevelBlock
    levels: NDArray[np.uint16]


def _join_neighbours(blocks: list[_Levelled], most: int) -> list[_Levelled]:
    """Join one after the other while there is room for all combinations."""
    first, *rest = sorted(blocks, key=lambda b: b.block.size)
    joined = [first]
    for block in rest:
        if joined[-1].block.size * block.block.size <= most:
            joined[-1] = _joined(joined[-1], block)
        else:
            joined.append(block)
    return joined


def _judged_size(first: _Levelled, second: _Levelled, most: int) -> int:
    """The number of joint levels on some of the rows."""
    # An unrelated feature of two levels would already make too many.
    if max(first.block.size, second.block.size) > most // 2:
        return most + 1
    step = max(1, -(-len(first.levels) // JUDGED_ROWS))
    pairs = _pairs(first, second, slice(None, None, step))
    if first.block.size * second.block.size > MOST_COUNTED:
        return len(np.unique(pairs))
    return int(np.count_nonzero(np.bincount(pairs)))


def _joined(first: _Levelled, second: _Levelled) -> _Levelled:
    every = first.block.size * second.block.size
    pairs = _pairs(first, second, slice(None))
    occurs = np.bincount(pairs, minlength=every) > 0
    # Renumbered, so that tables have rows for the joint levels that occur, and no others.
    number = (np.cumsum(occurs) - 1).astype(np.uint16)
    own = np.divmod(np.flatnonzero(occurs), second.block.size)
    block = LevelBlock(
        first.block.features + second.block.features,
        int(np.count_nonzero(occurs)),
        ((first.block, own[0]), (second.block, own[1])),
    )
    return _Levelled(block, number[pairs])


def _pairs(first: _Levelled, second: _Levelled, rows: slice) -> NDArray[np.int32]:
    """Both levels in one number; blocks have few enough for that."""
    return first.levels[rows] * np.int32(second.block.size) + second.levels[rows]


def features_of(encoder: Encoder) -> list[Feature]:
    starts = np.concatenate([[0], np.cumsum(encoder.bits)])
    features = []
    for number, (start, stop) in enumerate(pairwise(starts.tolist())):
        codes = _level_codes(encoder, number)
        bits = 2 * encoder.feature_bits(number, codes).astype(np.float32) - 1
        features.append(Feature(number, codes, bits, slice(start, stop)))
    return features


def _level_codes(encoder: Encoder, feature: int) -> NDArray[np.int64]:
    """The least code of every level of a feature."""
    if encoder.kind == "thermometer":
        return np.concatenate([[0], encoder.thresholds[feature]]).astype(np.int64)
    assert encoder.input_bits is not None
    bits = encoder.bits[feature]
    return np.arange(2**bits, dtype=np.int64) << (encoder.input_bits - bits)
