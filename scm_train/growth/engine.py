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
from scm_train.growth.margin import centred_bias
from scm_train.growth.rows import TRAINING, VALIDATION, LocalRows, Part, RowSource
from scm_train.growth.settings import Settings
from scm_train.history import History
from scm_train.progress import Report
from scm_train.search.aim import LocalScoring
from scm_train.search.candidates import CandidateDraw, Candidates
from scm_train.search.pool import PoolSearch
from scm_train.search.search import Configuration, Search
from scm_train.solve.further_rows import RestOfRows, stacked
from scm_train.solve.linear import LinearPart, fit_linear
from scm_train.solve.logistic import fit_log_odds
from scm_train.solve.readout import ridge_path, ridge_solution
from scm_train.solve.removal import without_least_useful

__all__ = ["Fitted", "Part", "fit", "train"]

Floats = NDArray[np.float64]

#: Below this share of the target's range a residual is rounding, and no search can tell its signs.
EXACT_FIT = 1e-13
#: Ridge values tried by ``ridge="auto"``, per training row.
RIDGES = np.concatenate([[0.0], np.logspace(-8, 1, 28)])


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
    """Fit to rows in this process; ``rest`` is for linear part and readout alone."""
    search: Search | PoolSearch
    if settings.search.pool:
        search = PoolSearch(settings.search, draw, rng, chunk_map, history)
    else:
        search = Search(settings.search, draw, rng, LocalScoring(chunk_map), history)
    return fit(LocalRows(part, validation, rest, chunk_map), settings, search, history, report)


def fit(
    rows: RowSource,
    settings: Settings,
    search: Search | PoolSearch,
    history: History,
    report: Report,
) -> Fitted:
    """Fit the linear part, grow the layers, and solve for the readout, wherever the rows are."""
    with history.phase("lasso"):
        linear = LinearPart.none(rows.features, rows.outputs)
        if settings.linear:
            linear = _linear_part(rows, settings.alpha)
        history.selected_inputs = linear.selected
    # The linear part first: nodes are fitted to what it leaves, Y - (X p* + u*) in the paper.
    growth = _Growth(rows, linear, settings, search, history, report)
    for number in range(len(settings.activations)):
        if growth.finished or not growth.add_layer(number):
            break
    if settings.log_odds:
        return growth.with_log_odds(linear)
    with history.phase("readout_update"):
        readout = growth.solve(linear)
    train_rmse, validation_rmse = growth.errors(readout)
    return Fitted(growth.layers(), readout, linear, train_rmse, validation_rmse)


def _linear_part(rows: RowSource, alpha: float) -> LinearPart:
    """The linear part, or the mean alone where validation rows are nearer to that."""
    sums = rows.linear_sums()
    found = fit_linear(sums, alpha)
    if not found.selected or not rows.validation_rows:
        return found
    mean = LinearPart(np.zeros_like(found.weights), sums.totals()[1] / sums.count)
    return min(found, mean, key=rows.linear_error)


