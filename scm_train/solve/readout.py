"""The least-squares readout of all nodes, by an orthogonal factorisation that grows and shrinks.

The outputs of the nodes are ``H = Q R`` with orthonormal ``Q``, by classical Gram-Schmidt, again
until it takes little off, which is as orthogonal as Householder's. A node costs a few passes over
``Q``. The readout then follows from the small factor ``R`` and ``C = Q^T T`` alone, with ridge or
without.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lstsq

from scm_train.chunks import ChunkMap

__all__ = ["Readout", "Shadow", "ridge_path", "ridge_solution"]

Floats = NDArray[np.float64]

#: Numbers per block of Q; a block's memory is only committed as its columns are written.
BLOCK_NUMBERS = 1 << 20
#: Fewest columns of a block.
FEWEST_COLUMNS = 16
#: Fewest columns of a block in float32, which is multiplied by many candidates at a time.
FEWEST_ROUNDED = 128
#: Rows per chunk of a pass over Q.
CHUNK = 65536
#: A node with less than this share of its norm outside the others' span adds nothing but the
#: rounding of its products with them.
DEPENDENT = 1e-14
#: With more nodes than this no singular values are taken, which would be several times slower.
MANY_NODES = 512
#: Passes of Gram-Schmidt, at most; two are enough unless rounding is all that is left.
MOST_PASSES = 3


class _Columns:
    """A growing list of float64 vectors in blocks, with the two products Gram-Schmidt needs."""

    def __init__(self, rows: int, chunk_map: ChunkMap):
        self.rows = rows
        self.count = 0
        self._map = chunk_map
        self._width = max(FEWEST_COLUMNS, BLOCK_NUMBERS // max(rows, 1))
        self._blocks: list[Floats] = []
        self._single: list[NDArray[np.float32]] = []
        self._single_width = max(FEWEST_ROUNDED, self._width)
        self._rounded = 0

    def __getitem__(self, index: int) -> Floats:
        return self._blocks[index // self._width][index % self._width]

    def append(self, column: Floats) -> None:
        if self.count == self._width * len(self._blocks):
            self._blocks.append(np.empty((self._width, self.rows)))
        self.count += 1
        self[self.count - 1][:] = column

    def pop(self) -> None:
        self.count -= 1
        self._rounded = min(self._rounded, self.count)
        if self.count <= self._width * (len(self._blocks) - 1):
            self._blocks.pop()
        del self._single[-(-self.count // self._single_width) :]

    def chunk(self, rows: slice) -> list[Floats]:
        """The rows in the slice, as a list of (columns of the block, rows) matrices."""
        return [b[: self.count - self._width * i, rows] for i, b in enumerate(self._blocks)]

    def round(self) -> None:
        """Have all columns in float32 too, each rounded once; not for several threads at a time."""
        while self._rounded < self.count:
            block, column = divmod(self._rounded, self._single_width)
            if block == len(self._single):
                self._single.append(np.empty((self._single_width, self.rows), dtype=np.float32))
            self._single[block][column] = self[self._rounded]
            self._rounded += 1

    def single(self, rows: slice) -> list[NDArray[np.float32]]:
        """Likewise in float32, of columns that have been rounded."""
        assert self._rounded == self.count
        width = self._single_width
        return [b[: self.count - width * i, rows] for i, b in enumerate(self._single)]

    def dot(self, vector: Floats) -> Floats:
        """``Q^T v`` of a vector, or of the columns of a matrix."""
        if not self.count:
            return np.zeros((0, *vector.shape[1:]))
        parts = self._map(
            lambda rows: np.concatenate([b @ vector[rows] for b in self.chunk(rows)]),
            self.rows,
            CHUNK,
        )
        return np.sum(parts, axis=0)

    def subtract(self, vector: Floats, coefficients: Floats) -> None:
        """``v -= Q c``, in place."""

        def on(rows: slice) -> None:
            for i, block in enumerate(self.chunk(rows)):
                vector[rows] -= coefficients[self._width * i : self._width * (i + 1)] @ block

        self._map(on, self.rows, CHUNK)


class Shadow:
    """Other rows (validation) that follow the readout of the training rows node by node."""

    def __init__(self, targets: Floats, chunk_map: ChunkMap):
        self.targets = targets
        self.residual = targets.copy()
        self.rmse = _rmse(_energy(targets), len(targets))
        self._q = _Columns(len(targets), chunk_map)

    def add(self, h: Floats, r: Floats, norm: float, c: Floats) -> None:
        """Take on a node with the coefficients that the training rows gave it."""
        q = np.array(h, dtype=np.float64)
        if norm:
            self._q.subtract(q, r)
            q /= norm
        else:
            q[:] = 0.0
        self._q.append(q)
        self.residual -= np.outer(q, c)
        self.rmse = _rmse(_energy(self.residual), len(q))

    def rewind(self, count: int, c: Floats) -> None:
        while self._q.count > count:
            self._q.pop()
        _replay(self.residual, self.targets, self._q, c)
        self.rmse = _rmse(_energy(self.residual), len(self.residual))


class Readout:
    """Least squares of ``targets`` (rows, outputs) on the nodes added so far.

    ``residual`` is always what is left of the targets, ``energy`` (outputs,) its square norm. A
    node that depends linearly on the others is kept, and takes part in the minimum-norm readout.
    """

    def __init__(self, targets: Floats, chunk_map: ChunkMap, shadow: Shadow | None = None):
        self.targets = targets
        self.residual = targets.copy()
        self.energy = _energy(targets)
        self.shadow = shadow
        self._q = _Columns(len(targets), chunk_map)
        self._r: list[Floats] = []
        self._norms: list[float] = []
        self._c: list[Floats] = []

    def __len__(self) -> int:
        return self._q.count

    @property
    def rmse(self) -> float:
        """Of the residual, over all outputs."""
        return _rmse(self.energy, len(self.residual))

    def basis(self, rows: slice) -> list[Floats]:
        """``Q^T`` on some rows, in blocks of columns."""
        return self._q.chunk(rows)

    def rounded_basis(self) -> Callable[[slice], list[NDArray[np.float32]]]:
        """``Q^T`` in float32, as a function of the rows; of the nodes there now."""
        self._q.round()
        return self._q.single

    def projection(self, h: Floats) -> Floats:
        """``Q^T h`` of one node's outputs (rows,), or of several's (rows, nodes)."""
        return self._q.dot(h)

    def add(self, h: Floats, shadow_h: Floats | None = None) -> None:
        """Add a node by its outputs (rows,), and on the shadow's rows if there is one."""
        q, r, norm = self._orthogonalise(h)
        c = q @ self.residual
        self.residual -= np.outer(q, c)
        self.energy = _energy(self.residual)
        self._q.append(q)
        self._r.append(r)
        self._norms.append(norm)
        self._c.append(c)
        if self.shadow is not None:
            assert shadow_h is not None
            self.shadow.add(shadow_h, r, norm, c)

    def _orthogonalise(self, h: Floats) -> tuple[Floats, Floats, float]:
        """``q``, ``r`` and ``norm`` with ``h = Q r + norm q``; 0 and 0 for a dependent node."""
        q = np.array(h, dtype=np.float64)
        r = np.zeros(len(self))
        size = before = after = float(np.linalg.norm(q))
        for _ in range(MOST_PASSES):
            step = self._q.dot(q)
            self._q.subtract(q, step)
            r += step
            before, after = after, float(np.linalg.norm(q))
            # What kept a tenth of its length lost a digit of its direction to rounding, no more.
            if after > 0.1 * before:
                break
        if after > DEPENDENT * size:
            q /= after
            return q, r, after
        q[:] = 0.0
        return q, r, 0.0

    def rewind(self, count: int) -> None:
        """Keep the first ``count`` nodes, with the residual exactly as it was after them."""
        while len(self) > count:
            self._q.pop()
        del self._r[count:], self._norms[count:], self._c[count:]
        c = np.array(self._c).reshape(count, self.targets.shape[1])
        _replay(self.residual, self.targets, self._q, c)
        self.energy = _energy(self.residual)
        if self.shadow is not None:
            self.shadow.rewind(count, c)

    def factors(self) -> tuple[Floats, Floats]:
        """``R`` (nodes, nodes) and ``Q^T T`` (nodes, outputs)."""
        nodes = len(self)
        factor = np.zeros((nodes, nodes))
        for k, (r, norm) in enumerate(zip(self._r, self._norms, strict=True)):
            factor[:k, k] = r
            factor[k, k] = norm
        return factor, np.array(self._c).reshape(nodes, self.targets.shape[1])


