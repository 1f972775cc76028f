"""The engine's growth, readout and search, with the rows on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer
from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.cluster.coordinator import Cluster
from scm_train.cluster.shards import Floats, Node
from scm_train.growth.engine import _Growth
from scm_train.growth.margin import centred_bias, joined
from scm_train.growth.settings import Settings
from scm_train.history import History
from scm_train.search.draw_ahead import Draws
from scm_train.search.moments import Moments, best
from scm_train.search.search import Configuration, SearchSettings
from scm_train.solve.further_rows import upper
from scm_train.solve.linear import LinearPart
from scm_train.solve.readout import DEPENDENT, MOST_PASSES, Readout, _rmse

__all__ = ["RemoteGrowth", "RemoteRest", "RemoteSearch"]


class _Inputs:
    """The inputs of a layer, as far as draws need them."""

    def __init__(self, cluster: Cluster, groups: NDArray, unit: int):
        self.cluster, self.groups, self.unit = cluster, groups, unit

    def tables(self, weights: NDArray) -> None:
        return None

    def take(self, indices: NDArray[np.integer]) -> Floats:
        return self.cluster.take(indices)


@dataclass
class _Store:
    """Stands for the nodes of a layer, whose outputs are with the shards."""

    activation: str
    nodes: int = 0

    def append(self, h: object) -> None:
        self.nodes += 1

    def pop(self) -> None:
        self.nodes -= 1


@dataclass(eq=False)
class _RemoteSide:
    """The training or the validation rows of all shards."""

    cluster: Cluster
    number: int
    count: int
    inputs: _Inputs
    stores: list[_Store] = field(default_factory=list)
    targets: Floats = field(default_factory=lambda: np.empty(0))

    def open_layer(self, activation: str) -> None:
        if self.number == 0:
            self.cluster.ask("open_layer", activation)
            if self.stores:
                nodes, before = self.stores[-1].nodes, self.stores[-1].activation
                hard = before in HARDWARE_ACTIVATIONS
                self.inputs = _Inputs(self.cluster, np.arange(nodes), int(hard))
        self.stores.append(_Store(activation))

    def hidden(self, _rows: slice) -> Floats:
        """What stands for the outputs of all nodes in least squares; `targets` go with it."""
        factors, moments = zip(*self.cluster.ask("validation_system"), strict=True)
        self.targets = np.concatenate(moments)
        return np.concatenate(factors)


class _RemoteShadow:
    """The validation error."""

    def __init__(self, rows: int):
        self.rows = rows
        self.rmse = float("nan")


class _RemoteReadout(Readout):
    """The readout of the nodes, by Gram-Schmidt on all shards."""

    def __init__(self, cluster: Cluster, energies: list[Floats]):
        self.cluster = cluster
        self.shadow = _RemoteShadow(cluster.held) if cluster.held else None
        # Only its shape is asked for.
        self.targets = np.empty((0, cluster.outputs))
        self._r, self._norms, self._c = [], [], []
        self._renew(energies)

    def __len__(self) -> int:
        return len(self._norms)

    @property
    def rmse(self) -> float:
        return _rmse(self.energy, self.cluster.rows)

    def _renew(self, energies: list[Floats]) -> None:
        self.energy = energies[0]
        if self.shadow is not None:
            self.shadow.rmse = _rmse(energies[1], self.shadow.rows)

    def add(self, h: Any, shadow_h: object = None) -> None:
        """Add a node, which every shard evaluates for itself."""
        step, square = self.cluster.sums("propose", h)
        r = np.zeros(len(self))
        size = after = float(np.sqrt(square))
        for _ in range(MOST_PASSES):
            r += step
            step, square = self.cluster.sums("subtract", step)
            before, after = after, float(np.sqrt(square))
            if after > 0.1 * before:
                break
        norm = after if after > DEPENDENT * size else 0.0
        c = np.sum(self.cluster.ask("scale", norm), axis=0)
        self._renew(self.cluster.sums("commit", r, norm, c))
        self._r.append(r)
        self._norms.append(norm)
        self._c.append(c)

    def rewind(self, count: int) -> None:
        removed = len(self) - count
        del self._r[count:], self._norms[count:], self._c[count:]
        c = np.array(self._c).reshape(count, self.cluster.outputs)
        self._renew(self.cluster.sums("rewind", removed, c))


class RemoteSearch:
    """The configuration search, in float64 throughout: the choice of the one in memory."""

    def __init__(self, settings: SearchSettings, draws: Draws, history: History):
        self.settings, self.draws, self.history = settings, draws, history

    def find(
        self, inputs: _Inputs, activation: str, readout: _RemoteReadout, count: int
    ) -> Configuration | None:
        rows = inputs.cluster.rows
        if not self.settings.supervised:
            with self.history.phase("candidate_search"):
                node = self.draws(inputs, rows, 1)
            return _found(node, 1.0, float("nan"), activation)
        for lambda_ in self.settings.lambdas:
            for r in self.settings.r_values:
                with self.history.phase("candidate_search"):
                    drawn = self.draws(inputs, rows, count)
                    node = Node(drawn.weights, drawn.biases, lambda_, activation)
                    moments = self._moments(inputs.cluster, node)
                with self.history.phase("inequality"):
                    k = best(moments.inequality(readout.energy, r), readout.energy)
                if k is not None:
                    return _found(drawn.pick(k), lambda_, r, activation)
        return None

    def _moments(self, cluster: Cluster, node: Node) -> Moments:
        exact = self.settings.criterion == "exact"
        inner, norm, inside = cluster.sums("moments", node, exact)
        outside = norm - np.einsum("kt,kt->t", inside, inside) if exact else norm
        return Moments(inner, norm, outside)


def _found(node: Any, lambda_: float, r: float, activation: str) -> Configuration:
    """A configuration whose outputs are still to be found, by each shard for its rows."""
    return Configuration(node, lambda_, r, _travelling(node, lambda_, activation))


def _travelling(node: Any, lambda_: float, activation: str) -> Any:
    """A node in the place of its outputs."""
    return Node(node.weights, node.biases, lambda_, activation)


class RemoteRest:
    """The rows that only the readout sees, of all shards."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster

    def __len__(self) -> int:
        return self.cluster.rest

    def system(self, layers: tuple[Layer, ...], *_: object) -> tuple[Floats, Floats]:
        """As :meth:`scm_train.solve.further_rows.RestOfRows.system`, of all shards."""
        nodes = sum(layer.nodes for layer in layers)
        found = self.cluster.ask("rest_system", layers)
        factor = upper(np.concatenate([np.concatenate(pair, axis=1) for pair in found]), nodes)
        return factor[:, :nodes], factor[:, nodes:]


