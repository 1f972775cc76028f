"""The linear part of the machine: LASSO with selected inputs, in the paper's scaling."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import ChunkMap
from scm_train.encode.rows import CHUNK, Rows

__all__ = ["LinearPart", "LinearSums", "LocalSums", "fit_linear"]

Floats = NDArray[np.float64]

#: Largest violation of the optimum's conditions, as a share of the largest correlation.
TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class LinearPart:
    """``x @ weights + intercept``, weights (d, m) with zeros where LASSO dropped an input."""

    weights: Floats
    intercept: Floats

    @classmethod
    def none(cls, features: int, outputs: int) -> LinearPart:
        return cls(np.zeros((features, outputs)), np.zeros(outputs))

    @property
    def selected(self) -> list[int]:
        """Inputs with a weight for any output."""
        return [int(i) for i in np.flatnonzero(self.weights.any(axis=1))]

    def __call__(self, x: Floats) -> Floats:
        return x @ self.weights + self.intercept


class LinearSums(Protocol):
    """Sums over the rows that the linear part is fitted on."""

    #: How many rows there are.
    count: int

    def totals(self) -> tuple[Floats, Floats]:
        """Sums (d,) of the inputs and (m,) of the targets."""

    def centred_moments(self, x_mean: Floats, t_mean: Floats) -> tuple[Floats, Floats]:
        """``X^T X`` and ``X^T T`` less the means."""


class LocalSums:
    """Sums over rows in this process, which come in parts with their targets."""

    def __init__(self, parts: Sequence[tuple[Rows, Floats]], chunk_map: ChunkMap):
        self.parts = parts
        self.count = sum(len(rows) for rows, _ in parts)
        self._map = chunk_map

    def totals(self) -> tuple[Floats, Floats]:
        x_total = np.sum([self._total(rows) for rows, _ in self.parts], axis=0)
        return x_total, np.sum([targets.sum(axis=0) for _, targets in self.parts], axis=0)

    def _total(self, rows: Rows) -> Floats:
        chunks = self._map(lambda chunk: rows.seen(chunk).sum(axis=0), len(rows), CHUNK)
        return np.sum(chunks, axis=0)

    def centred_moments(self, x_mean: Floats, t_mean: Floats) -> tuple[Floats, Floats]:
        moments = [self._moments(*part, x_mean, t_mean) for part in self.parts]
        gram, cross = (np.sum(own, axis=0) for own in zip(*moments, strict=True))
        return gram, cross

    def _moments(
        self, rows: Rows, targets: Floats, x_mean: Floats, t_mean: Floats
    ) -> tuple[Floats, Floats]:
        def on(chunk: slice) -> tuple[Floats, Floats]:
            x = rows.seen(chunk) - x_mean
            return x.T @ x, x.T @ (targets[chunk] - t_mean)

        parts = self._map(on, len(rows), CHUNK)
        return np.sum([p[0] for p in parts], axis=0), np.sum([p[1] for p in parts], axis=0)


def fit_linear(sums: LinearSums, alpha: float) -> LinearPart:
    """Minimise ``sum (t - x p - u)^2 + alpha sum |p|`` for every output, over all rows.

    The paper sets ``u`` to the mean of the targets, which is its best value for inputs of mean 0.
    Inputs and targets are therefore centred for the fit, and the shift of the inputs is folded into
    the intercept: ``u = mean(t) - mean(x) p``.
    """
    x_mean, t_mean = (total / sums.count for total in sums.totals())
    gram, cross = sums.centred_moments(x_mean, t_mean)
    weights = np.stack([_lasso(gram, c, alpha, sums.count) for c in cross.T], axis=1)
    return LinearPart(weights, t_mean - x_mean @ weights)


def _lasso(gram: Floats, cross: Floats, alpha: float, rows: int) -> Floats:
    """Minimise ``p gram p - 2 cross p + alpha |p|``.

    The path of solutions is exact and indifferent to inputs that nearly repeat each other, where
    coordinate descent crawls; inputs that repeat each other exactly end it early, and there descent
    takes over.
    """
    # Seconds to import, and a cluster's workers, who read this file too, solve nothing.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path_gram

    with warnings.catch_warnings():
        # Whether either has converged is judged by the optimum's own conditions.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # scikit-learn minimises |t - X p|^2 / (2 n) + alpha' |p|, hence alpha' = alpha / (2 n).
        _, _, path = lars_path_gram(
            cross, gram, n_samples=rows, alpha_min=alpha / (2 * rows), method="lasso"
        )
        weights = path[:, -1]
        if _violation(gram, cross, alpha, weights) > TOLERANCE * np.abs(cross).max():
            weights = _descend(gram, cross, alpha)
    return weights


def _violation(gram: Floats, cross: Floats, alpha: float, weights: Floats) -> float:
    """How far the conditions of the optimum are from being met."""
    # Subgradients: the slope of the squares is alpha sign(p) for a weight that is not 0, and within
    # +-alpha for one that is.
    slope = 2 * (cross - gram @ weights)
    wanted = np.where(weights != 0, np.sign(weights) * alpha, np.clip(slope, -alpha, alpha))
    return float(np.abs(slope - wanted).max())


def _descend(gram: Floats, cross: Floats, alpha: float) -> Floats:
    """LASSO by coordinate descent, on ``A`` and ``b`` with ``A^T A = gram``, ``A^T b = cross``."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    # gram = V D V^T, so that A = D^(1/2) V^T and b = D^(-1/2) V^T cross. Directions in which the
    # inputs repeat each other have eigenvalues of rounding alone, and are left out.
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    image = vectors[:, kept].T @ cross / np.sqrt(values[kept])
    if alpha == 0:
        return np.linalg.lstsq(root, image, rcond=None)[0]
    from sklearn.linear_model import Lasso

    # scikit-learn minimises |b - A p|^2 / (2 n) + alpha' |p|, with the n rows of A.
    lasso = Lasso(alpha / (2 * len(root)), fit_intercept=False, tol=1e-8, max_iter=20_000)
    return lasso.fit(root, image).coef_
