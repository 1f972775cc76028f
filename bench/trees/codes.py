"""Features as unsigned integers of a few bits: scaled to the training range and rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes"]


@dataclass(frozen=True, eq=False)
class Codes:
    """The code of `x` is `round((x - low) / (high - low) * (2**bits - 1))`, clipped to its range.

    This is done outside the hardware, for the trees as for our own machines.
    """

    bits: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def fitted(cls, X: NDArray, bits: int) -> Codes:
        return cls(bits, X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64))

    def __call__(self, X: NDArray) -> NDArray[np.int32]:
        most = (1 << self.bits) - 1
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        codes = np.rint((X - self.low) / span * most)
        return np.clip(codes, 0, most).astype(np.int32)
