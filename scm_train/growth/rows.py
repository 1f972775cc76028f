"""The rows that a machine grows on: what the steps of growth ask of them.

Growth sees no row. It asks a source for sums over rows, and tells it which nodes join and leave.
:class:`LocalRows` has its rows in this process; on a cluster each worker has a :class:`LocalRows`
of its share, and their answers are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer
from scm_train.chunks import ChunkMap, row_chunks
from scm_train.encode.rows import Rows
from scm_train.growth.further_bits import bit_system
from scm_train.growth.margin import Gap, node_gap
from scm_train.search.candidates import Candidates
from scm_train.search.layer_inputs import LayerInputs, NodeInputs, first_inputs
from scm_train.search.node_store import NodeStore
from scm_train.search.responses import node_outputs
from scm_train.search.search import Configuration
from scm_train.solve.basis import LocalBasis
from scm_train.solve.bit_readout import BitReadout, Residual
from scm_train.solve.further_rows import RestOfRows
from scm_train.solve.linear import LinearPart, LinearSums, LocalSums
from scm_train.solve.readout import OrthogonalReadout, Readout, Shadow

__all__ = ["TRAINING", "VALIDATION", "LocalRows", "Part", "RowSource"]

Floats = NDArray[np.float64]

#: The two sides of the rows that nodes are configured on and judged by.
TRAINING, VALIDATION = 0, 1
#: Rows per chunk where the final readout looks at all nodes.
CHUNK_ROWS = 1 << 15
#: Outputs of nodes that are written down at once; of more rows some, evenly spread.
MOST_NUMBERS = 1 << 26


@dataclass(frozen=True, eq=False)
class Part:
    """Rows with their targets (rows, outputs): normalised, and less the mechanism."""

    rows: Rows
    targets: Floats


class RowSource(Protocol):
    """Rows to train on, to validate on, and those that only linear part and readout see."""

    rows: int
    validation_rows: int
    further_rows: int
    features: int
    outputs: int
    #: What the nodes of the newest layer see.
    inputs: LayerInputs

    def linear_sums(self) -> LinearSums:
        """The sums that the linear part is fitted to."""

    def linear_error(self, linear: LinearPart) -> float:
        """The sum of squares that a linear part leaves on the validation rows."""

    def begin(self, linear: LinearPart, pool: bool) -> OrthogonalReadout | BitReadout:
        """Take the linear part off the targets; an empty readout of what is left."""

    def open_layer(self, activation: str) -> None:
        """Let further nodes see those of the layer before."""

    def close_layer(self) -> None:
        """Forget the newest layer, which stayed empty."""

    def gap(self, node: Candidates, activation: str) -> Gap:
        """The gap of a node between its sums on the training rows."""

    def outputs_of(self, found: Configuration, activation: str) -> tuple[Any, Any]:
        """A node's outputs on training and validation rows, as readout and `append` take them."""

    def append(self, h: Any, validation_h: Any) -> None:
        """Let a node join the newest layer."""

    def pop(self, count: int) -> None:
        """Forget the newest nodes of the newest layer."""

    def keep(self, which: Sequence[int]) -> None:
        """Forget all nodes of the newest layer but these."""

    def outputs_kept(self, k: int) -> tuple[Any, Any]:
        """The outputs of a node of the newest layer, as `outputs_of` has them."""

    def validation_system(self) -> tuple[Floats, Floats]:
        """``R`` and ``C`` with ``R^T R = H^T H`` and ``R^T C = H^T T`` of the validation rows."""

    def further_system(
        self, layers: tuple[Layer, ...], linear: LinearPart
    ) -> tuple[Floats, Floats]:
        """Likewise of the rows that only linear part and readout see."""

    def outputs_and_targets(self, side: int) -> tuple[Floats, Floats]:
        """Outputs of all nodes and what the linear part leaves of the targets, on some rows."""

    def square_errors(self, side: int, readouts: Floats) -> Floats:
        """The sum of squares that each readout (number, nodes, outputs) leaves on one side."""


class _Side:
    """The rows of one part on their way through the layers."""

    def __init__(self, part: Part, linear: LinearPart, chunk_map: ChunkMap):
        self.count = len(part.rows)
        self.inputs: LayerInputs = first_inputs(part.rows)
        self.stores: list[NodeStore] = []
        self.targets = _remainder(part, linear, chunk_map)

    def open_layer(self, activation: str) -> None:
        if self.stores:
            self.inputs = NodeInputs(self.stores[-1])
        self.stores.append(NodeStore(self.count, activation))

    def hidden(self, chunk: slice) -> Floats:
        """The outputs (rows in the slice, nodes) of all nodes of all layers."""
        # A store has one node after the other; so has this.
        parts = [store.chunk(chunk).T for store in self.stores]
        if len(parts) == 1:
            return parts[0].T
        return np.concatenate([*parts, np.empty((0, chunk.stop - chunk.start))]).T


