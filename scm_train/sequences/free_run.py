"""Free runs of many plants side by side, and plants that are fitted to run free.

Fitted one step ahead, a plant learns the noise of the outputs that it is given; what counts in
hardware is how it runs on its own. Weights are found by damped Gauss-Newton steps (Levenberg and
Marquardt) on the error of the free run, whose derivatives are those of neighbouring plants.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scm_model.memory import Memory, records_of
from scm_train.sequences.plant import Plant, Scale
from scm_train.sequences.records import Records

__all__ = ["FreeRun", "fit_free_run"]

Floats = NDArray[np.float64]

#: Relative to a weight, the distance of a neighbouring plant.
NUDGE, LEAST_WEIGHT = 1e-6, 1e-2
DAMPING, MORE_DAMPING, TRIES = 1e-3, 5.0, 6
#: The fit ends where a step lowers the squared error by less than this share.
LEAST_STEP = 1e-5


class FreeRun:
    """Records side by side, which start from measured outputs and see their own from then on."""

    def __init__(self, records: Records, memory: Memory, scale: Scale) -> None:
        self.depth, self.bound = memory.depth, scale.reach
        every = records_of(records.first)
        longest, outputs = max(r.stop - r.start for r in every), records.measured.shape[1]
        signals = scale.scaled(records.signals, slice(0, scale.signals))
        measured = scale.scaled(records.measured, slice(scale.signals, None))
        scored = records.scored(memory)
        self.taps = np.zeros((longest, len(every), len(memory.taps)))
        self.wanted = np.zeros((longest, len(every), outputs))
        self.scored = np.zeros((longest, len(every)), dtype=bool)
        for place, rows in enumerate(every):
            length = rows.stop - rows.start
            self.wanted[:length, place] = measured[rows]
            self.scored[:length, place] = scored[rows]
            for column, (source, lag) in enumerate(memory.taps):
                if source < scale.signals and lag < length:
                    past = signals[rows.start : rows.stop - lag, source]
                    self.taps[lag:length, place, column] = past
        self.own = memory.fed_back

    def run(self, weights: Floats, terms: list[tuple[int, ...]]) -> Floats:
        """Outputs (rows, plants, records, outputs) of plants (plants, weights, outputs)."""
        longest, count, outputs = self.wanted.shape
        taps = self.taps.shape[-1]
        found = np.zeros((longest, len(weights), count, outputs))
        # The first rows of a record are measured: there is no history yet to run from.
        found[: self.depth] = self.wanted[: self.depth, None]
        rows = np.ones((len(weights), count, 1 + taps + len(terms)))
        products = _products(terms, taps)
        for row in range(self.depth, longest):
            rows[..., 1 : 1 + taps] = self.taps[row]
            for column, output, lag in self.own:
                rows[..., 1 + column] = found[row - lag, ..., output]
            for column, one, other in products:
                np.multiply(rows[..., one], rows[..., other], out=rows[..., column])
            np.matmul(rows, weights, out=found[row])
            np.maximum(found[row], -self.bound, out=found[row])
            np.minimum(found[row], self.bound, out=found[row])
        return found

    def errors(self, weights: Floats, terms: list[tuple[int, ...]]) -> Floats:
        """What each plant is off by in each row that counts, (plants, rows times outputs)."""
        off = self.run(weights, terms) - self.wanted[:, None]
        return np.moveaxis(off, 1, 0)[:, self.scored].reshape(len(weights), -1)

    def rmse(self, plant: Plant) -> float:
        return float(np.sqrt(np.mean(self.errors(plant.weights[None], plant.terms) ** 2)))

    def rmse_and_reach(self, plant: Plant) -> tuple[float, float]:
        """Also how far the outputs get, where the training range ends at 1."""
        found = self.run(plant.weights[None], plant.terms)[:, 0]
        off = (found - self.wanted)[self.scored]
        reach = float(np.abs(found[self.scored]).max(initial=0.0))
        return float(np.sqrt(np.mean(off**2))), reach

    def amplified(self, share: float) -> FreeRun:
        """The same records with signals that reach further, by a share of their training range."""
        wider = object.__new__(FreeRun)
        wider.__dict__ = self.__dict__ | {"taps": (1.0 + share) * self.taps}
        return wider

    def share_at_bound(self, plant: Plant) -> float:
        """The share of the rows in which the plant is held back by its bound."""
        found = np.abs(self.run(plant.weights[None], plant.terms)[:, 0])[self.scored]
        return float(np.mean(found >= self.bound))


def fit_free_run(plant: Plant, runs: FreeRun, steps: int) -> Plant:
    """The plant with weights moved so that its free run is off by less, in at most ``steps``."""
    shape, damping = plant.weights.shape, DAMPING
    weights = plant.weights.ravel()
    least = _squares(runs, weights, plant)
    for _ in range(steps):
        errors, slopes = _linearised(runs, weights, plant)
        curvature, gradient = slopes @ slopes.T, slopes @ errors
        scale = np.diag(np.maximum(np.diag(curvature), 1e-12))
        before = least
        for _ in range(TRIES):
            # Marquardt's scaling: damping relative to the curvature of each weight, so that weights
            # of very different sizes are held back alike.
            step = np.linalg.solve(curvature + damping * scale, -gradient)
            squares = _squares(runs, weights + step, plant)
            if squares < least:
                weights, least, damping = weights + step, squares, max(damping / 5, 1e-9)
                break
            damping *= MORE_DAMPING
        if least > before * (1 - LEAST_STEP):
            break
    return replace(plant, weights=weights.reshape(shape))


def _linearised(runs: FreeRun, weights: Floats, plant: Plant) -> tuple[Floats, Floats]:
    """Errors, and their derivatives by each weight (weights, errors)."""
    # Forward differences, with all neighbouring plants run side by side with this one.
    nudges = NUDGE * np.maximum(np.abs(weights), LEAST_WEIGHT)
    plants = np.vstack([weights, weights + np.diag(nudges)])
    errors = runs.errors(plants.reshape(-1, *plant.weights.shape), plant.terms)
    return errors[0], (errors[1:] - errors[0]) / nudges[:, None]


def _squares(runs: FreeRun, weights: Floats, plant: Plant) -> float:
    own = weights.reshape(1, *plant.weights.shape)
    # A step too far can make a plant unstable, whose products overflow; infinite squares reject it.
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.sum(runs.errors(own, plant.terms) ** 2))
    return total if np.isfinite(total) else np.inf


def _products(terms: list[tuple[int, ...]], taps: int) -> list[tuple[int, int, int]]:
    """Each term's column, and the two columns before it whose product it is."""
    column = {(place,): 1 + place for place in range(taps)}
    column |= {term: 1 + taps + number for number, term in enumerate(terms)}
    return [(column[term], column[term[:-1]], column[term[-1:]]) for term in terms]
