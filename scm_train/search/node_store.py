"""Storage of the outputs of hidden nodes on a set of rows, one bit each for sign and step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS

__all__ = ["NodeStore"]


class NodeStore:
    """The outputs of one layer's nodes on ``rows`` rows, a growing list of columns.

    Sign and step outputs are packed eight rows to the byte; others are kept in float64.
    """

    def __init__(self, rows: int, activation: str):
        self.rows = rows
        self.activation = activation
        self.packed = activation in HARDWARE_ACTIVATIONS
        self._columns: list[NDArray] = []

    @classmethod
    def of_words(cls, words: NDArray[np.uint64], activation: str, rows: int) -> NodeStore:
        """Nodes that fire or not, by their bits as in :mod:`scm_train.solve.packed`."""
        store = cls(rows, activation)
        bits = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
        store._columns = list(bits[:, : -(-rows // 8)])
        return store

    def __len__(self) -> int:
        return len(self._columns)

    def append(self, h: NDArray[np.float64]) -> None:
        """Add the outputs (rows,) of a new node."""
        if self.packed:
            self._columns.append(np.packbits(h > 0, bitorder="little"))
        else:
            self._columns.append(np.array(h, dtype=np.float64))

    def pop(self) -> None:
        """Forget the newest node."""
        self._columns.pop()

    def keep(self, which: Sequence[int]) -> None:
        """Forget all nodes but these."""
        self._columns = [self._columns[k] for k in which]

    def column(self, index: int) -> NDArray[np.float64]:
        """The outputs (rows,) of one node."""
        column = self._columns[index]
        if not self.packed:
            return np.array(column)
        bits = self._unpack(column, slice(0, self.rows)).astype(np.float64)
        return 2 * bits - 1 if self.activation == "sign" else bits

    def chunk(self, rows: slice, dtype: DTypeLike = np.float64) -> NDArray:
        """The outputs (rows in the slice, nodes) in the values of the activation."""
        out = np.empty((len(self._columns), rows.stop - rows.start), dtype=dtype)
        for row, column in zip(out, self._columns, strict=True):
            row[:] = self._unpack(column, rows) if self.packed else column[rows]
        if self.activation == "sign":
            out *= 2
            out -= 1
        return out.T

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        """The outputs (len(indices), nodes) on chosen rows."""
        if not self.packed:
            return np.stack([column[indices] for column in self._columns], axis=1)
        # Row i is bit i % 8 of byte i // 8.
        bits = np.stack(self._columns)[:, indices >> 3] >> (indices & 7).astype(np.uint8) & 1
        out = bits.T.astype(np.float64, order="C")
        return 2 * out - 1 if self.activation == "sign" else out

    @staticmethod
    def _unpack(column: NDArray[np.uint8], rows: slice) -> NDArray[np.uint8]:
        # Whole bytes are unpacked, and the rows before and after are cut off.
        first = rows.start // 8
        bits = np.unpackbits(column[first : (rows.stop + 7) // 8], bitorder="little")
        return bits[rows.start - 8 * first : rows.stop - 8 * first]
