"""The readout of a family, rounded to as few bits as pay for themselves.

In gates every bit of a family's entries costs a LUT, and the places below its lowest bit nothing.
So each family has a grid of its own, ``2**place``, and a few bits on it. It is rounded as it joins:
the families after it see the rounding in their residual and repair it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Entries", "round_entries"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Entries:
    """Values (cells,): ``2**place`` times whole numbers that differ by less than ``2**bits``."""

    values: Floats
    bits: int
    place: int


def round_entries(
    wanted: Floats, weights: Floats, widths: range, overhead: float, lowest: int
) -> Entries | None:
    """The rounding with the most gain per LUT; None where nothing is gained.

    ``weights`` (cells,) say how much a cell's error counts, 0 where no row is. A family of ``bits``
    bits costs ``bits + overhead`` LUTs. ``lowest`` is the finest grid there is.
    """
    seen = weights > 0
    low, high = wanted[seen].min(initial=np.inf), wanted[seen].max(initial=-np.inf)
    if not low < high:
        return None
    bits, place, first = _roundings(low, high, widths, lowest)
    grid = np.ldexp(1.0, place)
    steps = np.rint(wanted / grid[:, None]) - first[:, None]
    top = np.ldexp(1.0, bits) - 1
    values = (np.clip(steps, 0, top[:, None]) + first[:, None]) * grid[:, None]
    lost = ((values - wanted) ** 2) @ weights
    gain = (float(weights @ wanted**2) - lost) / (bits + overhead)
    best = int(np.argmax(gain))
    if gain[best] <= 0:
        return None
    # A cell that no training row is in takes the entry nearest to nothing.
    unseen = min(max(0.0, first[best]), first[best] + top[best]) * grid[best]
    return Entries(np.where(seen, values[best], unseen), int(bits[best]), int(place[best]))


def _roundings(
    low: float, high: float, widths: range, lowest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Bits, grid and first whole number of every rounding that is tried."""
    found = []
    for bits in widths:
        top = 2**bits - 1
        fitting = int(np.ceil(np.log2((high - low) / top)))
        # Finer grids clip the largest entries, coarser ones leave part of the range unused.
        for place in sorted({max(fitting + k, lowest) for k in (-2, -1, 0, 1)}):
            grid = np.ldexp(1.0, place)
            middle = np.rint((low + high) / (2 * grid) - top / 2)
            for first in (np.rint(low / grid), np.rint(high / grid) - top, middle):
                found.append((bits, place, first))
    bits, place, first = (np.array(column) for column in zip(*found, strict=True))
    return bits, place, first.astype(np.float64)
