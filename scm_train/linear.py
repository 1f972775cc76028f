"""The linear part of the machine: LASSO with selected inputs, in the paper's scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

from scm_train.chunks import ChunkMap
from scm_train.inputs import CHUNK, Rows

__all__ = ["LinearPart", "fit_linear"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearPart:
    """``x @ weights + intercept``, weights (d, m) with zeros where LASSO dropped an input."""

    weights: Floats
    intercept: Floats

    @property
    def selected(self) -> list[int]:
        """Inputs with a weight for any output."""
        return [int(i) for i in np.flatnonzero(self.weights.any(axis=1))]

    def __call__(self, x: Floats) -> Floats:
        return x @ self.weights + self.intercept


def fit_linear(rows: Rows, targets: Floats, alpha: float, chunk_map: ChunkMap) -> LinearPart:
    """Minimise ``sum (t - x p - u)^2 + alpha sum |p|`` for every output.

    The paper sets ``u`` to the mean of the targets, which is its best value for inputs of mean 0.
    Inputs and targets are therefore centred for the fit, and the shift of the inputs is folded into
    the intercept: ``u = mean(t) - mean(x) p``.
    """
    x_mean, gram, cross = _moments(rows, targets, chunk_map)
    root, image = _square_root(gram, cross)
    weights = _lasso(root, image, alpha)
    return LinearPart(weights, targets.mean(axis=0) - x_mean @ weights)


def _moments(rows: Rows, targets: Floats, chunk_map: ChunkMap) -> tuple[Floats, Floats, Floats]:
    """Mean of the inputs, and centred ``X^T X`` and ``X^T T``."""
    total = chunk_map(lambda chunk: rows.seen(chunk).sum(axis=0), len(rows), CHUNK)
    x_mean = np.sum(total, axis=0) / len(rows)
    t_mean = targets.mean(axis=0)

    def on(chunk: slice) -> tuple[Floats, Floats]:
        x = rows.seen(chunk) - x_mean
        return x.T @ x, x.T @ (targets[chunk] - t_mean)

    parts = chunk_map(on, len(rows), CHUNK)
    return x_mean, np.sum([p[0] for p in parts], axis=0), np.sum([p[1] for p in parts], axis=0)


def _square_root(gram: Floats, cross: Floats) -> tuple[Floats, Floats]:
    """``A`` and ``B`` with ``A^T A = gram`` and ``A^T B = cross``: the data in d rows."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    scale = np.sqrt(values[kept])
    return scale[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ cross) / scale[:, None]


def _lasso(root: Floats, image: Floats, alpha: float) -> Floats:
    if not len(root):
        return np.zeros((root.shape[1], image.shape[1]))
    if alpha == 0:
        return np.linalg.lstsq(root, image, rcond=None)[0]
    # scikit-learn minimises |b - A p|^2 / (2 n) + alpha' |p|, hence alpha' = alpha / (2 n).
    lasso = Lasso(alpha / (2 * len(root)), fit_intercept=False, tol=1e-8, max_iter=100_000)
    return np.atleast_2d(lasso.fit(root, image).coef_).T
