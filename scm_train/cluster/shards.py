"""A part of the rows on a worker of a cluster: what is done there, and what little leaves it.

A shard keeps the inputs of its rows in coded form, the residual, and the nodes' orthonormal basis.
Candidates come in; sums over the rows go out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Encoder, HiddenLayers, Layer, Mechanism, NoMechanism
from scm_model.scaling import to_unit
from scm_train.activations import HARDWARE_ACTIVATIONS, activate
from scm_train.chunks import row_chunks
from scm_train.encode.rows import CHUNK, ScaledRows
from scm_train.growth.margin import Gap, gap_of, joined
from scm_train.search.layer_inputs import (
    LayerInputs,
    NodeInputs,
    exact_in_float32,
    first_inputs,
)
from scm_train.search.node_store import NodeStore
from scm_train.solve.further_rows import PIECE, upper

__all__ = ["HELD", "REST", "TRAINING", "Frame", "Node", "Shard"]

Floats = NDArray[np.float64]
#: What a row is for: nodes and readout, validation, or the readout alone.
TRAINING, HELD, REST = 0, 1, 2
#: Rows on which candidates are evaluated at a time.
CANDIDATE_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Frame:
    """What all shards must agree in: ranges, the encoder, the mechanism, the classes."""

    low: Floats
    high: Floats
    target_min: Floats
    target_max: Floats
    encoder: Encoder
    classes: NDArray | None = None
    mechanism: Mechanism = field(default_factory=NoMechanism)

    def targets(self, rows: ScaledRows, y: NDArray) -> Floats:
        """Targets (n, m), normalised and less the mechanism."""
        span = (self.target_min, self.target_max)
        if self.classes is not None:
            left = (y[:, None] == self.classes[None]).astype(np.float64)
        else:
            left = to_unit(y.reshape(len(y), len(self.target_min)), *span)
        if self.mechanism.kind != "none":
            for chunk in row_chunks(len(rows), CHUNK):
                left[chunk] -= self.mechanism.values(rows.x[chunk], rows.seen(chunk), *span)
        return left


@dataclass(frozen=True, eq=False)
class Node:
    """Candidates, or a single node, as they travel."""

    weights: NDArray
    biases: Floats
    lambda_: float
    activation: str


@dataclass(eq=False)
class _Side:
    """Training or validation rows of a shard."""

    inputs: LayerInputs
    targets: Floats
    seen: NDArray | None
    stores: list[NodeStore] = field(default_factory=list)
    basis: list[Floats] = field(default_factory=list)
    residual: Floats = field(default_factory=lambda: np.empty(0))
    q: Floats = field(default_factory=lambda: np.empty(0))
    h: Floats = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.targets)

    def outputs(self, node: Node, rows: slice) -> Floats:
        """``phi(lambda (w h + b))`` (candidates, rows in the slice) in float64."""
        whole = exact_in_float32(self.inputs, node.weights)
        dtype = np.float32 if whole else np.float64
        sums = self.inputs.sums(node.weights, np.zeros(len(node.biases)), dtype)
        z = sums(rows).T + node.biases[:, None]
        if node.activation not in HARDWARE_ACTIVATIONS:
            # Out of range is far in the saturated part, where it belongs.
            with np.errstate(over="ignore"):
                z *= node.lambda_
        h = np.empty(z.shape)
        activate(node.activation, z, out=h)
        return h

    def matrix(self, rows: slice) -> Floats:
        """The basis (columns, rows in the slice)."""
        return np.array([q[rows] for q in self.basis]).reshape(-1, rows.stop - rows.start)

    def hidden(self, rows: slice) -> Floats:
        """The outputs of all nodes of all layers."""
        parts = [store.chunk(rows) for store in self.stores]
        return np.concatenate(parts, axis=1) if parts else np.empty((rows.stop - rows.start, 0))

    def energy(self) -> Floats:
        return np.einsum("iq,iq->q", self.residual, self.residual)


@dataclass(eq=False)
class _Rest:
    """Rows of a shard that only the readout sees."""

    targets: Floats
    seen: NDArray

    def __len__(self) -> int:
        return len(self.targets)


class Shard:
    """The rows of one chunk; made on the worker that has them, and used there."""

    def __init__(
        self, x: NDArray, y: NDArray, roles: NDArray[np.uint8] | None, role: int, frame: Frame
    ):
        """``roles`` says what each row is for; without it, all are for ``role``."""
        if roles is None:
            roles = np.full(len(x), role, dtype=np.uint8)
        self.encoder = frame.encoder
        self.sides = [_side(x[roles == own], y[roles == own], frame) for own in (TRAINING, HELD)]
        self.rest = _rest(x[roles == REST], y[roles == REST], frame)

    def catch_up(self, told: list[tuple[str, tuple[Any, ...]]]) -> None:
        """Do what the other shards have been told to do."""
        for method, arguments in told:
            getattr(self, method)(*arguments)

    def counts(self) -> tuple[int, int, int]:
        return len(self.sides[0]), len(self.sides[1]), len(self.rest)

    def totals(self) -> tuple[Floats, Floats]:
        """Sums of the inputs and targets that the linear part is fitted on."""
        x_total, t_total = np.zeros(self.rest.seen.shape[1]), np.zeros(self.rest.targets.shape[1])
        for x, t in self._fitted():
            x_total += x.sum(axis=0)
            t_total += t.sum(axis=0)
        return x_total, t_total

    def centred_moments(self, x_mean: Floats, t_mean: Floats) -> tuple[Floats, Floats]:
        """``X^T X`` and ``X^T T`` of the same rows, less their means."""
        gram, cross = np.zeros((len(x_mean),) * 2), np.zeros((len(x_mean), len(t_mean)))
        for x, t in self._fitted():
            x -= x_mean
            gram += x.T @ x
            cross += x.T @ (t - t_mean)
        return gram, cross

    def _fitted(self) -> Iterator[tuple[Floats, Floats]]:
        """Inputs and targets of all but the validation rows, some rows at a time."""
        for side in (self.sides[0], self.rest):
            for rows in row_chunks(len(side), CHUNK):
                yield self._seen(side, rows).astype(np.float64), side.targets[rows]

    def begin(self, weights: Floats, intercept: Floats) -> list[Floats]:
        """Take the linear part off the targets; the energy left, of both sides."""
        for side in self.sides:
            for rows in row_chunks(len(side), CHUNK):
                side.targets[rows] -= self._seen(side, rows) @ weights + intercept
            # From here on the coded form is all that is needed.
            side.seen = None
            side.residual = side.targets.copy()
        for rows in row_chunks(len(self.rest), CHUNK):
            self.rest.targets[rows] -= self._seen(self.rest, rows) @ weights + intercept
        return self._energies()

    def open_layer(self, activation: str) -> None:
        for side in self.sides:
            if side.stores:
                side.inputs = NodeInputs(side.stores[-1])
            side.stores.append(NodeStore(len(side), activation))

    def take(self, indices: NDArray[np.integer]) -> Floats:
        """Inputs of the current layer on some training rows."""
        return self.sides[0].inputs.take(indices)

    def moments(self, node: Node, exact: bool) -> tuple[Floats, Floats, Floats]:
        """``<E_q, h>``, ``<h, h>`` and, to be exact, ``Q^T h`` of all candidates."""
        side = self.sides[0]
        count, nodes = len(node.biases), len(side.basis) if exact else 0
        inner = np.zeros((side.targets.shape[1], count))
        norm, inside = np.zeros(count), np.zeros((nodes, count))
        for rows in row_chunks(len(side), CANDIDATE_ROWS):
            h = side.outputs(node, rows)
            inner += side.residual[rows].T @ h.T
            norm += np.einsum("ti,ti->t", h, h)
            if nodes:
                inside += side.matrix(rows) @ h.T
        return inner, norm, inside

    def gap(self, node: Node) -> Gap:
        """The gap of the next node between its sums on the training rows."""
        side = self.sides[0]
        sums = side.inputs.sums(node.weights, np.zeros(1), np.float64)
        bias = float(node.biases[0])
        chunks = row_chunks(len(side), CHUNK)
        return joined(gap_of(sums(rows)[:, 0], bias, node.activation) for rows in chunks)

    def propose(self, node: Node) -> tuple[Floats, float]:
        """Evaluate the next node on all rows; ``Q^T h`` and ``<h, h>`` of the training rows."""
        for side in self.sides:
            parts = [side.outputs(node, rows)[0] for rows in row_chunks(len(side), CHUNK)]
            side.h = np.concatenate(parts) if parts else np.empty(0)
            side.q = side.h.copy()
        return self._projection()

    def subtract(self, step: Floats) -> tuple[Floats, float]:
        """Take ``Q step`` off the new node's training rows; what is left, as in `propose`."""
        side = self.sides[0]
        for rows in row_chunks(len(side), CHUNK):
            side.q[rows] -= step @ side.matrix(rows)
        return self._projection()

    def _projection(self) -> tuple[Floats, float]:
        side = self.sides[0]
        found = np.zeros(len(side.basis))
        for rows in row_chunks(len(side), CHUNK):
            found += side.matrix(rows) @ side.q[rows]
        return found, float(side.q @ side.q)

    def scale(self, norm: float) -> Floats:
        """Make the new node's direction a unit vector (0 for a dependent one); its ``q^T E``."""
        side = self.sides[0]
        if norm:
            side.q /= norm
        else:
            side.q[:] = 0.0
        return side.q @ side.residual

    def commit(self, r: Floats, norm: float, c: Floats) -> list[Floats]:
        """Let the new node join, with ``c`` of all shards; the energy left, of both sides."""
        other = self.sides[1]
        for rows in row_chunks(len(other), CHUNK):
            other.q[rows] -= r @ other.matrix(rows)
        other.q = other.q / norm if norm else np.zeros(len(other))
        for side in self.sides:
            side.residual -= np.outer(side.q, c)
            side.basis.append(side.q)
            side.stores[-1].append(side.h)
        return self._energies()

    def rewind(self, removed: int, c: Floats) -> list[Floats]:
        """Forget the newest nodes, with the residual exactly as it was before them."""
        for side in self.sides:
            for _ in range(removed):
                side.basis.pop()
                side.stores[-1].pop()
            side.residual = side.targets.copy()
            for q, own in zip(side.basis, c, strict=True):
                side.residual -= np.outer(q, own)
        return self._energies()

    def validation_system(self) -> tuple[Floats, Floats]:
        """``R`` and ``Q^T T`` that stand for the validation rows in a least-squares problem."""
        side = self.sides[1]
        q, r = np.linalg.qr(side.hidden(slice(0, len(side))))
        return r, q.T @ side.targets

    def rest_system(self, layers: tuple[Layer, ...]) -> tuple[Floats, Floats]:
        """As :meth:`scm_train.solve.further_rows.RestOfRows.system`, of this shard."""
        hidden, nodes = HiddenLayers(self.encoder, layers), sum(one.nodes for one in layers)
        factor = np.empty((0, nodes + self.rest.targets.shape[1]))
        for rows in row_chunks(len(self.rest), PIECE):
            h = np.concatenate(list(hidden.outputs(self._seen(self.rest, rows))), axis=1)
            own = np.concatenate([h, self.rest.targets[rows]], axis=1)
            factor = upper(np.concatenate([factor, own]), nodes)
        return factor[:, :nodes], factor[:, nodes:]

    def square_errors(self, side: int, readouts: Floats) -> Floats:
        """The sum of squares that each of several readouts leaves on one side."""
        found, one = np.zeros(len(readouts)), self.sides[side]
        for rows in row_chunks(len(one), CANDIDATE_ROWS):
            error = one.targets[rows] - one.hidden(rows) @ readouts
            found += np.einsum("kiq,kiq->k", error, error)
        return found

    def _energies(self) -> list[Floats]:
        return [side.energy() for side in self.sides]

    def _seen(self, side: _Side | _Rest, rows: slice) -> Floats:
        """Inputs as the linear part sees them."""
        assert side.seen is not None
        if self.encoder.input_bits is None:
            return side.seen[rows]
        return self.encoder.dequantise(side.seen[rows])


def _side(x: NDArray, y: NDArray, frame: Frame) -> _Side:
    rows = ScaledRows(x, frame.low, frame.high, frame.encoder)
    return _Side(first_inputs(rows), frame.targets(rows, y), _compact(rows))


def _rest(x: NDArray, y: NDArray, frame: Frame) -> _Rest:
    rows = ScaledRows(x, frame.low, frame.high, frame.encoder)
    return _Rest(frame.targets(rows, y), _compact(rows))


def _compact(rows: ScaledRows) -> NDArray:
    """The inputs, as codes where the machine sees no more than those."""
    unit = rows.unit(slice(0, len(rows)))
    assert rows.encoder is not None
    bits = rows.encoder.input_bits
    return unit if bits is None else rows.encoder.codes(unit).astype(_smallest(bits))


def _smallest(bits: int) -> type:
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32
