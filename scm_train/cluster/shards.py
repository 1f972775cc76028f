"""A part of the rows on a worker of a cluster: what is done there, and what little leaves it.

Candidates come in; sums over the rows go out. The inputs stay there in coded form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Encoder, Layer, Mechanism, NoMechanism
from scm_model.scaling import to_unit
from scm_train.chunks import ChunkMap
from scm_train.encode.rows import CodedRows, ScaledRows
from scm_train.growth.margin import Gap
from scm_train.growth.rows import LocalRows, Part
from scm_train.search.aim import products_on
from scm_train.search.candidates import Candidates
from scm_train.search.responses import Batch
from scm_train.search.search import Configuration
from scm_train.solve.basis import LocalBasis
from scm_train.solve.further_rows import RestOfRows
from scm_train.solve.linear import LinearPart
from scm_train.training.targets import unexplained

__all__ = ["HELD", "REST", "TRAINING", "Frame", "Node", "Shard"]

Floats = NDArray[np.float64]
#: What a row is for: nodes and readout, validation, or the readout alone.
TRAINING, HELD, REST = 0, 1, 2
#: A worker has one thread for its shards.
SERIAL = ChunkMap(None)


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
            targets = (y[:, None] == self.classes[None]).astype(np.float64)
        else:
            targets = to_unit(y.reshape(len(y), len(self.target_min)), *span)
        return unexplained(rows, targets, span, self.mechanism)


@dataclass(frozen=True, eq=False)
class Node:
    """Candidates under one lambda, or a single node, as they travel."""

    candidates: Candidates
    lambda_: float
    activation: str


class Shard:
    """The rows of one chunk; made on the worker that has them, and used there.

    Training in memory and here are of the same :class:`LocalRows` and :class:`LocalBasis`; a shard
    only keeps the newest node's outputs from one step to the next.
    """

    def __init__(
        self, x: NDArray, y: NDArray, roles: NDArray[np.uint8] | None, role: int, frame: Frame
    ):
        """``roles`` says what each row is for; without it, all are for ``role``."""
        if roles is None:
            roles = np.full(len(x), role, dtype=np.uint8)
        training, held, rest = (
            _part(x[roles == own], y[roles == own], frame) for own in (TRAINING, HELD, REST)
        )
        self.rows = LocalRows(training, held, RestOfRows(rest.rows, rest.targets), SERIAL)
        self.basis: LocalBasis
        self._new: tuple[Floats, Floats | None]

    def catch_up(self, told: list[tuple[str, tuple[Any, ...]]]) -> None:
        """Repeat the instructions that the other shards have received."""
        for method, arguments in told:
            getattr(self, method)(*arguments)

    def counts(self) -> tuple[int, int, int]:
        return self.rows.rows, self.rows.validation_rows, self.rows.further_rows

    def totals(self) -> tuple[Floats, Floats]:
        return self.rows.linear_sums().totals()

    def centred_moments(self, x_mean: Floats, t_mean: Floats) -> tuple[Floats, Floats]:
        return self.rows.linear_sums().centred_moments(x_mean, t_mean)

    def linear_error(self, linear: LinearPart) -> float:
        return self.rows.linear_error(linear)

    def begin(self, linear: LinearPart) -> list[Floats]:
        """Take the linear part off the targets; the energy left, of both sides."""
        self.rows.take_off(linear)
        self.basis = self.rows.basis()
        return self.basis.energies()

    def open_layer(self, activation: str) -> None:
        self.rows.open_layer(activation)

    def close_layer(self) -> None:
        self.rows.close_layer()

    def take(self, indices: NDArray[np.integer]) -> Floats:
        """Inputs of the current layer on some training rows."""
        return self.rows.inputs.take(indices)

    def moments(self, node: Node, exact: bool) -> tuple[Floats, Floats, Floats]:
        """The products of candidates with residual and, to be exact, the nodes before."""
        batch = Batch(node.candidates, node.lambda_, self.rows.inputs, node.activation)
        return products_on(batch, self.basis, exact, SERIAL)

    def gap(self, node: Node) -> Gap:
        """The gap of a node between its sums on the training rows."""
        return self.rows.gap(node.candidates, node.activation)

    def propose(self, node: Node | int) -> tuple[Floats, float]:
        """Start with a new node, or the newest layer's of that number; ``Q^T h`` and ``<h, h>``."""
        if isinstance(node, int):
            self._new = self.rows.outputs_kept(node)
        else:
            found = Configuration(node.candidates, node.lambda_, float("nan"), None)
            self._new = self.rows.outputs_of(found, node.activation)
        square = self.basis.propose(*self._new)
        return self.basis.project(), square

    def subtract(self, step: Floats) -> tuple[Floats, float]:
        """Take ``Q step`` off the new node; what is left, as in `propose`."""
        square = self.basis.subtract(step)
        return self.basis.project(), square

    def scale(self, norm: float) -> Floats:
        return self.basis.scale(norm)

    def commit(self, r: Floats, norm: float, c: Floats) -> list[Floats]:
        """Let the new node join, with ``c`` of all shards; the energy left, of both sides."""
        self.basis.commit(r, norm, c)
        return self.basis.energies()

    def append(self) -> None:
        """Let the new node join the newest layer, too."""
        self.rows.append(*self._new)

    def pop(self, count: int) -> None:
        self.rows.pop(count)

    def keep(self, which: Sequence[int]) -> None:
        self.rows.keep(which)

    def rewind(self, count: int, c: Floats) -> list[Floats]:
        self.basis.rewind(count, c)
        return self.basis.energies()

    def validation_system(self) -> tuple[Floats, Floats]:
        """As that of all its rows, in no more equations than nodes."""
        hidden, targets = self.rows.validation_system()
        # R^T R = H^T H and R^T Q^T T = H^T T: the rows themselves need not leave the worker.
        q, r = np.linalg.qr(hidden)
        return r, q.T @ targets

    def further_system(
        self, layers: tuple[Layer, ...], linear: LinearPart
    ) -> tuple[Floats, Floats]:
        return self.rows.further_system(layers, linear)

    def square_errors(self, side: int, readouts: Floats) -> Floats:
        return self.rows.square_errors(side, readouts)


def _part(x: NDArray, y: NDArray, frame: Frame) -> Part:
    rows = ScaledRows(x, frame.low, frame.high, frame.encoder)
    return Part(CodedRows(rows), frame.targets(rows, y))
