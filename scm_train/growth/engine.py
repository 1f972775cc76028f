"""The learning engine: Algorithm 1 of the paper, with the switches in which its learners differ.

Nodes join one at a time, layer by layer. The readout of all nodes is renewed after each; a layer
ends at its limit, at the tolerance, when no candidate passes, or by early stopping on validation
rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer
from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.chunks import ChunkMap
from scm_train.encode.rows import ScaledRows
from scm_train.growth.margin import centred_bias, node_gap
from scm_train.growth.settings import Settings
from scm_train.history import History
from scm_train.progress import Report
from scm_train.search.candidates import CandidateDraw, Candidates
from scm_train.search.layer_inputs import LayerInputs, NodeInputs, first_inputs
from scm_train.search.node_store import NodeStore
from scm_train.search.pool import PoolSearch
from scm_train.search.search import Configuration, Search, node_outputs
from scm_train.solve.bit_readout import BitReadout, Residual
from scm_train.solve.further_rows import RestOfRows, stacked
from scm_train.solve.linear import LinearPart, fit_linear
from scm_train.solve.readout import Readout, Shadow, ridge_path, ridge_solution
from scm_train.solve.removal import without_least_useful

__all__ = ["Fitted", "Part", "grow", "train"]

Floats = NDArray[np.float64]

#: Below this share of the target's range a residual is rounding, and no search can tell its signs.
EXACT_FIT = 1e-13
#: Ridge values tried by ``ridge="auto"``, per training row.
RIDGES = np.concatenate([[0.0], np.logspace(-8, 1, 28)])
#: Rows per chunk where the final readout looks at all nodes.
CHUNK_ROWS = 1 << 15


@dataclass(frozen=True, eq=False)
class Part:
    """Rows with their targets (rows, outputs): normalised, and less the mechanism."""

    rows: ScaledRows
    targets: Floats


@dataclass(frozen=True, eq=False)
class Fitted:
    """What training found, in normalised units; ``readout`` (nodes of all layers, outputs)."""

    layers: tuple[Layer, ...]
    readout: Floats
    linear: LinearPart
    train_rmse: float
    validation_rmse: float


def train(
    part: Part,
    validation: Part | None,
    settings: Settings,
    draw: CandidateDraw,
    rng: np.random.Generator,
    *,
    history: History,
    chunk_map: ChunkMap,
    report: Report,
    rest: RestOfRows | None = None,
) -> Fitted:
    """Fit the linear part, grow the layers, and solve for the readout, ``rest`` included."""
    with history.phase("lasso"):
        linear = _linear_part(part, rest, settings, chunk_map)
        history.selected_inputs = linear.selected
    kind = PoolSearch if settings.search.pool else Search
    search = kind(settings.search, draw, rng, chunk_map, history)
    growth = _Growth(part, validation, linear, settings, search, history, chunk_map, report)
    return grow(growth, linear, rest)


def grow(growth: _Growth, linear: LinearPart, rest: RestOfRows | None = None) -> Fitted:
    """Grow all layers, and solve for the readout."""
    for number in range(len(growth.settings.activations)):
        if growth.finished or not growth.add_layer(number):
            break
    with growth.history.phase("readout_update"):
        readout = growth.solve(linear, rest)
    train_rmse, validation_rmse = growth.errors(readout)
    return Fitted(growth.layers(), readout, linear, train_rmse, validation_rmse)


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


class _Growth:
    """A machine while it grows."""

    def __init__(
        self,
        part: Part,
        validation: Part | None,
        linear: LinearPart,
        settings: Settings,
        search: Search | PoolSearch,
        history: History,
        chunk_map: ChunkMap,
        report: Report,
    ):
        self.settings, self.search, self.history = settings, search, history
        self._map, self._report = chunk_map, report
        self.side = _Side(part, linear, chunk_map)
        self.validation = None if validation is None else _Side(validation, linear, chunk_map)
        self.readout = self._empty_readout()
        self._nodes: list[list[tuple[Candidates, float]]] = []

    def _empty_readout(self) -> Readout | BitReadout:
        own, held = self.side.targets, None if self.validation is None else self.validation.targets
        if self.settings.search.pool:
            return BitReadout(own, self._map, None if held is None else Residual(held, self._map))
        return Readout(own, self._map, None if held is None else Shadow(held, self._map))

    @property
    def finished(self) -> bool:
        return self.readout.rmse <= max(self.settings.tolerance, EXACT_FIT)

    def add_layer(self, number: int) -> bool:
        """Grow one layer; False if it stayed empty, and with it all that would follow."""
        activation = self.settings.activations[number]
        for side in self._sides():
            side.open_layer(activation)
        self._nodes.append([])
        begun = len(self.history.removed)
        reason = self._fill_layer(number)
        self._remove_surplus(number, begun)
        self.history.end_layer(len(self._nodes[-1]), reason)
        if self._nodes[-1]:
            return True
        self._nodes.pop()
        for side in self._sides():
            side.stores.pop()
        return False

    def _fill_layer(self, number: int) -> str:
        """Add nodes until the layer ends; why it did."""
        limit = self.settings.grown(number)
        errors = [self._validation_rmse()]
        while limit is None or len(self._nodes[-1]) < limit:
            if self.finished:
                return "tolerance"
            if not self._add_node(number):
                return "no candidate"
            errors.append(self._validation_rmse())
            if self._stalled(errors):
                self._remove_nodes(_without_gain(errors, self.settings.least_gain))
                return "early stopping"
        return "max_nodes"

    def _add_node(self, number: int) -> bool:
        activation = self.settings.activations[number]
        found = self.search.find(
            self.side.inputs, activation, self.readout, self.settings.candidates[number]
        )
        if found is None:
            return False
        if self.settings.centred and activation in HARDWARE_ACTIVATIONS:
            found = self._centred(found, activation)
        with self.history.phase("readout_update"):
            shadow_h = self._validation_outputs(found.node, found.lambda_, activation)
            self.readout.add(found.h, shadow_h)
            self.side.stores[-1].append(found.h)
        self._nodes[-1].append((found.node, found.lambda_))
        train_rmse, validation_rmse = self.readout.rmse, self._validation_rmse()
        self.history.add_node(number + 1, found.lambda_, found.r, train_rmse, validation_rmse)
        self._report(len(self.readout), number + 1, train_rmse, validation_rmse)
        return True

    def _centred(self, found: Configuration, activation: str) -> Configuration:
        """The node with its threshold in the middle of its gap; the training rows see the same."""
        node, side = found.node, self.side
        gap = node_gap(node, side.inputs, activation, side.count, self._map)
        bias = centred_bias(float(node.biases[0]), gap, activation)
        return replace(found, node=replace(node, biases=np.array([bias])))

    def _validation_outputs(
        self, node: Candidates, lambda_: float, activation: str
    ) -> Floats | None:
        side = self.validation
        if side is None:
            return None
        h = node_outputs(node, lambda_, side.inputs, activation, side.count, self._map)[0]
        side.stores[-1].append(h)
        return h

    def _stalled(self, errors: list[float]) -> bool:
        step = self.settings.stop_step
        if not self.settings.early_stopping or self.validation is None or len(errors) - 1 <= step:
            return False
        return _gain(errors[-1 - step], errors[-1]) <= self.settings.stop_tolerance

    def _remove_nodes(self, count: int) -> None:
        if not count:
            return
        with self.history.phase("readout_update"):
            self.readout.rewind(len(self.readout) - count)
            for side in self._sides():
                for _ in range(count):
                    side.stores[-1].pop()
        del self._nodes[-1][-count:]
        self.history.remove_nodes(count)

    def _remove_surplus(self, number: int, begun: int) -> None:
        """Remove the nodes of the newest layer that pay least, down to its limit.

        ``begun`` is its first node's place in the history.
        """
        limit, grown = self.settings.max_nodes[number], len(self._nodes[-1])
        if limit is None or grown <= limit:
            return
        with self.history.phase("readout_update"):
            factor, moments = self.readout.factors()
            before = len(self.readout) - grown
            ridge = self._removal_ridge(factor, moments)
            stay = without_least_useful(factor, moments, ridge, before, grown - limit)
            kept = [k - before for k in stay[before:]]
            self._nodes[-1] = [self._nodes[-1][k] for k in kept]
            self._keep(kept)
        self.history.remove(begun + k for k in set(range(grown)).difference(kept))

    def _keep(self, kept: list[int]) -> None:
        """Have these nodes of the newest layer alone on all rows, and their readout anew."""
        layer = [side.stores[-1] for side in self._sides()]
        self.readout.rewind(len(self.readout) - len(layer[0]))
        for store in layer:
            store.keep(kept)
        for k in range(len(kept)):
            self.readout.add(*(store.column(k) for store in layer))

    def _removal_ridge(self, factor: Floats, moments: Floats) -> float:
        """The ridge that the readout would have now; at the least a token one."""
        rows, ridge = self.side.count, self.settings.ridge
        asked = self._best_ridge(factor, moments, rows) * rows if ridge == "auto" else float(ridge)
        return max(asked, float(RIDGES[1]) * rows)

    def solve(self, linear: LinearPart, rest: RestOfRows | None) -> Floats:
        """The readout of the nodes that stayed, with ridge as the settings ask."""
        factor, moments = self.readout.factors()
        rows = self.side.count
        if rest is not None and self._nodes:
            more = rest.system(self.layers(), linear, self._map)
            factor, moments = stacked((factor, moments), more)
            rows += len(rest)
        # A ridge suits a number of rows; it is chosen with all but those it is judged by.
        per_row = self._best_ridge(factor, moments, rows) if self.settings.ridge == "auto" else 0.0
        if self.settings.refit and self.validation is not None:
            seen = self.validation.hidden(slice(0, self.validation.count))
            factor = np.concatenate([factor, seen])
            moments = np.concatenate([moments, self.validation.targets])
            rows += self.validation.count
        ridge = self.settings.ridge
        self.history.ridge = per_row * rows if ridge == "auto" else float(ridge)
        return ridge_solution(factor, moments, self.history.ridge)

    def _best_ridge(self, factor: Floats, moments: Floats, rows: int) -> float:
        """The ridge per row with the least validation error; a token one without validation."""
        side = self.validation
        if side is None:
            return float(RIDGES[1])
        tried = self._rmse(side, ridge_path(factor, moments, RIDGES * rows))
        return float(RIDGES[int(np.argmin(tried))])

    def errors(self, readout: Floats) -> tuple[float, float]:
        """Training and validation RMSE with the final readout."""
        found = [float(self._rmse(side, readout[None])[0]) for side in self._sides()]
        return found[0], found[1] if self.validation is not None else float("nan")

    def layers(self) -> tuple[Layer, ...]:
        """The hidden layers, as the machine keeps them."""
        return tuple(
            _as_layer(nodes, store.activation)
            for nodes, store in zip(self._nodes, self.side.stores, strict=True)
        )

    def _rmse(self, side: _Side, readouts: Floats) -> Floats:
        """The error of each of several readouts (number, nodes, outputs)."""

        def on(rows: slice) -> Floats:
            error = side.targets[rows] - side.hidden(rows) @ readouts
            return np.einsum("kiq,kiq->k", error, error)

        parts = self._map(on, side.count, CHUNK_ROWS)
        return np.sqrt(np.sum(parts, axis=0) / side.targets.size)

    def _sides(self) -> list[_Side]:
        return [self.side] if self.validation is None else [self.side, self.validation]

    def _validation_rmse(self) -> float:
        return float("nan") if self.readout.shadow is None else self.readout.shadow.rmse


def _linear_part(
    part: Part, rest: RestOfRows | None, settings: Settings, chunk_map: ChunkMap
) -> LinearPart:
    if settings.linear:
        parts = [(own.rows, own.targets) for own in (part, rest) if own is not None]
        return fit_linear(parts, settings.alpha, chunk_map)
    outputs = part.targets.shape[1]
    return LinearPart(np.zeros((part.rows.x.shape[1], outputs)), np.zeros(outputs))


def _remainder(part: Part, linear: LinearPart, chunk_map: ChunkMap) -> Floats:
    """The targets less the linear part."""
    left = np.array(part.targets, dtype=np.float64)
    if linear.weights.any() or linear.intercept.any():

        def on(rows: slice) -> None:
            left[rows] -= linear(part.rows.seen(rows))

        chunk_map(on, len(left), CHUNK_ROWS)
    return left


def _as_layer(nodes: list[tuple[Candidates, float]], activation: str) -> Layer:
    candidates = [node for node, _ in nodes]
    weights = np.concatenate([node.weights for node in candidates])
    mask = None
    if candidates[0].mask is not None:
        mask = np.concatenate([node.mask for node in candidates])
    if weights.dtype == np.int8:
        # Hidden connections have no sign; the file has one bit for each all the same.
        weights[weights == 0] = -1
    return Layer(
        weights=weights,
        lambdas=np.array([lambda_ for _, lambda_ in nodes]),
        biases=np.concatenate([node.biases for node in candidates]),
        activation=activation,
        mask=mask,
    )


def _gain(before: float, after: float) -> float:
    """Relative decrease of the error, ``(E_before - E_after) / E_after``."""
    return (before - after) / after if after else float(np.inf if before else 0)


def _without_gain(errors: list[float], tolerance: float) -> int:
    """How many of the newest nodes brought no more than ``tolerance`` each."""
    kept = len(errors) - 1
    while kept and _gain(errors[kept - 1], errors[kept]) <= tolerance:
        kept -= 1
    return len(errors) - 1 - kept
