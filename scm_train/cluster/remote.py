"""The rows that a machine grows on, where they are on the workers of a cluster.

Growth, search and readout are those of training in memory. What they ask of the rows is asked of
all shards here, and the answers are added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer
from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.cluster.coordinator import Cluster
from scm_train.cluster.shards import Floats, Node
from scm_train.growth.margin import Gap, joined
from scm_train.search.candidates import Candidates
from scm_train.search.moments import Moments
from scm_train.search.responses import Batch
from scm_train.search.search import Configuration
from scm_train.solve.further_rows import stacked
from scm_train.solve.linear import LinearPart
from scm_train.solve.readout import OrthogonalReadout

__all__ = ["RemoteRows", "RemoteScoring"]


class RemoteRows:
    """The rows of all shards, as :class:`scm_train.growth.rows.LocalRows` has them here.

    The shards have the outputs of nodes; a node, or its number, stands for them.
    """

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.rows, self.validation_rows = cluster.rows, cluster.held
        self.further_rows = cluster.rest
        self.features, self.outputs = cluster.features, cluster.outputs
        self.inputs = _Inputs(cluster, cluster.groups, cluster.unit)
        #: Nodes and activation of each layer.
        self._nodes: list[int] = []
        self._activations: list[str] = []

    def linear_sums(self) -> _Sums:
        return _Sums(self.cluster)

    def linear_error(self, linear: LinearPart) -> float:
        return float(np.sum(self.cluster.ask("linear_error", linear)))

    def begin(self, linear: LinearPart, pool: bool) -> OrthogonalReadout:
        assert not pool
        energies = self.cluster.sums("begin", linear)
        return OrthogonalReadout(_Basis(self.cluster, energies), self.validation_rows)

    def open_layer(self, activation: str) -> None:
        self.cluster.ask("open_layer", activation)
        if self._nodes:
            unit = int(self._activations[-1] in HARDWARE_ACTIVATIONS)
            self.inputs = _Inputs(self.cluster, np.arange(self._nodes[-1]), unit)
        self._nodes.append(0)
        self._activations.append(activation)

    def close_layer(self) -> None:
        self.cluster.ask("close_layer")
        self._nodes.pop()
        self._activations.pop()

    def gap(self, node: Candidates, activation: str) -> Gap:
        # A scale does not move a threshold.
        return joined(self.cluster.ask("gap", Node(node, 1.0, activation)))

    def outputs_of(self, found: Configuration, activation: str) -> tuple[Node, None]:
        return Node(found.node, found.lambda_, activation), None

    def append(self, h: Node, validation_h: None) -> None:
        self.cluster.ask("append")
        self._nodes[-1] += 1

    def pop(self, count: int) -> None:
        self.cluster.ask("pop", count)
        self._nodes[-1] -= count

    def keep(self, which: Sequence[int]) -> None:
        self.cluster.ask("keep", which)
        self._nodes[-1] = len(which)

    def outputs_kept(self, k: int) -> tuple[int, None]:
        return k, None

    def validation_system(self) -> tuple[Floats, Floats]:
        # Rows of several systems below one another: H^T H is the sum of the shards' R^T R.
        factors, moments = zip(*self.cluster.ask("validation_system"), strict=True)
        return np.concatenate(factors), np.concatenate(moments)

    def further_system(
        self, layers: tuple[Layer, ...], linear: LinearPart
    ) -> tuple[Floats, Floats]:
        return stacked(*self.cluster.ask("further_system", layers, linear))

    def square_errors(self, side: int, readouts: Floats) -> Floats:
        return np.sum(self.cluster.ask("square_errors", side, readouts), axis=0)


class _Inputs:
    """The inputs of a layer, as far as draws need them."""

    def __init__(self, cluster: Cluster, groups: NDArray, unit: int):
        self.cluster, self.groups, self.unit = cluster, groups, unit

    def tables(self, weights: NDArray) -> None:
        return None

    def take(self, indices: NDArray[np.integer]) -> Floats:
        return self.cluster.take(indices)


class _Sums:
    """Sums over the rows that the linear part is fitted on."""

    def __init__(self, cluster: Cluster):
        self.cluster, self.count = cluster, cluster.rows + cluster.rest

    def totals(self) -> tuple[Floats, Floats]:
        x_total, t_total = self.cluster.sums("totals")
        return x_total, t_total

    def centred_moments(self, x_mean: Floats, t_mean: Floats) -> tuple[Floats, Floats]:
        gram, cross = self.cluster.sums("centred_moments", x_mean, t_mean)
        return gram, cross


class _Basis:
    """The basis on all shards, as :class:`scm_train.solve.basis.LocalBasis` is on its rows.

    A step and the projection that follows it are asked for in one go.
    """

    def __init__(self, cluster: Cluster, energies: list[Floats]):
        self.cluster = cluster
        self.rows, self.outputs = cluster.rows, cluster.outputs
        self._energies = energies
        self._projection = np.empty(0)

    def energies(self) -> list[Floats]:
        return self._energies

    def propose(self, h: Node | int, shadow_h: None = None) -> float:
        # Projection and square norm come in one answer: each round trip costs more than the sums.
        self._projection, square = self.cluster.sums("propose", h)
        return float(square)

    def project(self) -> Floats:
        return self._projection

    def subtract(self, step: Floats) -> float:
        self._projection, square = self.cluster.sums("subtract", step)
        return float(square)

    def scale(self, norm: float) -> Floats:
        return np.sum(self.cluster.ask("scale", norm), axis=0)

    def commit(self, r: Floats, norm: float, c: Floats) -> None:
        self._energies = self.cluster.sums("commit", r, norm, c)

    def rewind(self, count: int, c: Floats) -> None:
        self._energies = self.cluster.sums("rewind", count, c)


class RemoteScoring:
    """Candidates are measured by all shards, in float64 throughout."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster

    def against(self, readout: OrthogonalReadout, exact: bool) -> _Aim:
        return _Aim(self.cluster, readout.energy, exact)


class _Aim:
    """The residual, which is with the shards."""

    def __init__(self, cluster: Cluster, energy: Floats, exact: bool):
        self.cluster, self.energy, self.exact = cluster, energy, exact
        self.rows = cluster.rows

    def moments(self, batch: Batch) -> Moments:
        node = Node(batch.candidates, batch.lambda_, batch.activation)
        inner, norm, inside = self.cluster.sums("moments", node, self.exact)
        return Moments.of_products(inner, norm, inside, self.exact)

    def outputs(self, batch: Batch, which: NDArray[np.intp]) -> None:
        return None

    def precise(self, h: Floats) -> Moments:
        raise AssertionError("sums in float64 are as precise as any")