class LocalRows:
    """Rows in this process."""

    def __init__(
        self, part: Part, validation: Part | None, rest: RestOfRows | None, chunk_map: ChunkMap
    ):
        self.rows, self.outputs = part.targets.shape
        self.features = part.rows.features
        self.validation_rows = 0 if validation is None else len(validation.rows)
        self.further_rows = 0 if rest is None else len(rest)
        self._parts, self._rest, self.map = [part, validation], rest, chunk_map
        self._sides: list[_Side] = []

    @property
    def inputs(self) -> LayerInputs:
        return self._sides[TRAINING].inputs

    def linear_sums(self) -> LinearSums:
        own = [part for part in (self._parts[TRAINING], self._rest) if part is not None]
        return LocalSums([(part.rows, part.targets) for part in own], self.map)

    def linear_error(self, linear: LinearPart) -> float:
        held = self._parts[VALIDATION]
        return 0.0 if held is None else float(np.sum(_remainder(held, linear, self.map) ** 2))

    def begin(self, linear: LinearPart, pool: bool) -> Readout | BitReadout:
        self.take_off(linear)
        own, held = self._targets()
        if pool:
            return BitReadout(own, self.map, None if held is None else Residual(held, self.map))
        return Readout(own, self.map, None if held is None else Shadow(held, self.map))

    def basis(self) -> LocalBasis:
        """An empty basis, for a readout that is elsewhere."""
        own, held = self._targets()
        return LocalBasis(own, self.map, None if held is None else Shadow(held, self.map))

    def take_off(self, linear: LinearPart) -> None:
        """Take the linear part off the targets; from here on the coded form is all it takes."""
        self._sides = [_Side(part, linear, self.map) for part in self._parts if part is not None]
        # Raw rows are not asked for again, and their memory can go.
        self._parts = []

    def _targets(self) -> tuple[Floats, Floats | None]:
        own, *held = (side.targets for side in self._sides)
        return own, held[0] if held else None

    def open_layer(self, activation: str) -> None:
        for side in self._sides:
            side.open_layer(activation)

    def close_layer(self) -> None:
        for side in self._sides:
            side.stores.pop()

    def gap(self, node: Candidates, activation: str) -> Gap:
        return node_gap(node, self.inputs, activation, self.rows, self.map)

    def outputs_of(self, found: Configuration, activation: str) -> tuple[Floats, Floats | None]:
        own, *held = self._sides
        h = self._outputs(own, found, activation) if found.h is None else found.h
        return h, self._outputs(held[0], found, activation) if held else None

    def _outputs(self, side: _Side, found: Configuration, activation: str) -> Floats:
        node, lambda_ = found.node, found.lambda_
        return node_outputs(node, lambda_, side.inputs, activation, side.count, self.map)[0]

    def append(self, h: Floats, validation_h: Floats | None) -> None:
        # Without validation rows there is one side, and nothing to append to another.
        for side, outputs in zip(self._sides, (h, validation_h), strict=False):
            side.stores[-1].append(outputs)

    def pop(self, count: int) -> None:
        for side in self._sides:
            for _ in range(count):
                side.stores[-1].pop()

    def keep(self, which: Sequence[int]) -> None:
        for side in self._sides:
            side.stores[-1].keep(which)

    def outputs_kept(self, k: int) -> tuple[Floats, Floats | None]:
        own, *held = (side.stores[-1].column(k) for side in self._sides)
        return own, held[0] if held else None

    def validation_system(self) -> tuple[Floats, Floats]:
        side = self._sides[VALIDATION]
        return side.hidden(slice(0, side.count)), side.targets

    def further_system(
        self, layers: tuple[Layer, ...], linear: LinearPart
    ) -> tuple[Floats, Floats]:
        assert self._rest is not None
        if all(layer.hard and layer.binary for layer in layers):
            return bit_system(self._rest, layers, linear, self.map)
        return self._rest.system(layers, linear, self.map)

    def outputs_and_targets(self, side: int) -> tuple[Floats, Floats]:
        if side >= len(self._sides):
            return np.empty((0, 0)), np.empty((0, self.outputs))
        own = self._sides[side]
        nodes = max(1, sum(len(store) for store in own.stores))
        stride = max(1, -(-own.count * nodes // MOST_NUMBERS))
        chunks = row_chunks(own.count, CHUNK_ROWS)
        some = [own.hidden(chunk)[::stride] for chunk in chunks]
        left = [own.targets[chunk][::stride] for chunk in chunks]
        return np.concatenate(some), np.concatenate(left)

    def square_errors(self, side: int, readouts: Floats) -> Floats:
        own = self._sides[side]

        def on(rows: slice) -> Floats:
            error = own.targets[rows] - own.hidden(rows) @ readouts
            return np.einsum("kiq,kiq->k", error, error)

        return np.sum(self.map(on, own.count, CHUNK_ROWS), axis=0)


def _remainder(part: Part, linear: LinearPart, chunk_map: ChunkMap) -> Floats:
    """The targets less the linear part."""
    left = np.array(part.targets, dtype=np.float64)
    if linear.weights.any() or linear.intercept.any():

        def on(rows: slice) -> None:
            left[rows] -= linear(part.rows.seen(rows))

        chunk_map(on, len(left), CHUNK_ROWS)
    return left
