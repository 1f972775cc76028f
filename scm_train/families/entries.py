"""The readout of a family, rounded to as few bits as pay for themselves.

In gates every bit of a family's entries costs a LUT, and the places below its lowest bit nothing.
So each family has a grid of its own, ``2**place``, and a few bits on it. It is rounded as it joins:
the families after it see the rounding in their residual and repair it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
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
    # One value for all cells tells no rows apart.
    if not low < high:
        return None
    gain, bits, place, first = _best_rounding(
        wanted, weights, low, high, widths.start, widths.stop, overhead, lowest
    )
    if gain <= 0:
        return None
    grid, top = 2.0**place, 2.0**bits - 1
    values = (np.clip(np.rint(wanted / grid) - first, 0, top) + first) * grid
    # A cell that no training row is in takes the entry nearest to nothing.
    unseen = min(max(0.0, first), first + top) * grid
    return Entries(np.where(seen, values, unseen), bits, place)


@njit(cache=True)
def _best_rounding(wanted, weights, low, high, narrowest, end, overhead, lowest):
    """Gain per LUT, bits, grid and first whole number of the best rounding there is."""
    # Exact entries would take `total` off the error; rounding gives `lost` of that back.
    total = 0.0
    for cell in range(len(wanted)):
        total += weights[cell] * wanted[cell] ** 2
    best = (-np.inf, 0, 0, 0.0)
    for bits in range(narrowest, end):
        top = 2.0**bits - 1
        # The finest grid on which all entries fit.
        fitting = int(np.ceil(np.log2((high - low) / top)))
        # Finer grids clip the largest entries, coarser ones leave part of the range unused.
        for step in range(-2, 2):
            place = max(fitting + step, lowest)
            grid = 2.0**place
            # The window of the whole numbers starts at the least entry, ends at the greatest, or is
            # centred on both; which loses least depends on what clipping and rounding hit.
            for align in range(3):
                if align == 0:
                    first = np.rint(low / grid)
                elif align == 1:
                    first = np.rint(high / grid) - top
                else:
                    first = np.rint((low + high) / (2 * grid) - top / 2)
                lost = 0.0
                for cell in range(len(wanted)):
                    if weights[cell] > 0:
                        steps = min(max(np.rint(wanted[cell] / grid) - first, 0.0), top)
                        lost += weights[cell] * ((steps + first) * grid - wanted[cell]) ** 2
                gain = (total - lost) / (bits + overhead)
                if gain > best[0]:
                    best = (gain, bits, place, first)
    return best
