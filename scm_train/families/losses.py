"""What a family is fitted to: gradients and weights of the rows, for each kind of task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scm_train.solve.huber import huber_weights, robust_scale

__all__ = ["Huber", "Logistic", "Loss", "Softmax", "Squared", "probabilities"]

Floats = NDArray[np.float64]

#: Least curvature of a row, so that a cell of rows that are all certain has a bounded entry.
LEAST_CURVATURE = 1e-3
#: Robust standard deviations that an unseen row's error counts as, at most.
MOST_DEVIATIONS = 4.0


class Loss(Protocol):
    """A loss of ``scores`` (outputs, rows)."""

    @property
    def outputs(self) -> int: ...

    def slopes(self, scores: Floats, output: int) -> tuple[Floats, Floats]:
        """The negative gradient and the curvature of each row by one output."""
        ...

    def error(self, scores: Floats) -> float:
        """What unseen rows are judged by."""
        ...


@dataclass(frozen=True, eq=False)
class Squared:
    """Half the squared error; ``targets`` and ``rows`` weights as (outputs, rows) and (rows,)."""

    targets: Floats
    weights: Floats

    @property
    def outputs(self) -> int:
        return len(self.targets)

    def slopes(self, scores: Floats, output: int) -> tuple[Floats, Floats]:
        return self.weights * (self.targets[output] - scores[output]), self.weights

    def error(self, scores: Floats) -> float:
        return float(
            np.average(np.mean((self.targets - scores) ** 2, axis=0), weights=self.weights)
        )


@dataclass(frozen=True, eq=False)
class Huber(Squared):
    """Huber's loss by reweighted least squares, with the scale of the residuals that there are."""

    def slopes(self, scores: Floats, output: int) -> tuple[Floats, Floats]:
        left = self.targets[output] - scores[output]
        weights = self.weights * huber_weights(left)
        return weights * left, weights

    def error(self, scores: Floats) -> float:
        # A row counts no more than one at a few deviations: outliers would be all that is seen.
        left = np.abs(self.targets - scores)
        most = [MOST_DEVIATIONS * robust_scale(row) for row in left]
        held = np.minimum(left, np.reshape(most, (-1, 1)))
        return float(np.average(np.mean(held**2, axis=0), weights=self.weights))


@dataclass(frozen=True, eq=False)
class Logistic:
    """Logarithmic loss of two classes; ``second`` (rows,) says whose label is the second."""

    second: NDArray[np.bool_]
    weights: Floats

    outputs = 1

    def slopes(self, scores: Floats, output: int) -> tuple[Floats, Floats]:
        share = _logistic(scores[0])
        curvature = np.maximum(share * (1 - share), LEAST_CURVATURE)
        return self.weights * (self.second - share), self.weights * curvature

    def error(self, scores: Floats) -> float:
        return _decision_error(probabilities(scores), self.second.astype(np.intp), self.weights)


@dataclass(frozen=True, eq=False)
class Softmax:
    """Logarithmic loss of several classes; ``labels`` (rows,) are their indices."""

    labels: NDArray[np.integer]
    outputs: int
    weights: Floats

    def slopes(self, scores: Floats, output: int) -> tuple[Floats, Floats]:
        share = softmax(scores)[output]
        curvature = np.maximum(share * (1 - share), LEAST_CURVATURE)
        # Classes are stepped one at a time on shared probabilities: Friedman's (2001) factor
        # 1 - 1 / K shortens the Newton step of each.
        curvature *= self.outputs / (self.outputs - 1)
        return self.weights * ((self.labels == output) - share), self.weights * curvature

    def error(self, scores: Floats) -> float:
        return _decision_error(softmax(scores), self.labels, self.weights)


def _decision_error(shares: Floats, labels: NDArray[np.integer], weights: Floats) -> float:
    """Half the Brier score and half the rate of wrong answers.

    Logarithmic loss grows from a few rows that are surely wrong long before the decisions do, and
    the rate alone jumps.
    """
    rows = np.arange(len(labels))
    # |p - e|^2 with e the indicator of the label: |p|^2 - 2 p_label + 1.
    brier = (shares**2).sum(axis=0) - 2 * shares[labels, rows] + 1
    wrong = shares.argmax(axis=0) != labels
    return float(np.average((brier + wrong) / 2, weights=weights))


def _logistic(scores: Floats) -> Floats:
    # 1 / (1 + exp(-s)), which tanh takes without overflow.
    return 0.5 * (1 + np.tanh(0.5 * scores))


def probabilities(scores: Floats) -> Floats:
    """Of the classes (classes, rows), by scores (outputs, rows); two classes have one output."""
    if len(scores) == 1:
        second = _logistic(scores[0])
        return np.stack([1 - second, second])
    return softmax(scores)


def softmax(scores: Floats) -> Floats:
    """Probabilities (classes, rows)."""
    # Probabilities do not depend on a common shift, and exp of numbers up to 0 cannot overflow.
    powers = np.exp(scores - scores.max(axis=0))
    return powers / powers.sum(axis=0)