class _Growth:
    """A machine while it grows."""

    def __init__(
        self,
        rows: RowSource,
        linear: LinearPart,
        settings: Settings,
        search: Search | PoolSearch,
        history: History,
        report: Report,
    ):
        self.rows, self.settings, self.search = rows, settings, search
        self.history, self._report = history, report
        self.readout = rows.begin(linear, settings.search.pool)
        self._nodes: list[list[tuple[Candidates, float]]] = []

    @property
    def finished(self) -> bool:
        return self.readout.rmse <= max(self.settings.tolerance, EXACT_FIT)

    def add_layer(self, number: int) -> bool:
        """Grow one layer; False if it stayed empty, and with it all that would follow."""
        self.rows.open_layer(self.settings.activations[number])
        self.search.open_layer(number)
        self._nodes.append([])
        begun = len(self.history.removed)
        reason = self._fill_layer(number)
        self._remove_surplus(number, begun)
        self.history.end_layer(len(self._nodes[-1]), reason)
        if self._nodes[-1]:
            return True
        self._nodes.pop()
        self.rows.close_layer()
        return False

    def _fill_layer(self, number: int) -> str:
        """Add nodes until the layer ends; why it did."""
        limit = self.settings.grown(number)
        # The error before the first node of the layer comes first: errors[k] is that after k nodes.
        errors = [self.readout.validation_rmse]
        while limit is None or len(self._nodes[-1]) < limit:
            if self.finished:
                return "tolerance"
            if not self._add_node(number):
                return "no candidate"
            errors.append(self.readout.validation_rmse)
            if self._stalled(errors):
                self._remove_nodes(_without_gain(errors, self.settings.least_gain))
                return "early stopping"
        return "max_nodes"

    def _add_node(self, number: int) -> bool:
        activation = self.settings.activations[number]
        found = self.search.find(
            self.rows.inputs, activation, self.readout, self.settings.candidates[number]
        )
        if found is None:
            return False
        if self.settings.centred and activation in HARDWARE_ACTIVATIONS:
            found = self._centred(found, activation)
        with self.history.phase("readout_update"):
            outputs = self.rows.outputs_of(found, activation)
            self.readout.add(*outputs)
            self.rows.append(*outputs)
        self._nodes[-1].append((found.node, found.lambda_))
        train_rmse, validation_rmse = self.readout.rmse, self.readout.validation_rmse
        self.history.add_node(number + 1, found.lambda_, found.r, train_rmse, validation_rmse)
        self._report(len(self.readout), number + 1, train_rmse, validation_rmse)
        return True

    def _centred(self, found: Configuration, activation: str) -> Configuration:
        """The node with its threshold in the middle of its gap; the training rows see the same."""
        gap = self.rows.gap(found.node, activation)
        bias = centred_bias(float(found.node.biases[0]), gap, activation)
        return replace(found, node=replace(found.node, biases=np.array([bias])))

    def _stalled(self, errors: list[float]) -> bool:
        step = self.settings.stop_step
        if (
            not self.settings.early_stopping
            or not self.rows.validation_rows
            or len(errors) - 1 <= step
        ):
            return False
        # The paper's criterion: (E_{L - step} - E_L) / E_L <= tau.
        return _gain(errors[-1 - step], errors[-1]) <= self.settings.stop_tolerance

    def _remove_nodes(self, count: int) -> None:
        if not count:
            return
        with self.history.phase("readout_update"):
            self.readout.rewind(len(self.readout) - count)
            self.rows.pop(count)
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
            # Costs are those with the nodes of earlier layers in place, which stay whatever happens
            # here.
            factor, moments = self.readout.factors()
            before = len(self.readout) - grown
            ridge = self._removal_ridge(factor, moments)
            stay = without_least_useful(factor, moments, ridge, before, grown - limit)
            kept = [k - before for k in stay[before:]]
            self._nodes[-1] = [self._nodes[-1][k] for k in kept]
            self._keep(kept, before)
        self.history.remove(begun + k for k in set(range(grown)).difference(kept))

    def _keep(self, kept: list[int], before: int) -> None:
        """Keep only these nodes of the newest layer on all rows, and rebuild their readout."""
        self.readout.rewind(before)
        self.rows.keep(kept)
        for k in range(len(kept)):
            self.readout.add(*self.rows.outputs_kept(k))

    def _removal_ridge(self, factor: Floats, moments: Floats) -> float:
        """The ridge that the readout would have now; at the least a token one."""
        rows, ridge = self.rows.rows, self.settings.ridge
        asked = self._best_ridge(factor, moments, rows) * rows if ridge == "auto" else float(ridge)
        # Removal inverts H^T H + ridge I, which a positive ridge keeps regular.
        return max(asked, float(RIDGES[1]) * rows)

    def solve(self, linear: LinearPart) -> Floats:
        """The readout of the nodes that stayed, with ridge as the settings ask."""
        system, rows = self.readout.factors(), self.rows.rows
        if self.rows.further_rows and self._nodes:
            system = stacked(system, self.rows.further_system(self.layers(), linear))
            rows += self.rows.further_rows
        # A ridge suits a number of rows; it is chosen with all but those it is judged by.
        per_row = self._best_ridge(*system, rows) if self.settings.ridge == "auto" else 0.0
        if self.settings.refit and self.rows.validation_rows:
            both = zip(system, self.rows.validation_system(), strict=True)
            system = tuple(np.concatenate(parts) for parts in both)
            rows += self.rows.validation_rows
        ridge = self.settings.ridge
        self.history.ridge = per_row * rows if ridge == "auto" else float(ridge)
        return ridge_solution(*system, self.history.ridge)

    def with_log_odds(self, linear: LinearPart) -> Fitted:
        """The machine with a sparse readout of log-odds; validation rows choose how sparse."""
        with self.history.phase("readout_update"):
            sides = [self.rows.outputs_and_targets(side) for side in (TRAINING, VALIDATION)]
            # The linear part, which is a constant, was taken off the indicators.
            own, held = ((h, (left + linear.intercept).argmax(axis=1)) for h, left in sides)
            off = [-1.0 if layer.activation == "sign" else 0.0 for layer in self.layers()]
            resting = np.repeat(off, [layer.nodes for layer in self.layers()])
            found = fit_log_odds(*own, self.rows.outputs, held, resting)
        errors = [
            float(np.sqrt(found.square_error(*side))) if len(side[1]) else float("nan")
            for side in (own, held)
        ]
        constant = LinearPart(linear.weights, found.intercept)
        return Fitted(self.layers(), found.readout, constant, errors[0], errors[1])

    def _best_ridge(self, factor: Floats, moments: Floats, rows: int) -> float:
        """The ridge per row with the least validation error; a token one without validation."""
        if not self.rows.validation_rows:
            return float(RIDGES[1])
        tried = self._rmse(VALIDATION, ridge_path(factor, moments, RIDGES * rows))
        return float(RIDGES[int(np.argmin(tried))])

    def errors(self, readout: Floats) -> tuple[float, float]:
        """Training and validation RMSE with the final readout."""
        train_rmse = float(self._rmse(TRAINING, readout[None])[0])
        if not self.rows.validation_rows:
            return train_rmse, float("nan")
        return train_rmse, float(self._rmse(VALIDATION, readout[None])[0])

    def _rmse(self, side: int, readouts: Floats) -> Floats:
        """The error of each of several readouts (number, nodes, outputs)."""
        count = (self.rows.rows, self.rows.validation_rows)[side]
        return np.sqrt(self.rows.square_errors(side, readouts) / (count * self.rows.outputs))

    def layers(self) -> tuple[Layer, ...]:
        """The hidden layers, as the machine keeps them."""
        # A layer that stayed empty ends growth: those with nodes are the first.
        activations = self.settings.activations[: len(self._nodes)]
        return tuple(map(_as_layer, self._nodes, activations))


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
    # Algorithm 1's "repeat undo until (E_{L-1} - E_L) / E_L > tau".
    kept = len(errors) - 1
    while kept and _gain(errors[kept - 1], errors[kept]) <= tolerance:
        kept -= 1
    return len(errors) - 1 - kept
