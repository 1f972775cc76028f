"""Tables of coded features: the share of a feature in a sum is a function of its level alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scm_train.encoders import Encoder

__all__ = ["Feature", "LevelBlock", "features_of", "level_blocks", "level_counts", "occurring"]


@dataclass(frozen=True)
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

    def shares(self, weights: NDArray, dtype: np.dtype) -> NDArray:
        """The table (levels, candidates) of this feature, of the kind that ``dtype`` asks for."""
        own = weights[:, self.inputs].T
        if dtype.kind == "f":
            return self.bits @ own
        # Only between whole numbers does a cast wrap around.
        return (self.ones @ own).astype(np.int16).astype(dtype)

    def levels(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.searchsorted(self.codes, codes[:, self.number], side="right") - 1


@dataclass(frozen=True)
class LevelBlock:
    """Features tabulated together; in a joint level the last feature runs fastest."""

    features: tuple[Feature, ...]

    def join(self, levels: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """The joint level of each row from the levels (features, rows) of all features."""
        joint = np.zeros(levels.shape[1], dtype=np.uint16)
        for feature in self.features:
            joint *= np.uint16(len(feature.bits))
            joint += levels[feature.number]
        return joint

    def write_bits(self, joint: NDArray[np.uint16], h: NDArray[np.float32]) -> None:
        """Write the coded bits at joint levels to their columns of ``h``."""
        for feature in reversed(self.features):
            joint, level = np.divmod(joint, np.uint16(len(feature.bits)))
            h[:, feature.inputs] = feature.bits[level]

    def shares(
        self, weights: NDArray, seen: NDArray[np.bool_] | None, dtype: np.dtype
    ) -> tuple[NDArray[np.intp] | None, NDArray]:
        """The candidates that see this block (None: take all) and their table (levels, them).

        ``seen`` (candidates, features) says who sees what, None meaning everything. A table of
        floats has sums of signed bits, one of unsigned numbers the weights of the bits that are
        set, modulo its range.
        """
        candidates = None
        if seen is not None:
            some = np.flatnonzero(seen[:, [f.number for f in self.features]].any(axis=1))
            # Adding to scattered columns costs several times as much as adding to all of them.
            if 4 * len(some) < len(weights):
                candidates, weights = some, weights[some]
        table = np.zeros((1, len(weights)), dtype=dtype)
        for feature in self.features:
            own = feature.shares(weights, dtype)
            joint = own if len(self.features) == 1 else table[:, None, :] + own
            table = joint.reshape(len(table) * len(own), len(weights))
        return candidates, table


def level_counts(encoder: Encoder) -> list[int]:
    if encoder.kind == "thermometer":
        return [bits + 1 for bits in encoder.bits]
    return [2**bits for bits in encoder.bits]


def occurring(feature: Feature, levels: NDArray[np.uint16]) -> Feature:
    """Keep the levels that occur, and renumber ``levels`` (rows,) accordingly, in place."""
    occurs = np.bincount(levels, minlength=len(feature.bits)) > 0
    levels[:] = (np.cumsum(occurs) - 1).astype(np.uint16)[levels]
    return replace(feature, codes=feature.codes[occurs], bits=feature.bits[occurs])


def level_blocks(features: list[Feature], most: int) -> list[LevelBlock]:
    """Join features, those of few levels first, while joint levels stay at ``most`` or below."""
    blocks: list[list[Feature]] = []
    joint = 0
    for feature in sorted(features, key=lambda f: len(f.bits)):
        joint *= len(feature.bits)
        if blocks and joint <= most:
            blocks[-1].append(feature)
        else:
            blocks.append([feature])
            joint = len(feature.bits)
    return [LevelBlock(tuple(block)) for block in blocks]


def features_of(encoder: Encoder) -> list[Feature]:
    starts = np.concatenate([[0], np.cumsum(encoder.bits)])
    features = []
    for number, (start, stop) in enumerate(pairwise(starts.tolist())):
        codes = _level_codes(encoder, number)
        rows = np.zeros((len(codes), encoder.n_features), dtype=np.int64)
        rows[:, number] = codes
        bits = encoder.encode_codes(rows, np.float32)[:, start:stop]
        features.append(Feature(number, codes, bits, slice(start, stop)))
    return features


def _level_codes(encoder: Encoder, feature: int) -> NDArray[np.int64]:
    """The least code of every level of a feature."""
    if encoder.kind == "thermometer":
        return np.concatenate([[0], encoder.thresholds[feature]]).astype(np.int64)
    assert encoder.input_bits is not None
    bits = encoder.bits[feature]
    return np.arange(2**bits, dtype=np.int64) << (encoder.input_bits - bits)
