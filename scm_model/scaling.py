"""Linear maps between raw units and [0, 1], the units in which a machine is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def to_unit(values: NDArray[Any], low: Floats, high: Floats) -> Floats:
    """Map ``[low, high]`` to [0, 1], column by column; a column of empty range gives 0."""
    span = np.asarray(high, dtype=np.float64) - low
    empty = span == 0
    scaled = (np.asarray(values, dtype=np.float64) - low) / np.where(empty, 1.0, span)
    if empty.any():
        scaled[..., empty] = 0.0
    return scaled


def from_unit(values: NDArray[Any], low: Floats, high: Floats) -> Floats:
    """Undo :func:`to_unit` for columns of non-empty range."""
    return low + (np.asarray(high, dtype=np.float64) - low) * values
