"""The best next bit of a support, over all thresholds of all signals.

Rows lie in the cells that the bits chosen so far tell apart. One more bit splits each cell in two;
what a threshold gains follows from the sums of gradients and weights on either side, and those from
one histogram per signal. Gradients are whole numbers, so that their sums are exact in any order: on
any number of threads, on a cluster, and in NumPy, the same bit wins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Choice", "Rows", "addresses", "best_bit", "best_bits_reference", "cell_sums"]

Floats = NDArray[np.float64]

#: Sums of as many whole numbers as there are rows stay below this, so that float64 holds them.
EXACT = 2.0**52


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the search for a bit sees them.

    ``reached`` (signals, rows) counts the thresholds that each signal has reached; ``gradients``
    and ``weights`` (rows,) are whole numbers.
    """

    reached: NDArray[np.uint8]
    gradients: NDArray[np.int64]
    weights: NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """A bit: which threshold of which signal, and the gain of the support that it completes."""

    signal: int
    threshold: int
    gain: float
    price: float


def best_bit(
    rows: Rows,
    counts: NDArray[np.int64],
    cell: NDArray[np.uint8],
    cells: int,
    shrinkage: float,
    prices: Floats,
    paid: float,
    base: float,
) -> Choice | None:
    """The bit with the most gain over ``base`` for each LUT, what is ``paid`` already included.

    ``cell`` (rows,) is each row's cell among ``cells``, ``prices`` (signals, thresholds) what a new
    threshold costs. The gain of a cell with gradients ``g`` and weights ``w`` is
    ``g**2 / (w + shrinkage)``. None where no threshold splits any cell.
    """
    found = np.empty((len(counts), 4))
    _best_bits(
        rows.reached, counts, cell, cells, rows.gradients, rows.weights,
        shrinkage, prices, paid, base, found,
    )  # fmt: skip
    return _chosen(found)


def best_bits_reference(
    rows: Rows,
    counts: NDArray[np.int64],
    cell: NDArray[np.uint8],
    cells: int,
    shrinkage: float,
    prices: Floats,
    paid: float,
    base: float,
) -> Choice | None:
    """:func:`best_bit` in NumPy, to read and to compare with."""
    found = np.full((len(counts), 4), -np.inf)
    for signal, count in enumerate(counts):
        width = count + 1
        place = cell.astype(np.int64) * width + rows.reached[signal]
        g, w = (
            np.bincount(place, values, minlength=cells * width).reshape(cells, width)
            for values in (rows.gradients, rows.weights)
        )
        gain = np.zeros(count)
        for own_g, own_w in zip(g, w, strict=True):
            if own_w.sum() > 0:
                left_g, left_w = np.cumsum(own_g)[:-1], np.cumsum(own_w)[:-1]
                right_g, right_w = own_g.sum() - left_g, own_w.sum() - left_w
                gain += left_g * left_g / (left_w + shrinkage)
                gain += right_g * right_g / (right_w + shrinkage)
        price = prices[signal, :count]
        score = (gain - base) / (paid + price)
        best = int(np.argmax(score))
        found[signal] = score[best], best, gain[best], price[best]
    return _chosen(found)


def _chosen(found: Floats) -> Choice | None:
    signal = int(np.argmax(found[:, 0]))
    score, threshold, gain, price = found[signal]
    return Choice(signal, int(threshold), float(gain), float(price)) if score > 0 else None


@njit(nogil=True, cache=True, error_model="numpy")
def _best_bits(
    reached, counts, cell, cells, gradients, weights, shrinkage, prices, paid, base, found
):
    """Write for each signal the best score, its threshold, its gain and its price."""
    for signal in range(len(counts)):
        count, own = counts[signal], reached[signal]
        sums = np.zeros((cells, count + 1, 2), dtype=np.int64)
        for row in range(len(own)):
            here = sums[cell[row], own[row]]
            here[0] += gradients[row]
            here[1] += weights[row]
        gain = np.zeros(count)
        for c in range(cells):
            total_g, total_w = 0.0, 0.0
            for place in range(count + 1):
                total_g += sums[c, place, 0]
                total_w += sums[c, place, 1]
            if total_w == 0:
                continue
            left_g, left_w = 0.0, 0.0
            for t in range(count):
                left_g += sums[c, t, 0]
                left_w += sums[c, t, 1]
                right_g, right_w = total_g - left_g, total_w - left_w
                gain[t] += left_g * left_g / (left_w + shrinkage)
                gain[t] += right_g * right_g / (right_w + shrinkage)
        best = -np.inf
        for t in range(count):
            score = (gain[t] - base) / (paid + prices[signal, t])
            if score > best:
                best = score
                found[signal, 0], found[signal, 1] = score, t
                found[signal, 2], found[signal, 3] = gain[t], prices[signal, t]


@njit(cache=True)
def addresses(reached, signals, thresholds, out):
    """Write to ``out`` (rows,) each row's cell; the first bit of a support is the lowest."""
    for row in range(len(out)):
        cell = 0
        for k in range(len(signals)):
            if reached[signals[k], row] > thresholds[k]:
                cell |= 1 << k
        out[row] = cell


def cell_sums(cell: NDArray[np.uint8], values: NDArray[np.int64], cells: int) -> Floats:
    """The sum of whole numbers over the rows of each cell, exact."""
    return np.bincount(cell, values, minlength=cells)
