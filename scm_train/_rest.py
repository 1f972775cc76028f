"""Training rows beyond those that nodes are configured on: only the readout sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import ChunkMap
from scm_train.inputs import Rows
from scm_train.linear import LinearPart
from scm_train.machine import HiddenLayers, Layer

__all__ = ["RestOfRows"]

Floats = NDArray[np.float64]

#: Rows per factorisation.
CHUNK = 1 << 15


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

        def on(chunk: slice) -> Floats:
            h = np.concatenate(list(hidden.outputs(self.rows.unit(chunk))), axis=1)
            left = self.targets[chunk] - linear(self.rows.seen(chunk))
            # What lies below the nodes' part of the factor is error that no readout removes.
            return np.linalg.qr(np.concatenate([h, left], axis=1), mode="r")[:nodes]

        factor = np.concatenate(chunk_map(on, len(self), CHUNK))
        if len(factor) > nodes + CHUNK:
            factor = np.linalg.qr(factor, mode="r")[:nodes]
        return factor[:, :nodes], factor[:, nodes:]
