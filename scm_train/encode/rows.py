"""Raw inputs of many rows, scaled and coded a chunk at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_model import Encoder
from scm_model.scaling import to_unit

__all__ = ["CHUNK", "ScaledRows"]

#: Rows that are encoded or scaled at a time.
CHUNK = 65536


class ScaledRows:
    """Raw inputs with their scaling and quantisation, chunk by chunk."""

    def __init__(self, x: NDArray, low: NDArray, high: NDArray, encoder: Encoder | None = None):
        self.x, self.low, self.high, self.encoder = x, low, high, encoder

    def __len__(self) -> int:
        return len(self.x)

    def unit(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Inputs scaled to [0, 1] by the training range."""
        return to_unit(self.x[rows], self.low, self.high)

    def seen(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Inputs as all parts of the machine see them: quantised where there is an encoder."""
        unit = self.unit(rows)
        return unit if self.encoder is None else self.encoder.quantised(unit)

    def encoded(self, rows: slice | NDArray, dtype: DTypeLike) -> NDArray:
        """``H_0``, the inputs of the first layer."""
        unit = self.unit(rows)
        return unit.astype(dtype) if self.encoder is None else self.encoder.encode(unit, dtype)
