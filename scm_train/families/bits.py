"""The bits of a support, one after the other, over all thresholds of all signals.

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

__all__ = [
    "SignalRows",
    "SupportSearch",
    "addresses",
    "find_support",
    "find_support_reference",
]

Floats = NDArray[np.float64]

#: Sums of as many whole numbers as there are rows stay below this, so that float64 holds them.
EXACT = 2.0**52


@dataclass(frozen=True, eq=False)
class SignalRows:
    """Rows as the search for a bit sees them.

    ``reached`` (signals, rows) counts the thresholds that each signal has reached; ``gradients``
    and ``weights`` (rows,) are whole numbers.
    """

    reached: NDArray[np.uint8]
    gradients: NDArray[np.int64]
    weights: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SupportSearch:
    """What the search for a support goes by.

    ``counts`` (signals,) has the thresholds of each signal, ``prices`` (signals, thresholds) what a
    new one costs. The gain of a cell with gradients ``g`` and weights ``w`` is
    ``g**2 / (w + penalty)``; ``family`` is what the support costs beside its thresholds.
    """

    counts: NDArray[np.int64]
    prices: Floats
    penalty: float
    family: float


Support = list[tuple[int, int]]


def find_support(rows: SignalRows, search: SupportSearch, bits: int) -> Support:
    """Up to ``bits`` bits as signal and threshold, each with the most gain per LUT so far.

    A bit that gains nothing ends the support: one that splits no cell, or cells of few rows alone.
    """
    if not len(search.counts):
        # All inputs are constant.
        return []
    signals, thresholds = np.empty(bits, np.int64), np.empty(bits, np.int64)
    found = _find_support(
        rows.reached, rows.gradients, rows.weights,
        search.counts, search.prices.copy(), search.penalty, search.family, signals, thresholds,
    )  # fmt: skip
    return [(int(s), int(t)) for s, t in zip(signals[:found], thresholds[:found], strict=True)]


def find_support_reference(rows: SignalRows, search: SupportSearch, bits: int) -> Support:
    """:func:`find_support` in NumPy, to read and to compare with."""
    cell = np.zeros(len(rows.gradients), dtype=np.int64)
    prices, paid = search.prices.copy(), search.family
    g, w = float(rows.gradients.sum()), float(rows.weights.sum())
    # A constant c for all rows of a cell changes the loss by -g c + (w + penalty) c^2 / 2 (Newton),
    # and g^2 / (w + penalty) is twice what the best c takes off.
    base = gain = g * g / (w + search.penalty)
    support: Support = []
    for place in range(bits):
        best = (0.0, -1, -1, 0.0)
        for signal, count in enumerate(search.counts):
            gains = _gains(rows, search, cell, 1 << place, signal, int(count))
            # Gain and price of the whole support, not of the newest bit: what a family of these
            # bits would bring for its LUTs.
            scores = (gains - base) / (paid + prices[signal, :count])
            threshold = int(np.argmax(scores))
            if scores[threshold] > best[0]:
                best = (float(scores[threshold]), signal, threshold, float(gains[threshold]))
        _, signal, threshold, reached_gain = best
        if signal < 0 or reached_gain <= gain:
            break
        support.append((signal, threshold))
        gain, paid = reached_gain, paid + prices[signal, threshold]
        # Once more it would split nothing, and rounding must not say otherwise.
        prices[signal, threshold] = np.inf
        cell |= (rows.reached[signal] > threshold).astype(np.int64) << place
    return support


def _gains(
    rows: SignalRows,
    search: SupportSearch,
    cell: NDArray[np.int64],
    cells: int,
    signal: int,
    count: int,
) -> Floats:
    """The gain of all cells, split by each threshold of a signal."""
    width = count + 1
    place = cell * width + rows.reached[signal]
    g, w = (
        np.bincount(place, values, minlength=cells * width).reshape(cells, width)
        for values in (rows.gradients, rows.weights)
    )
    gains = np.zeros(count)
    for own_g, own_w in zip(g, w, strict=True):
        if own_w.sum() > 0:
            left_g, left_w = np.cumsum(own_g)[:-1], np.cumsum(own_w)[:-1]
            right_g, right_w = own_g.sum() - left_g, own_w.sum() - left_w
            # A row that has reached fewer than t + 1 thresholds lies to the left of threshold t.
            gains += left_g * left_g / (left_w + search.penalty)
            gains += right_g * right_g / (right_w + search.penalty)
    return gains


@njit(nogil=True, cache=True, error_model="numpy")
def _find_support(
    reached, gradients, weights, counts, prices, penalty, family, signals, thresholds
):
    """Write the bits of a support, and return how many there are."""
    rows, bits = reached.shape[1], len(signals)
    cell = np.zeros(rows, dtype=np.uint8)
    total_g, total_w = 0.0, 0.0
    for row in range(rows):
        total_g += gradients[row]
        total_w += weights[row]
    base = total_g * total_g / (total_w + penalty)
    last, paid = base, family
    most = counts.max()
    sums, gain = np.empty((1 << bits, most + 1, 2), dtype=np.int64), np.empty(most)
    for place in range(bits):
        cells = 1 << place
        best, best_gain, signal, threshold = 0.0, 0.0, -1, -1
        for s in range(len(counts)):
            count, own = counts[s], reached[s]
            sums[:cells, : count + 1] = 0
            for row in range(rows):
                here = sums[cell[row], own[row]]
                here[0] += gradients[row]
                here[1] += weights[row]
            gain[:count] = 0.0
            for c in range(cells):
                g, w = 0.0, 0.0
                for level in range(count + 1):
                    g += sums[c, level, 0]
                    w += sums[c, level, 1]
                if w == 0:
                    continue
                left_g, left_w = 0.0, 0.0
                for t in range(count):
                    left_g += sums[c, t, 0]
                    left_w += sums[c, t, 1]
                    right_g, right_w = g - left_g, w - left_w
                    gain[t] += left_g * left_g / (left_w + penalty)
                    gain[t] += right_g * right_g / (right_w + penalty)
            for t in range(count):
                score = (gain[t] - base) / (paid + prices[s, t])
                if score > best:
                    best, best_gain, signal, threshold = score, gain[t], s, t
        if signal < 0 or best_gain <= last:
            return place
        signals[place], thresholds[place] = signal, threshold
        last = best_gain
        paid += prices[signal, threshold]
        # Once more it would split nothing, and rounding must not say otherwise.
        prices[signal, threshold] = np.inf
        for row in range(rows):
            if reached[signal, row] > threshold:
                cell[row] |= 1 << place
    return bits


@njit(cache=True)
def addresses(reached, signals, thresholds, out):
    """Write to ``out`` (rows,) each row's cell; the first bit of a support is the lowest."""
    for row in range(len(out)):
        cell = 0
        for k in range(len(signals)):
            if reached[signals[k], row] > thresholds[k]:
                cell |= 1 << k
        out[row] = cell