class RemoteGrowth(_Growth):
    """A machine that grows on a cluster, by the rules of one that grows here."""

    def __init__(
        self,
        cluster: Cluster,
        linear: LinearPart,
        settings: Settings,
        search: Any,
        history: History,
        report: Any,
    ):
        self.settings, self.search, self.history = settings, search, history
        self._map, self._report, self.cluster = None, report, cluster
        inputs = _Inputs(cluster, cluster.groups, cluster.unit)
        energies = cluster.sums("begin", linear.weights, linear.intercept)
        self.side = _RemoteSide(cluster, 0, cluster.rows, inputs)
        self.validation = _RemoteSide(cluster, 1, cluster.held, inputs) if cluster.held else None
        self.readout = _RemoteReadout(cluster, energies)
        self._nodes = []

    def _centred(self, found: Configuration, activation: str) -> Configuration:
        travels: Any = found.h
        gap = joined(self.cluster.ask("gap", travels))
        biases = np.array([centred_bias(float(travels.biases[0]), gap, activation)])
        node = replace(found.node, biases=biases)
        return replace(found, node=node, h=replace(travels, biases=biases))

    def _validation_outputs(self, *_: object) -> None:
        """The shards see to those."""
        if self.validation is not None:
            self.validation.stores[-1].append(None)

    def _keep(self, kept: list[int]) -> None:
        """Likewise; the shards forget the layer, and evaluate its nodes anew."""
        self.readout.rewind(len(self.readout) - self.side.stores[-1].nodes)
        for side in self._sides():
            side.stores[-1].nodes = len(kept)
        for node, lambda_ in self._nodes[-1]:
            self.readout.add(_travelling(node, lambda_, self.side.stores[-1].activation))

    def _rmse(self, side: Any, readouts: Floats) -> Floats:
        total = np.sum(self.cluster.ask("square_errors", side.number, readouts), axis=0)
        return np.sqrt(total / (side.count * self.cluster.outputs))
