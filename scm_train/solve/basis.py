"""The orthonormal basis ``Q`` of the nodes on some rows, and what they leave of the targets there.

A readout grows by the steps of Gram-Schmidt, which it asks of a basis one by one. The rows may be
here, or on the workers of a cluster, where each has the basis of its own rows and the sums over all
of them are the answer.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import ChunkMap

__all__ = ["Basis", "Columns", "LocalBasis", "Shadow", "rmse_of"]

Floats = NDArray[np.float64]

#: Numbers per block of Q; a block's memory is only committed as its columns are written.
BLOCK_NUMBERS = 1 << 20
#: Fewest columns of a block.
FEWEST_COLUMNS = 16
#: Fewest columns of a block in float32, which is multiplied by many candidates at a time.
FEWEST_ROUNDED = 128
#: Rows per chunk of a pass over Q.
CHUNK = 65536


class Basis(Protocol):
    """What a readout needs of the rows that it is solved on, and of those that it is judged by."""

    #: Rows and columns of the targets.
    rows: int
    outputs: int

    def energies(self) -> list[Floats]:
        """``<E_q, E_q>`` of every output, and of those on the validation rows if there are any."""

    def propose(self, h: Any, shadow_h: Any = None) -> float:
        """Start with a new node, by its outputs here and on the validation rows; ``<h, h>``."""

    def project(self) -> Floats:
        """``Q^T q`` of what is left of the new node."""

    def subtract(self, step: Floats) -> float:
        """``q -= Q step``; ``<q, q>`` of what is left."""

    def scale(self, norm: float) -> Floats:
        """Divide q by its norm, or make it 0 where that is 0; ``q^T E``."""

    def commit(self, r: Floats, norm: float, c: Floats) -> None:
        """Let the new node join with the coefficients that all rows gave it."""

    def rewind(self, count: int, c: Floats) -> None:
        """Keep the first ``count`` nodes, with the residual exactly as it was after them."""


class Columns:
    """A growing list of float64 vectors in blocks, with the two products Gram-Schmidt needs."""

    def __init__(self, rows: int, chunk_map: ChunkMap):
        self.rows = rows
        self.count = 0
        self._map = chunk_map
        self._width = max(FEWEST_COLUMNS, BLOCK_NUMBERS // max(rows, 1))
        self._blocks: list[Floats] = []
        self._single: list[NDArray[np.float32]] = []
        self._single_width = max(FEWEST_ROUNDED, self._width)
        self._rounded = 0

    def __getitem__(self, index: int) -> Floats:
        return self._blocks[index // self._width][index % self._width]

    def append(self, column: Floats) -> None:
        if self.count == self._width * len(self._blocks):
            self._blocks.append(np.empty((self._width, self.rows)))
        self.count += 1
        self[self.count - 1][:] = column

    def pop(self) -> None:
        self.count -= 1
        self._rounded = min(self._rounded, self.count)
        if self.count <= self._width * (len(self._blocks) - 1):
            self._blocks.pop()
        del self._single[-(-self.count // self._single_width) :]

    def chunk(self, rows: slice) -> list[Floats]:
        """The rows in the slice, as a list of (columns of the block, rows) matrices."""
        return [b[: self.count - self._width * i, rows] for i, b in enumerate(self._blocks)]

    def round(self) -> None:
        """Round all columns to float32 too, each of them once; not safe from several threads."""
        while self._rounded < self.count:
            block, column = divmod(self._rounded, self._single_width)
            if block == len(self._single):
                self._single.append(np.empty((self._single_width, self.rows), dtype=np.float32))
            self._single[block][column] = self[self._rounded]
            self._rounded += 1

    def single(self, rows: slice) -> list[NDArray[np.float32]]:
        """Likewise in float32, of columns that have been rounded."""
        assert self._rounded == self.count
        width = self._single_width
        return [b[: self.count - width * i, rows] for i, b in enumerate(self._single)]

    def dot(self, vector: Floats) -> Floats:
        """``Q^T v`` of a vector, or of the columns of a matrix."""
        parts = self._map(lambda rows: self.dot_on(rows, vector[rows]), self.rows, CHUNK)
        return np.sum(parts, axis=0)

    def dot_on(self, rows: slice, vector: Floats) -> Floats:
        """Likewise on some rows, which alone are in ``vector``."""
        if not self.count:
            return np.zeros((0, *vector.shape[1:]))
        return np.concatenate([block @ vector for block in self.chunk(rows)])

    def subtract(self, vector: Floats, coefficients: Floats) -> None:
        """``v -= Q c``, in place."""

        def on(rows: slice) -> None:
            for i, block in enumerate(self.chunk(rows)):
                vector[rows] -= coefficients[self._width * i : self._width * (i + 1)] @ block

        self._map(on, self.rows, CHUNK)


class Shadow:
    """Other rows (validation) that follow the readout of the training rows node by node."""

    def __init__(self, targets: Floats, chunk_map: ChunkMap):
        self.targets = targets
        self.residual = targets.copy()
        self._q = Columns(len(targets), chunk_map)

    @property
    def energy(self) -> Floats:
        return energy_of(self.residual)

    @property
    def rmse(self) -> float:
        return rmse_of(self.energy, len(self.targets))

    def add(self, h: Floats, r: Floats, norm: float, c: Floats) -> None:
        """Take on a node with the coefficients that the training rows gave it."""
        q = np.array(h, dtype=np.float64)
        if norm:
            # The R of the training rows, so that q is the same function of the inputs as there; on
            # these rows the columns are not orthonormal, and need not be.
            self._q.subtract(q, r)
            q /= norm
        else:
            # A node that depends on the others has no direction of its own; its column of zeros
            # keeps the numbers of the columns those of the nodes.
            q[:] = 0.0
        self._q.append(q)
        self.residual -= np.outer(q, c)

    def rewind(self, count: int, c: Floats) -> None:
        while self._q.count > count:
            self._q.pop()
        _replay(self.residual, self.targets, self._q, c)


class LocalBasis:
    """The basis on rows in this process; a shadow has the validation rows."""

    def __init__(self, targets: Floats, chunk_map: ChunkMap, shadow: Shadow | None = None):
        self.targets = targets
        self.rows, self.outputs = targets.shape
        self.residual = targets.copy()
        self.shadow = shadow
        self.columns = Columns(len(targets), chunk_map)
        self._new = self._shadow_h = np.empty(0)

    def energies(self) -> list[Floats]:
        sides = [self] if self.shadow is None else [self, self.shadow]
        return [energy_of(side.residual) for side in sides]

    def propose(self, h: Floats, shadow_h: Floats | None = None) -> float:
        self._new = np.array(h, dtype=np.float64)
        if shadow_h is not None:
            self._shadow_h = shadow_h
        return float(self._new @ self._new)

    def project(self) -> Floats:
        return self.columns.dot(self._new)

    def subtract(self, step: Floats) -> float:
        self.columns.subtract(self._new, step)
        return float(self._new @ self._new)

    def scale(self, norm: float) -> Floats:
        if norm:
            self._new /= norm
        else:
            self._new[:] = 0.0
        return self._new @ self.residual

    def commit(self, r: Floats, norm: float, c: Floats) -> None:
        # The columns of Q are orthonormal: a new one takes its own part off the residual and leaves
        # the coefficients of the others as they are.
        self.residual -= np.outer(self._new, c)
        self.columns.append(self._new)
        if self.shadow is not None:
            self.shadow.add(self._shadow_h, r, norm, c)

    def rewind(self, count: int, c: Floats) -> None:
        while self.columns.count > count:
            self.columns.pop()
        _replay(self.residual, self.targets, self.columns, c)
        if self.shadow is not None:
            self.shadow.rewind(count, c)


def _replay(residual: Floats, targets: Floats, q: Columns, c: Floats) -> None:
    """Rebuild a residual by the very steps that made it, so that it is equal to the last bit."""
    residual[:] = targets
    for k in range(q.count):
        residual -= np.outer(q[k], c[k])


def energy_of(residual: Floats) -> Floats:
    """``<E_q, E_q>`` of every output."""
    return np.einsum("iq,iq->q", residual, residual)


def rmse_of(energy: Floats, rows: int) -> float:
    return float(np.sqrt(energy.mean() / rows))
