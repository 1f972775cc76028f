"""Raw inputs of many rows, scaled and coded a chunk at a time."""

from __future__ import annotations

from copy import copy
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_model import Encoder
from scm_model.scaling import to_unit

__all__ = ["CHUNK", "CodedRows", "Rows", "ScaledRows"]

#: Rows that are encoded or scaled at a time.
CHUNK = 65536


class Rows(Protocol):
    """The inputs of many rows, in the forms that the parts of a machine see."""

    encoder: Encoder | None
    #: Columns of the inputs.
    features: int

    def __len__(self) -> int: ...

    def part(self, rows: slice) -> Rows:
        """Some of the rows, on their own."""

    def unit(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Inputs scaled to [0, 1] by the training range."""

    def seen(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Inputs as all parts of the machine see them: quantised where there is an encoder."""

    def encoded(self, rows: slice | NDArray, dtype: DTypeLike) -> NDArray:
        """``H_0``, the inputs of the first layer."""


class ScaledRows:
    """Raw inputs with their scaling and quantisation, chunk by chunk."""

    def __init__(self, x: NDArray, low: NDArray, high: NDArray, encoder: Encoder | None = None):
        self.x, self.low, self.high, self.encoder = x, low, high, encoder
        self.features = x.shape[1]

    def __len__(self) -> int:
        return len(self.x)

    def part(self, rows: slice) -> ScaledRows:
        return ScaledRows(self.x[rows], self.low, self.high, self.encoder)

    def unit(self, rows: slice | NDArray) -> NDArray[np.float64]:
        return to_unit(self.x[rows], self.low, self.high)

    def seen(self, rows: slice | NDArray) -> NDArray[np.float64]:
        unit = self.unit(rows)
        return unit if self.encoder is None else self.encoder.quantised(unit)

    def encoded(self, rows: slice | NDArray, dtype: DTypeLike) -> NDArray:
        unit = self.unit(rows)
        return unit.astype(dtype) if self.encoder is None else self.encoder.encode(unit, dtype)


class CodedRows:
    """Inputs of which only what the machine sees is kept, as codes where there are any."""

    def __init__(self, rows: ScaledRows):
        assert rows.encoder is not None
        self.encoder, self.features = rows.encoder, rows.features
        unit = rows.unit(slice(0, len(rows)))
        bits = self.encoder.input_bits
        self._kept = unit if bits is None else self.encoder.codes(unit).astype(_smallest(bits))

    def __len__(self) -> int:
        return len(self._kept)

    def part(self, rows: slice) -> CodedRows:
        part = copy(self)
        part._kept = self._kept[rows]
        return part

    def unit(self, rows: slice | NDArray) -> NDArray[np.float64]:
        """Mid-code, which every encoder takes for any input of that code."""
        kept = self._kept[rows]
        return kept if self.encoder.input_bits is None else self.encoder.dequantise(kept)

    seen = unit

    def encoded(self, rows: slice | NDArray, dtype: DTypeLike) -> NDArray:
        return self.encoder.encode(self.unit(rows), dtype)


def _smallest(bits: int) -> type:
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32
