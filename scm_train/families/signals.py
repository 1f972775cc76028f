"""Signals and their thresholds: the pool that first-layer bits are chosen from.

A bit of the first layer is a sign node that sees one feature, or the sum or difference of two: it
is set where that integer, the *signal*, reaches a threshold. Between two neighbouring values of the
training rows any threshold gives the same bits, so the roundest number of the gap is taken: its low
bits are zero and drop out of the comparator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_THRESHOLDS", "Signal", "SignalPool", "make_pool", "roundest"]

#: So that the number of thresholds that a signal has reached fits a byte.
MOST_THRESHOLDS = 255
#: How far a threshold may be from its quantile, of the distance to the next.
REACH = 0.4

Codes = NDArray[np.integer]


@dataclass(frozen=True)
class Signal:
    """An integer that bits compare with thresholds: ``sum(sign * code[feature])``."""

    features: tuple[int, ...]
    signs: tuple[int, ...] = (1,)

    def values(self, codes: Codes) -> NDArray[np.int32]:
        """The signal (rows,) of the features' codes (rows, features)."""
        total = np.zeros(len(codes), dtype=np.int32)
        for feature, sign in zip(self.features, self.signs, strict=True):
            total += sign * codes[:, feature].astype(np.int32)
        return total


@dataclass(frozen=True, eq=False)
class SignalPool:
    """Signals, and the increasing thresholds of each."""

    signals: tuple[Signal, ...]
    thresholds: tuple[NDArray[np.int64], ...]

    def reached(self, codes: Codes) -> NDArray[np.uint8]:
        """How many thresholds each signal has reached, (signals, rows)."""
        out = np.empty((len(self.signals), len(codes)), dtype=np.uint8)
        for row, signal, thresholds in zip(out, self.signals, self.thresholds, strict=True):
            row[:] = _reached(signal.values(codes), thresholds)
        return out

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of thresholds of each signal."""
        return np.array([len(t) for t in self.thresholds], dtype=np.int64)


def _reached(values: NDArray[np.int32], thresholds: NDArray[np.int64]) -> NDArray[np.integer]:
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low >= len(values):
        return np.searchsorted(thresholds, values, side="right")
    # Of many rows it is looked up, for each value that they can have.
    table = np.searchsorted(thresholds, np.arange(low, high + 1), side="right").astype(np.uint8)
    return table[values - low]


def make_pool(codes: Codes, pairs: Sequence[Signal], most: int = MOST_THRESHOLDS) -> SignalPool:
    """Single features and ``pairs``, each with up to ``most`` thresholds at quantiles of the rows.

    Signals that are constant on the rows are left out.
    """
    singles = [Signal((feature,)) for feature in range(codes.shape[1])]
    found = [(signal, _thresholds(signal.values(codes), most)) for signal in [*singles, *pairs]]
    kept = [(signal, thresholds) for signal, thresholds in found if len(thresholds)]
    return SignalPool(tuple(s for s, _ in kept), tuple(t for _, t in kept))


def random_pairs(features: int, count: int, rng: np.random.Generator) -> list[Signal]:
    """``count`` different sums and differences of two features, or all where there are fewer."""
    every = [(pair, sign) for pair in combinations(range(features), 2) for sign in (1, -1)]
    chosen = rng.permutation(len(every))[:count]
    return [Signal(every[i][0], (1, every[i][1])) for i in sorted(chosen)]


def _thresholds(values: NDArray[np.int32], most: int) -> NDArray[np.int64]:
    """Round thresholds in gaps between neighbouring values, spread evenly over the rows.

    Of more gaps than ``most``, those around a quantile make a wider one, with a rounder number.
    """
    distinct, counts = np.unique(values, return_counts=True)
    low, high = distinct[:-1].astype(np.int64), distinct[1:].astype(np.int64)
    if len(low) > most:
        below = np.cumsum(counts)
        quantiles = np.arange(1, most + 1)
        first, last = (
            np.searchsorted(below, len(values) * (quantiles + reach) / (most + 1))
            for reach in (-REACH, REACH)
        )
        first = np.minimum(first, len(low) - 1)
        last = np.clip(last, first + 1, len(low))
        low, high = distinct[first].astype(np.int64), distinct[last].astype(np.int64)
    return np.unique(roundest(low, high))


def roundest(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """In each gap ``low < t <= high`` the number that the highest power of two divides."""
    # What two numbers have in common above their highest differing bit, with that bit set, is the
    # roundest between them. 0 divides by all powers, and lies between numbers of both signs.
    differing = low ^ high
    place = np.frexp(np.maximum(differing, 1).astype(np.float64))[1] - 1
    kept = (high >> place) << place
    return np.where((low < 0) & (high >= 0), 0, kept)