def ridge_solution(factor: Floats, moments: Floats, ridge: float = 0.0) -> Floats:
    """Minimise ``|R b - C|^2 + ridge |b|^2``; of several minima, the one of least norm.

    ``R^T R`` and ``R^T C`` may stand for any number of rows.
    """
    if factor.shape[1] > MANY_NODES:
        if not ridge:
            return lstsq(factor, moments, cond=DEPENDENT, lapack_driver="gelsy")[0]
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
    u, s, vt = np.linalg.svd(factor, full_matrices=False)
    kept = s > s[0] * max(max(factor.shape) * np.finfo(float).eps, DEPENDENT)
    inside = u.T @ moments
    gains = (np.where(kept, s / np.where(kept, s * s + ridge, 1.0), 0.0) for ridge in ridges)
    return np.stack([vt.T @ (gain[:, None] * inside) for gain in gains])


def _path_by_eigenvalues(factor: Floats, moments: Floats, ridges: Floats) -> Floats:
    """Likewise from the normal equations: less precise where there is no ridge."""
    values, vectors = np.linalg.eigh(factor.T @ factor)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    inside = vectors.T @ (factor.T @ moments)
    gains = (np.where(kept, 1 / np.where(kept, values + ridge, 1.0), 0.0) for ridge in ridges)
    return np.stack([vectors @ (gain[:, None] * inside) for gain in gains])


def _replay(residual: Floats, targets: Floats, q: _Columns, c: Floats) -> None:
    """Rebuild a residual by the very steps that made it, so that it is equal to the last bit."""
    residual[:] = targets
    for k in range(q.count):
        residual -= np.outer(q[k], c[k])


def _energy(residual: Floats) -> Floats:
    """``<E_q, E_q>`` of every output."""
    return np.einsum("iq,iq->q", residual, residual)


def _rmse(energy: Floats, rows: int) -> float:
    return float(np.sqrt(energy.mean() / rows))
