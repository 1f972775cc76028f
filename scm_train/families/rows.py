"""The rows that families learn from, and the sums over them that a family follows from.

Each family sees a random part of the rows. Whether a row is in it follows from a key and the row's
number alone, so that nothing is drawn or sorted for each row, and rows in several places agree with
rows in one. All sums are of whole numbers and exact in any order: on a cluster the same families
join as in memory. Each loop has a reference in NumPy, to read and to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from scm_train.families.bits import EXACT, SignalRows
from scm_train.families.losses import Loss

__all__ = [
    "Extent", "FamilyRows", "Part", "Rows", "Scale", "Sums", "cells_and_sums",
    "cells_and_sums_reference", "chosen", "chosen_reference", "joined_rows", "scale_of",
]  # fmt: skip

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: What makes bits of the row's number that depend on each other as little as random ones
#: (SplitMix64: Steele, Lea and Flood, 2014).
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@dataclass(frozen=True)
class Part:
    """A random part of the rows: the ``share`` of them that ``key`` chooses.

    With the same key, the part of a smaller share lies within that of a larger one.
    """

    key: int
    share: float

    @property
    def limit(self) -> np.uint64:
        """Rows with a hash up to here are in it."""
        # A share of 1 would be 2**64, one more than a word holds.
        return np.uint64(min(int(self.share * 2.0**64), 2**64 - 1))


@dataclass(frozen=True)
class Extent:
    """The largest slope, curvature, and square of a slope by its curvature, of some rows."""

    slope: float
    curvature: float
    energy: float


@dataclass(frozen=True)
class Scale:
    """Powers of two that make whole numbers of slopes and curvatures, and of energies."""

    slope: float
    energy: float


@dataclass(frozen=True, eq=False)
class Sums:
    """Whole sums of gradients and weights (cells,), and of the energy."""

    gradients: Whole
    weights: Whole
    energy: int


class Rows(Protocol):
    """Rows as growth needs them, here or elsewhere."""

    def __len__(self) -> int: ...

    def extent(self, output: int) -> Extent:
        """Renew slopes and curvatures, by one output; how large they are."""
        ...

    def searched(self, part: Part, scale: Scale, signals: Whole) -> SignalRows:
        """Rows of a part, as the search for a support sees them."""
        ...

    def sums(self, part: Part, scale: Scale, signals: Whole, thresholds: Whole) -> Sums:
        """Sort all rows into the cells of a support; sums over those of a part."""
        ...

    def add(self, output: int, values: Floats) -> None:
        """Let all rows answer what their cell has."""
        ...


class FamilyRows:
    """Rows in memory, of which the first has the number ``first`` among all rows.

    ``reached`` (signals, rows) are the thresholds that each signal has reached; ``scores``
    (outputs, rows) what the machine answers so far.
    """

    def __init__(self, reached: NDArray[np.uint8], loss: Loss, scores: Floats, first: int = 0):
        self.reached, self.scores = reached, scores
        self._loss, self._first = loss, first
        self._cell = np.empty(reached.shape[1], dtype=np.uint8)
        self._slopes = self._curvatures = np.empty(0)

    def __len__(self) -> int:
        return len(self._cell)

    def extent(self, output: int) -> Extent:
        self._slopes, self._curvatures = self._loss.slopes(self.scores, output)
        return Extent(*_extent(self._slopes, self._curvatures))

    def searched(self, part: Part, scale: Scale, signals: Whole) -> SignalRows:
        rows = chosen(part, self._first, len(self))
        return SignalRows(
            self.reached[np.ix_(signals, rows)],
            np.rint(self._slopes[rows] * scale.slope).astype(np.int64),
            np.rint(self._curvatures[rows] * scale.slope).astype(np.int64),
        )

    def sums(self, part: Part, scale: Scale, signals: Whole, thresholds: Whole) -> Sums:
        return cells_and_sums(
            self.reached, (self._slopes, self._curvatures), (signals, thresholds), part, scale,
            self._first, self._cell,
        )  # fmt: skip

    def add(self, output: int, values: Floats) -> None:
        _add(self.scores[output], self._cell, values)


def scale_of(extents: Sequence[Extent], rows: int) -> Scale:
    """Scales with which sums over that many rows are exact."""
    slope = max(max(one.slope, one.curvature) for one in extents)
    return Scale(_whole(slope, rows), _whole(max(one.energy for one in extents), rows))


def _whole(largest: float, rows: int) -> float:
    # A power of two, so that scaling itself rounds nothing. Half of EXACT leaves room for rounding
    # every row up to a whole number.
    return float(2.0 ** np.floor(np.log2(EXACT / (2 * rows * max(largest, 1e-300)))))


def joined_rows(parts: Sequence[SignalRows]) -> SignalRows:
    """The rows of several places, in their order."""
    return SignalRows(
        np.concatenate([one.reached for one in parts], axis=1),
        np.concatenate([one.gradients for one in parts]),
        np.concatenate([one.weights for one in parts]),
    )


def chosen(part: Part, first: int, rows: int) -> Whole:
    """The places of those of some rows, the first with the number ``first``, that are in a part."""
    out = np.empty(rows, dtype=np.int64)
    return out[: _chosen(np.uint64(part.key), part.limit, np.uint64(first), out)].copy()


def chosen_reference(part: Part, first: int, rows: int) -> Whole:
    with np.errstate(over="ignore"):
        z = np.uint64(part.key) + (np.arange(first, first + rows, dtype=np.uint64) + 1) * STEP
        z = (z ^ (z >> S30)) * FIRST
        z = (z ^ (z >> S27)) * SECOND
    return np.flatnonzero(z ^ (z >> S31) <= part.limit)


def cells_and_sums(
    reached: NDArray[np.uint8],
    slopes: tuple[Floats, Floats],
    support: tuple[Whole, Whole],
    part: Part,
    scale: Scale,
    first: int,
    cell: NDArray[np.uint8],
) -> Sums:
    """Write all rows' cells, and add up slopes and curvatures of those in a part.

    ``support`` are signals and thresholds; the first bit of a cell's number is the lowest.
    """
    out = np.zeros((2, 1 << len(support[0])), dtype=np.int64)
    energy = _cells_and_sums(
        reached, *slopes, *support, np.uint64(part.key), part.limit, np.uint64(first),
        scale.slope, scale.energy, cell, out,
    )  # fmt: skip
    return Sums(out[0], out[1], int(energy))


def cells_and_sums_reference(
    reached: NDArray[np.uint8],
    slopes: tuple[Floats, Floats],
    support: tuple[Whole, Whole],
    part: Part,
    scale: Scale,
    first: int,
    cell: NDArray[np.uint8],
) -> Sums:
    cell[:] = sum(
        (reached[signal] > threshold).astype(np.uint8) << np.uint8(place)
        for place, (signal, threshold) in enumerate(zip(*support, strict=True))
    )
    own = chosen_reference(part, first, len(cell))
    slope, curvature = slopes[0][own], slopes[1][own]
    out = np.zeros((2, 1 << len(support[0])), dtype=np.int64)
    for total, values in zip(out, (slope, curvature), strict=True):
        np.add.at(total, cell[own], np.rint(values * scale.slope).astype(np.int64))
    # For squared error slope^2 / curvature is w e^2: a row's part of |e|^2 in the inequality.
    counts = curvature > 0
    energies = slope[counts] * slope[counts] / curvature[counts] * scale.energy
    return Sums(out[0], out[1], int(np.rint(energies).astype(np.int64).sum()))


@njit(nogil=True, cache=True, inline="always")
def _hash(key, row):
    z = key + (row + np.uint64(1)) * STEP
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@njit(nogil=True, cache=True)
def _chosen(key, limit, first, out):
    """Write the places of the rows that a part has, and return how many there are."""
    count = 0
    for row in range(len(out)):
        out[count] = row
        # Without a branch, which would be guessed wrong for every few rows.
        count += _hash(key, first + np.uint64(row)) <= limit
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def _extent(slopes, curvatures):
    slope, curvature, energy = 0.0, 0.0, 0.0
    for row in range(len(slopes)):
        s, c = slopes[row], curvatures[row]
        slope = max(slope, abs(s))
        curvature = max(curvature, c)
        if c > 0:
            energy = max(energy, s * s / c)
    return slope, curvature, energy


@njit(nogil=True, cache=True, error_model="numpy")
def _cells_and_sums(
    reached, slopes, curvatures, signals, thresholds, key, limit, first, scale, fine, cell, out
):
    # Cells of all rows and not of the part alone: `add` looks up each row's answer by its cell.
    energy = np.int64(0)
    cell[:] = 0
    for place in range(len(signals)):
        own, threshold, bit = reached[signals[place]], thresholds[place], np.uint8(1 << place)
        for row in range(len(cell)):
            cell[row] |= bit * np.uint8(own[row] > threshold)
    for row in range(len(cell)):
        if _hash(key, first + np.uint64(row)) <= limit:
            s, c = slopes[row], curvatures[row]
            out[0, cell[row]] += np.int64(np.rint(s * scale))
            out[1, cell[row]] += np.int64(np.rint(c * scale))
            if c > 0:
                energy += np.int64(np.rint(s * s / c * fine))
    return energy


@njit(nogil=True, cache=True)
def _add(scores, cell, values):
    for row in range(len(cell)):
        scores[row] += values[cell[row]]
