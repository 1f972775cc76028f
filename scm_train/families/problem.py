"""What a machine of families is to learn, and from which rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scm_train.families.losses import Huber, Logistic, Loss, Softmax, Squared
from scm_train.families.rows import FamilyRows, Rows
from scm_train.families.signals import SignalPool

__all__ = ["Problem", "Source", "linear_scores", "outputs_of", "some_rows"]

Floats = NDArray[np.float64]


class Source(Protocol):
    """Rows to learn from, here or elsewhere: all of them by sums, and a few of them as they are."""

    @property
    def classes(self) -> int: ...

    @property
    def input_bits(self) -> int: ...

    @property
    def features(self) -> int: ...

    @property
    def outputs(self) -> int: ...

    def __len__(self) -> int: ...

    def part(self, rows: NDArray[np.integer] | slice) -> Problem:
        """Some of the rows, in memory."""
        ...

    def some_rows(self, count: int, seed: int) -> NDArray[np.int64]:
        """The numbers of ``count`` random rows, or of all; see :func:`some_rows`."""
        ...

    def family_rows(self, pool: SignalPool, weights: Floats, intercept: Floats) -> Rows:
        """All rows as families learn from them, beside a linear part."""
        ...


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows in memory: codes (rows, features), targets (rows, outputs) or class indices (rows,).

    ``robust`` is for real targets: rows far off count less.
    """

    codes: NDArray[np.integer]
    targets: NDArray
    weights: Floats
    classes: int
    input_bits: int
    robust: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def features(self) -> int:
        return self.codes.shape[1]

    @property
    def outputs(self) -> int:
        return outputs_of(self.classes, self.targets)

    @property
    def x(self) -> Floats:
        """The inputs as the linear part sees them."""
        # A code stands for the middle of its step.
        return (self.codes + 0.5) / 2.0**self.input_bits

    def loss(self) -> Loss:
        if not self.classes:
            kind = Huber if self.robust else Squared
            return kind(self.targets.T, self.weights)
        if self.classes == 2:
            return Logistic(self.targets == 1, self.weights)
        return Softmax(self.targets, self.classes, self.weights)

    def part(self, rows: NDArray[np.integer] | slice) -> Problem:
        return replace(
            self, codes=self.codes[rows], targets=self.targets[rows], weights=self.weights[rows]
        )

    def some_rows(self, count: int, seed: int) -> NDArray[np.int64]:
        return some_rows(len(self), count, seed)

    def family_rows(
        self, pool: SignalPool, weights: Floats, intercept: Floats, first: int = 0
    ) -> FamilyRows:
        """``first`` is the number of the first row, where these are not all."""
        scores = linear_scores(self, weights, intercept)
        return FamilyRows(pool.reached(self.codes), self.loss(), scores, first)


def outputs_of(classes: int, targets: NDArray) -> int:
    """One output for two classes, whose score says which of them."""
    if classes:
        return 1 if classes == 2 else classes
    return int(targets.shape[1])


def some_rows(rows: int, count: int, seed: int) -> NDArray[np.int64]:
    """The numbers of ``count`` of the rows in random order, or of all."""
    return np.random.default_rng([seed, 1]).permutation(rows)[:count]


def linear_scores(problem: Problem, weights: Floats, intercept: Floats) -> Floats:
    """What a linear part (features, outputs) answers, (outputs, rows).

    Its inputs are few, and added up one after the other: a row's answer is the same to the bit,
    whatever rows it is among.
    """
    scores = np.repeat(intercept[:, None], len(problem), axis=1)
    for feature in np.flatnonzero(weights.any(axis=1)):
        x = (problem.codes[:, feature] + 0.5) / 2.0**problem.input_bits
        scores += weights[feature, :, None] * x
    return scores
