"""The readout's equations of many rows, for nodes that fire or not, by counts of pairs.

A triangular factor of all rows takes some thousand times as long as the look-ups that the nodes
are. Products of bits are counts, 64 rows at a time and exact, and what the readout needs of them is
a matrix of nodes by nodes, which is added up chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer
from scm_train.chunks import ChunkMap, row_chunks
from scm_train.encode.rows import Rows
from scm_train.search.candidates import Candidates
from scm_train.search.layer_inputs import LayerInputs, NodeInputs, first_inputs
from scm_train.search.node_store import NodeStore
from scm_train.search.responses import Batch, packed_outputs
from scm_train.solve.bit_readout import BitNodes, WholeNumbers
from scm_train.solve.further_rows import RestOfRows
from scm_train.solve.linear import LinearPart

__all__ = ["bit_system"]

Floats = NDArray[np.float64]

#: Chunks whose sums are kept apart until the end, whatever the number of threads.
SHARES = 16
#: Rows at a time: the bits of a thousand nodes stay in a core's own cache.
PIECE = 1 << 13
#: Smaller eigenvalues, relative to the largest, are rounding: nodes that depend on each other.
RANK = 1e-13
#: One thread each.
SERIAL = ChunkMap(None)


def bit_system(
    rest: RestOfRows, layers: Sequence[Layer], linear: LinearPart, chunk_map: ChunkMap
) -> tuple[Floats, Floats]:
    """As :meth:`RestOfRows.system`, of sign and step nodes of binary weights.

    It has as many equations as nodes, or fewer where nodes depend on each other.
    """
    nodes, outputs = sum(layer.nodes for layer in layers), rest.targets.shape[1]

    def on(share: slice) -> tuple[Floats, Floats]:
        gram, moments = np.zeros((nodes, nodes)), np.zeros((nodes, outputs))
        for rows in row_chunks(share.stop - share.start, PIECE):
            own = slice(share.start + rows.start, share.start + rows.stop)
            fired = _fired(rest.rows.part(own), layers)
            left = rest.targets[own] - linear(rest.rows.seen(own))
            gram += fired.gram
            moments += WholeNumbers.of(left).products(fired)
        return gram, moments

    size = PIECE * max(1, -(-len(rest) // (PIECE * SHARES)))
    parts = chunk_map(on, len(rest), size)
    gram, moments = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    values, vectors = np.linalg.eigh(gram)
    kept = values > RANK * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    # H^T H = V D V^T: R = D^(1/2) V^T has R^T R = H^T H, and C = D^(-1/2) V^T H^T T has R^T C = H^T
    # T.
    return roots[:, None] * vectors.T, vectors.T @ moments / roots[:, None]


def _fired(rows: Rows, layers: Sequence[Layer]) -> BitNodes:
    """The outputs of all nodes, by the very steps that configured them."""
    count, found = len(rows), []
    inputs: LayerInputs = first_inputs(rows)
    for number, layer in enumerate(layers):
        weights = layer.effective_weights(None if number else inputs.groups)
        nodes = Candidates(weights, layer.mask, layer.biases)
        # A scale cannot change a sign.
        words = packed_outputs(Batch(nodes, 1.0, inputs, layer.activation), count, SERIAL)
        found.append(BitNodes.of(words, layer.activation, count))
        inputs = NodeInputs(NodeStore.of_words(words, layer.activation, count))
    return BitNodes.joined(found)
