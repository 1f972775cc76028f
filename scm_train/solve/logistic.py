"""A readout fitted for the decision: sparse log-odds of the classes, of few bits.

A node rarely serves all classes, and in gates a coefficient of 0 costs nothing. So the readout
minimises logarithmic loss with a penalty on absolute coefficients, along a path of penalties; rows
that are not learned from choose one of them, and how many bits the coefficients need.

The curvature of the loss is bounded by that of least squares (Boehning), so that each step is a
lasso with the same products of nodes for every class, by coordinate descent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import softmax

__all__ = ["LogOdds", "fit_log_odds"]

Floats = NDArray[np.float64]
Labels = NDArray[np.integer]

#: Penalties, each a share of the one before, and the steps at each; the last has almost none.
PENALTIES, SHARE, STEPS = 12, 0.55, 30
#: Steps of the fit without penalty to the coefficients that are kept, and its ridge per row.
REFIT_STEPS, RIDGE = 60, 1e-5
#: Sweeps over the coefficients for each step.
SWEEPS = 3
#: Share of the unseen rows that fewer coefficients, and fewer bits, may cost.
SLACK = 0.0005
#: Fraction bits that are tried.
FRACTION_BITS = range(0, 13)


@dataclass(frozen=True, eq=False)
class LogOdds:
    """``readout`` (nodes, classes) and ``intercept`` (classes,): the largest score wins.

    Coefficients are whole multiples of ``2**-fraction_bits``, and with what the nodes add that do
    not fire the intercepts are multiples of the steps between sums, as in gates. Two classes have
    one log-odds, which is the second's score; that of the first is 0.
    """

    readout: Floats
    intercept: Floats
    fraction_bits: int

    def scores(self, h: Floats) -> Floats:
        return h @ self.readout + self.intercept

    def square_error(self, h: Floats, labels: Labels) -> float:
        """Mean square difference of probabilities from indicators, over all classes."""
        wanted = np.eye(len(self.intercept))[labels]
        return float(np.mean((softmax(self.scores(h), axis=1) - wanted) ** 2))


def fit_log_odds(
    h: Floats, labels: Labels, classes: int, unseen: tuple[Floats, Labels], off: Floats
) -> LogOdds:
    """Fit to outputs of nodes (rows, nodes); ``unseen`` rows choose penalty and bits.

    Without unseen rows the rows themselves choose. ``off`` (nodes,) is what a node puts out that
    does not fire: -1 of signs, 0 of steps.
    """
    judge = unseen if len(unseen[1]) else (h, labels)
    path = _Path(h, labels, classes)
    penalty = path.greatest_penalty
    tried = []
    for _ in range(PENALTIES):
        path.descend(penalty, STEPS)
        tried.append((path.coefficients.copy(), _right(path.log_odds(), judge)))
        penalty *= SHARE
    best = max(right for _, right in tried)
    sparse = next(b for b, right in tried if right >= best - SLACK)
    path.coefficients[:] = sparse
    # The penalty has shrunk the coefficients that it kept, too. A fit of these alone undoes that,
    # and is given up where the judging rows lose by it.
    path.descend(0.0, REFIT_STEPS)
    if _right(path.log_odds(), judge) < best - SLACK:
        path.coefficients[:] = sparse
    return _rounded(path.log_odds(), judge, off)


def _right(found: LogOdds, rows: tuple[Floats, Labels]) -> float:
    """The share of rows whose class wins."""
    h, labels = rows
    return float(np.mean(found.scores(h).argmax(axis=1) == labels))


def _rounded(found: LogOdds, judge: tuple[Floats, Labels], off: Floats) -> LogOdds:
    """The fewest fraction bits that decide as well."""
    enough = _right(found, judge) - SLACK
    for bits in FRACTION_BITS:
        grid = 2.0**-bits
        # No negative zeros.
        readout = np.rint(found.readout / grid) * grid + 0.0
        resting = off @ readout
        # A sign goes from -1 to 1.
        step = 2 * grid if (off < 0).all() else grid
        intercept = np.rint((found.intercept + resting) / step) * step - resting
        rounded = LogOdds(readout, intercept, bits)
        if _right(rounded, judge) >= enough:
            break
    return rounded


class _Path:
    """Coefficients (nodes + 1, outputs), the last for the intercept, on their way down the path."""

    def __init__(self, h: Floats, labels: Labels, classes: int):
        # Of two classes one output says it all.
        self._single = classes == 2
        self._h = np.column_stack([h, np.ones(len(h))])
        self._wanted = np.eye(classes)[labels][:, classes == 2 :]
        # p (1 - p) <= 1/4 for one log-odds; diag(p) - p p^T <= I / 2 for a softmax (Boehning,
        # 1992).
        bound = 0.25 if self._single else 0.5
        self._curvature = bound * (self._h.T @ self._h) / len(h)
        self.coefficients = np.zeros((self._h.shape[1], self._wanted.shape[1]))
        for _ in range(STEPS):
            self._step(np.inf)

    @property
    def greatest_penalty(self) -> float:
        """Beyond it all coefficients are 0 but the intercepts."""
        return float(np.abs(self._gradient()[:-1]).max(initial=1e-12))

    def descend(self, penalty: float, steps: int) -> None:
        """Towards the minimum; without penalty, of the coefficients that are not 0 now."""
        for _ in range(steps):
            self._step(penalty)

    def _gradient(self) -> Floats:
        scores = self._h @ self.coefficients
        if self._single:
            # exp overflows beyond 709.
            shares = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
        else:
            shares = softmax(scores, axis=1)
        return self._h.T @ (shares - self._wanted) / len(self._h)

    def _step(self, penalty: float) -> None:
        free = np.ones(self.coefficients.shape, dtype=np.bool_)
        ridge = 0.0
        if penalty == 0.0:
            free[:-1] = self.coefficients[:-1] != 0
            ridge = RIDGE
        elif penalty == np.inf:
            free[:-1] = False
        _lasso(
            self._curvature, self._gradient(), self.coefficients, free,
            0.0 if penalty == np.inf else penalty, ridge, SWEEPS,
        )  # fmt: skip

    def log_odds(self) -> LogOdds:
        coefficients = self.coefficients
        if self._single:
            coefficients = np.column_stack([np.zeros(len(coefficients)), coefficients[:, 0]])
        return LogOdds(coefficients[:-1].copy(), coefficients[-1].copy(), FRACTION_BITS.stop)


@njit(cache=True)
def _lasso(curvature, gradient, coefficients, free, penalty, ridge, sweeps):
    """Lower ``g d + d C d / 2 + penalty |b|`` by steps ``d``; the last row has no penalty."""
    nodes, outputs = coefficients.shape
    for output in range(outputs):
        slope = gradient[:, output].copy()
        for _ in range(sweeps):
            for k in range(nodes):
                own = curvature[k, k] + ridge
                if not free[k, output] or own <= 0.0:
                    continue
                before = coefficients[k, output]
                after = before - (slope[k] + ridge * before) / own
                if k < nodes - 1:
                    # The minimum of own (b - after)^2 / 2 + penalty |b|: soft thresholding.
                    shrunk = max(abs(after) - penalty / own, 0.0)
                    after = shrunk if after > 0 else -shrunk
                change = after - before
                if change != 0.0:
                    coefficients[k, output] = after
                    for j in range(nodes):
                        slope[j] += change * curvature[k, j]
