"""Huber's weights: rows with small residuals count in full, the others less the farther off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["huber_bound", "huber_weights", "robust_scale"]

Floats = NDArray[np.float64]

#: The median of |e| of a normal distribution, in standard deviations.
SPREAD = 0.6745
#: Huber's bound in standard deviations: 95 % efficient where errors are normal after all.
TUNING = 1.345
#: The scale is this share of the mean |e| at least: where most residuals are 0, the others count.
LEAST_SHARE = 0.05
#: The median of more residuals than these is taken of some, evenly spread.
SCALE_ROWS = 50_000


def robust_scale(residuals: Floats) -> float:
    """The standard deviation of residuals, by the median of their sizes."""
    sizes = np.abs(residuals[:: max(1, -(-len(residuals) // SCALE_ROWS))])
    if not len(sizes):
        return 0.0
    return max(float(np.median(sizes)) / SPREAD, LEAST_SHARE * float(sizes.mean()))


def huber_bound(residuals: Floats) -> float:
    """The size up to which a residual counts in full."""
    return TUNING * robust_scale(residuals)


def huber_weights(residuals: Floats) -> Floats:
    """The weight of each row, 1 at most, for least squares to minimise Huber's loss."""
    bound = huber_bound(residuals)
    sizes = np.abs(residuals)
    return np.where(sizes > bound, bound / np.maximum(sizes, 1e-300), 1.0)
