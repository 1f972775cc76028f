"""Training rows beyond those that nodes are configured on, for linear part and readout."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_model import HiddenLayers, Layer
from scm_train.chunks import ChunkMap, row_chunks
from scm_train.encode.rows import Rows
from scm_train.solve.linear import LinearPart

__all__ = ["RestOfRows", "stacked"]

Floats = NDArray[np.float64]

#: Rows whose factors are kept apart until the end, so that threads need not wait for each other.
CHUNK = 1 << 16
#: Rows per factorisation: few enough for the caches.
PIECE = 1 << 13


class RestOfRows:
    """Rows with their targets (rows, outputs): normalised, and less the mechanism."""

    def __init__(self, rows: Rows, targets: Floats):
        self.rows = rows
        self.targets = targets

    def __len__(self) -> int:
        return len(self.rows)

    def system(
        self, layers: tuple[Layer, ...], linear: LinearPart, chunk_map: ChunkMap
    ) -> tuple[Floats, Floats]:
        """``R`` (k, nodes) and ``C`` (k, outputs) with ``R^T R = H^T H`` and ``R^T C = H^T T``.

        The factor of all rows is that of the factors of their chunks, one below the other.
        """
        assert self.rows.encoder is not None
        hidden = HiddenLayers(self.rows.encoder, layers)
        nodes = sum(layer.nodes for layer in layers)

        def piece(rows: slice) -> Floats:
            h = np.concatenate(list(hidden.outputs(self.rows.unit(rows))), axis=1)
            left = self.targets[rows] - linear(self.rows.seen(rows))
            return np.concatenate([h, left], axis=1)

        def on(chunk: slice) -> Floats:
            factor = np.empty((0, nodes + self.targets.shape[1]))
            for rows in row_chunks(chunk.stop - chunk.start, PIECE):
                own = piece(slice(chunk.start + rows.start, chunk.start + rows.stop))
                # [R; H'] has the same Gram matrix as all rows so far, so that Q is never needed.
                factor = upper(np.concatenate([factor, own]), nodes)
            return factor

        factor = upper(np.concatenate(chunk_map(on, len(self), CHUNK)), nodes)
        return factor[:, :nodes], factor[:, nodes:]


def stacked(*systems: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Several systems as one of no more equations than nodes."""
    nodes = systems[0][0].shape[1]
    rows = [np.concatenate(system, axis=1) for system in systems]
    factor = upper(np.concatenate(rows), nodes)
    return factor[:, :nodes], factor[:, nodes:]


def upper(matrix: Floats, nodes: int) -> Floats:
    """The nodes' part of the triangular factor; below it is error that no readout removes."""
    return np.linalg.qr(matrix, mode="r")[:nodes]
