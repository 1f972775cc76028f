"""The least-squares readout of all nodes, by an orthogonal factorisation that grows and shrinks.

The outputs of the nodes are ``H = Q R`` with orthonormal ``Q``, by classical Gram-Schmidt, again
until it takes little off, which is as orthogonal as Householder's. A node costs a few passes over
``Q``. The readout then follows from the small factor ``R`` and ``C = Q^T T`` alone, with ridge or
without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lstsq

from scm_train.chunks import ChunkMap
from scm_train.solve.basis import Basis, LocalBasis, Shadow, rmse_of

__all__ = ["OrthogonalReadout", "Readout", "Shadow", "ridge_path", "ridge_solution"]

Floats = NDArray[np.float64]

#: A node with less than this share of its norm outside the others' span adds nothing but the
#: rounding of its products with them.
DEPENDENT = 1e-14
#: With more nodes than this no singular values are taken, which would be several times slower.
MANY_NODES = 512
#: Passes of Gram-Schmidt, at most; two are enough unless rounding is all that is left.
MOST_PASSES = 3


class OrthogonalReadout:
    """Least squares on the nodes added so far, over the rows of a basis, wherever they are.

    ``energy`` (outputs,) is the square norm of what is left of the targets. A node that depends
    linearly on the others is kept, and takes part in the minimum-norm readout.
    """

    def __init__(self, basis: Basis, validation_rows: int = 0):
        self._basis = basis
        self._validation_rows = validation_rows
        self._r: list[Floats] = []
        self._norms: list[float] = []
        self._c: list[Floats] = []
        self._measure()

    def __len__(self) -> int:
        return len(self._norms)

    @property
    def rows(self) -> int:
        return self._basis.rows

    @property
    def rmse(self) -> float:
        """Of the residual, over all outputs."""
        return rmse_of(self.energy, self.rows)

    @property
    def validation_rmse(self) -> float:
        """Likewise on the validation rows; NaN without them."""
        if not self._validation_rows:
            return float("nan")
        return rmse_of(self._validation_energy, self._validation_rows)

    def _measure(self) -> None:
        self.energy, *of_validation = self._basis.energies()
        self._validation_energy = of_validation[0] if of_validation else np.empty(0)

    def add(self, h: Any, shadow_h: Any = None) -> None:
        """Add a node by its outputs (rows,), and on the validation rows if there are any."""
        r, norm = self._orthogonalise(h, shadow_h)
        c = self._basis.scale(norm)
        self._basis.commit(r, norm, c)
        self._measure()
        self._r.append(r)
        self._norms.append(norm)
        self._c.append(c)

    def _orthogonalise(self, h: Any, shadow_h: Any) -> tuple[Floats, float]:
        """``r`` and ``norm`` with ``h = Q r + norm q``; 0 for a dependent node.

        What is left of ``h`` stays in the basis.
        """
        r = np.zeros(len(self))
        size = before = after = float(np.sqrt(self._basis.propose(h, shadow_h)))
        for _ in range(MOST_PASSES):
            step = self._basis.project()
            r += step
            before, after = after, float(np.sqrt(self._basis.subtract(step)))
            # What kept a tenth of its length lost a digit of its direction to rounding, no more.
            if after > 0.1 * before:
                break
        return r, after if after > DEPENDENT * size else 0.0

    def rewind(self, count: int) -> None:
        """Keep the first ``count`` nodes, with the residual exactly as it was after them."""
        del self._r[count:], self._norms[count:], self._c[count:]
        self._basis.rewind(count, np.array(self._c).reshape(count, self._basis.outputs))
        self._measure()

    def factors(self) -> tuple[Floats, Floats]:
        """``R`` (nodes, nodes) and ``Q^T T`` (nodes, outputs)."""
        nodes = len(self)
        factor = np.zeros((nodes, nodes))
        for k, (r, norm) in enumerate(zip(self._r, self._norms, strict=True)):
            factor[:k, k] = r
            factor[k, k] = norm
        return factor, np.array(self._c).reshape(nodes, self._basis.outputs)


class Readout(OrthogonalReadout):
    """Least squares of ``targets`` (rows, outputs) in this process; a shadow has validation rows.

    ``residual`` is always what is left of the targets.
    """

    def __init__(self, targets: Floats, chunk_map: ChunkMap, shadow: Shadow | None = None):
        self.targets = targets
        self.shadow = shadow
        self._local = LocalBasis(targets, chunk_map, shadow)
        super().__init__(self._local, 0 if shadow is None else len(shadow.targets))

    @property
    def residual(self) -> Floats:
        return self._local.residual

    def basis(self, rows: slice) -> list[Floats]:
        """``Q^T`` on some rows, in blocks of columns."""
        return self._local.columns.chunk(rows)

    def rounded_basis(self) -> Callable[[slice], list[NDArray[np.float32]]]:
        """``Q^T`` in float32, as a function of the rows; of the nodes there now."""
        self._local.columns.round()
        return self._local.columns.single

    def projection(self, h: Floats) -> Floats:
        """``Q^T h`` of one node's outputs (rows,), or of several's (rows, nodes)."""
        return self._local.columns.dot(h)


def ridge_solution(factor: Floats, moments: Floats, ridge: float = 0.0) -> Floats:
    """Minimise ``|R b - C|^2 + ridge |b|^2``; of several minima, the one of least norm.

    ``R^T R`` and ``R^T C`` may stand for any number of rows.
    """
    if factor.shape[1] > MANY_NODES:
        if not ridge:
            return lstsq(factor, moments, cond=DEPENDENT, lapack_driver="gelsy")[0]
        # The normal equations square the condition; the ridge keeps them positive definite.
        gram = factor.T @ factor
        gram[np.diag_indices_from(gram)] += ridge
        return cho_solve(cho_factor(gram), factor.T @ moments)
    return _path_by_singular_values(factor, moments, np.array([ridge]))[0]


def ridge_path(factor: Floats, moments: Floats, ridges: Floats) -> Floats:
    """The solutions (ridges, nodes, outputs) for several ridges, all from one factorisation."""
    if factor.shape[1] > MANY_NODES:
        return _path_by_eigenvalues(factor, moments, ridges)
    return _path_by_singular_values(factor, moments, ridges)


def _path_by_singular_values(factor: Floats, moments: Floats, ridges: Floats) -> Floats:
    if not factor.size:
        return np.zeros((len(ridges), factor.shape[1], moments.shape[1]))
    # b = V diag(s / (s^2 + ridge)) U^T C. Without ridge this is H^+ T, the paper's Moore-Penrose
    # solution, with singular values of rounding alone counted as 0.
    u, s, vt = np.linalg.svd(factor, full_matrices=False)
    kept = s > s[0] * max(max(factor.shape) * np.finfo(float).eps, DEPENDENT)
    inside = u.T @ moments
    gains = (np.where(kept, s / np.where(kept, s * s + ridge, 1.0), 0.0) for ridge in ridges)
    return np.stack([vt.T @ (gain[:, None] * inside) for gain in gains])


def _path_by_eigenvalues(factor: Floats, moments: Floats, ridges: Floats) -> Floats:
    """Likewise from the normal equations: less precise where there is no ridge."""
    # R^T R = V D V^T, hence b = V (D + ridge)^-1 V^T R^T C: one factorisation for all ridges.
    values, vectors = np.linalg.eigh(factor.T @ factor)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    inside = vectors.T @ (factor.T @ moments)
    gains = (np.where(kept, 1 / np.where(kept, values + ridge, 1.0), 0.0) for ridge in ridges)
    return np.stack([vectors @ (gain[:, None] * inside) for gain in gains])
