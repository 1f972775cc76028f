"""What candidates are measured against: the residual and, to be exact, the nodes before.

All candidates of a draw are measured at once in float32, with sums over chunks of rows added in
float64. Compiled loops over bits take them in float64 at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.chunks import ChunkMap, Scratch, row_chunks
from scm_train.search.moments import Moments, products
from scm_train.search.responses import (
    CHUNK_ROWS,
    Batch,
    Responses,
    logistic,
    outputs_by_rows,
    responses,
)
from scm_train.solve.basis import LocalBasis
from scm_train.solve.readout import Readout

__all__ = ["CHUNK_NUMBERS", "Aim", "LocalAim", "LocalScoring", "Scoring", "products_on"]

Floats = NDArray[np.float64]

#: Numbers per chunk of candidate outputs: few enough for the caches, and enough to make the cost of
#: a call in Python small.
CHUNK_NUMBERS = 1 << 19
#: Rows per chunk of the compiled loop, which keeps no outputs.
COMPILED_ROWS = 1 << 13
#: Rows per chunk where all candidates are evaluated in float64.
PRODUCT_ROWS = 1 << 13
#: Probes multiplied one by one, at most.
MOST_SINGLE = 8
#: A sigmoid of a smaller mean square is computed a second time, from its exponential.
FAINT = 1 / 256


class Aim(Protocol):
    """What the candidates for one node are measured against."""

    #: ``<E_q, E_q>`` of every output.
    energy: Floats
    rows: int

    def moments(self, batch: Batch) -> Moments:
        """The moments of all candidates of a batch."""

    def outputs(self, batch: Batch, which: NDArray[np.intp]) -> Floats | None:
        """Some candidates' outputs (candidates, rows); None where each row's stay with the row."""

    def precise(self, h: Floats) -> Moments:
        """The moments of a few candidates by their outputs, for moments that know a rounding."""


class Scoring(Protocol):
    """Where candidates are measured: on rows in this process, or on those of a cluster."""

    def against(self, readout: Any, exact: bool) -> Aim:
        """What a readout has left, and its nodes if the criterion is the exact one."""


class LocalScoring:
    """Rows in this process; scratch memory is used again for node after node."""

    def __init__(self, chunk_map: ChunkMap):
        self.chunk_map, self.scratch = chunk_map, Scratch()

    def against(self, readout: Readout, exact: bool) -> LocalAim:
        return LocalAim(readout, exact, self.chunk_map, self.scratch)


class LocalAim:
    """The residual of a readout in this process."""

    def __init__(self, readout: Readout, exact: bool, chunk_map: ChunkMap, scratch: Scratch):
        self.readout = readout
        self.exact = exact
        self.energy = readout.energy
        self.rows, self.outputs_per_row = readout.residual.shape
        self._map, self._scratch = chunk_map, scratch
        self._basis = readout.rounded_basis() if exact else None

    def outputs(self, batch: Batch, which: NDArray[np.intp]) -> Floats:
        return batch.outputs(which, self.rows, self._map)

    def precise(self, h: Floats) -> Moments:
        projection = self.readout.projection if self.exact else None
        found = products(h, self.readout.residual, projection)
        return Moments.of_products(*found, exact=self.exact)

    def moments(self, batch: Batch) -> Moments:
        """Precise for candidates next to 0, too."""
        if batch.activation in HARDWARE_ACTIVATIONS:
            return self._bit_moments(batch)
        moments = self._moments_of(batch, responses(batch, self._scratch))
        if batch.activation != "sigmoid":
            return moments
        faint = np.flatnonzero(moments.norm < FAINT * self.rows)
        if len(faint):
            some = batch.subset(faint)
            moments.replace(faint, self._moments_of(some, logistic(some)))
        return moments

    def _moments_of(self, batch: Batch, given: Responses) -> Moments:
        def on(chunk: slice) -> tuple[Floats, Floats]:
            t = given.on(chunk)
            probes = self._probes(chunk)
            dots = _products(probes, t)
            norm = _square_norms(t)
            if given.shift:
                sums = np.concatenate([block.sum(axis=1) for block in probes])
                dots = given.gain * dots + given.shift * sums[:, None]
                # |shift + gain t|^2 = gain^2 |t|^2 + 2 shift sum(h) - n shift^2
                norm = given.gain**2 * norm + given.shift * (2 * dots[0] - len(t) * given.shift)
            return dots[1:], norm

        parts = self._map(on, self.rows, _chunk_rows(len(batch.candidates)))
        dots, norm = (np.sum(part, axis=0, dtype=np.float64) for part in zip(*parts, strict=True))
        # A shifted response errs by its own size, of which the outputs may fall short.
        size = np.sqrt(np.clip(norm / self.rows, FAINT, 1)) if given.shift else np.ones(len(norm))
        return self._by_dots(dots, norm, batch.rounding / size)

    def _bit_moments(self, batch: Batch) -> Moments:
        """Likewise of sign and step, whose outputs are exact: no rounding can flip them."""
        tables = batch.candidates.tables
        # With many probes a matrix product is the faster way.
        sums = None if tables is None or self.exact else tables.dots(batch.limits)
        sign = batch.activation == "sign"
        if sums is not None:
            probes = self._precise_probes(ones=not sign)
            parts = self._map(lambda c: sums(c, probes[:, c]), self.rows, COMPILED_ROWS)
            totals = probes.sum(axis=1) if sign else None
            dots, norm = _of_bits(sum(parts[1:], parts[0]), totals, self.rows)
            return Moments(dots, norm, norm)
        given = responses(batch, self._scratch)

        def on(chunk: slice) -> tuple[Floats, NDArray[np.float32]]:
            t = given.on(chunk)
            return _products(self._probes(chunk, ones=not sign), t), t

        parts = self._map(on, self.rows, _chunk_rows(len(batch.candidates)))
        dots = sum((dots for dots, _ in parts[1:]), parts[0][0])
        # Bits of 0 and 1 and whole counts are exact in float32; products with the residual are not.
        dots, norm = _of_bits(dots, self._probe_sums if sign else None, self.rows)
        moments = self._by_dots(dots, norm, np.full(len(norm), batch.rounding))
        if len(parts) > 1:
            return moments
        # A single chunk has the outputs of all rows, and a close choice need not compute them
        # again.
        return replace(moments, outputs=lambda k: given.outputs(parts[0][1][:, k]))

    @cached_property
    def _fixed(self) -> NDArray[np.float32]:
        fixed = np.ones((1 + self.outputs_per_row, self.rows), dtype=np.float32)
        fixed[1:] = self.readout.residual.T
        return fixed

    @cached_property
    def _probe_sums(self) -> Floats:
        """The sums of all probes but the ones."""
        chunks = row_chunks(self.rows, CHUNK_ROWS)
        parts = [[b.sum(axis=1) for b in self._probes(c, ones=False)] for c in chunks]
        return np.sum([np.concatenate(part) for part in parts], axis=0, dtype=float)

    def _probes(self, chunk: slice, ones: bool = True) -> list[NDArray[np.float32]]:
        """Ones, the residual and, to be exact, the nodes' basis, in blocks (probes, rows)."""
        fixed = self._fixed[0 if ones else 1 :, chunk]
        return [fixed] if self._basis is None else [fixed, *self._basis(chunk)]

    def _precise_probes(self, ones: bool) -> Floats:
        """The residual (outputs, rows) in float64, below ones if asked for."""
        residual = self.readout.residual.T
        return np.concatenate([np.ones((1, self.rows)), residual]) if ones else residual

    def _by_dots(self, dots: Floats, norm: Floats, rounding: Floats) -> Moments:
        """The moments of candidates by their products with all probes but the ones."""
        inner, inside = dots[: self.outputs_per_row], dots[self.outputs_per_row :]
        # Pythagoras: the part of h outside the nodes' span is |h|^2 - |Q^T h|^2. It alone can lower
        # the least-squares error, which is what the exact criterion goes by.
        outside = norm - np.einsum("it,it->t", inside, inside) if self.exact else norm
        return Moments(inner, norm, outside, rounding)


def products_on(
    batch: Batch, basis: LocalBasis, exact: bool, chunk_map: ChunkMap
) -> tuple[Floats, Floats, Floats]:
    """The products of all candidates of a batch in float64, as :func:`products` has them."""
    outputs = outputs_by_rows(batch.candidates, batch.lambda_, batch.inputs, batch.activation)

    def on(rows: slice) -> tuple[Floats, Floats, Floats]:
        h = np.empty((len(batch.candidates), rows.stop - rows.start))
        outputs(rows, h)
        projection = partial(basis.columns.dot_on, rows) if exact else None
        return products(h, basis.residual[rows], projection)

    parts = chunk_map(on, basis.rows, PRODUCT_ROWS)
    inner, norm, inside = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    return inner, norm, inside


def _of_bits(dots: Floats, totals: Floats | None, rows: int) -> tuple[Floats, Floats]:
    """``<E_q, h>`` and ``<h, h>`` from sums over the rows that fire.

    Signs are twice the bits less 1, and ``totals`` are the sums over all rows. Without them the
    bits are the outputs, and the first of ``dots`` are their numbers.
    """
    if totals is None:
        # Bits are their own squares.
        return dots[1:], dots[0]
    return 2 * dots - totals[:, None], np.full(dots.shape[1], float(rows))


def _products(probes: Sequence[NDArray[np.float32]], t: NDArray[np.float32]) -> Floats:
    """The products (probes, T) of all blocks of probes with the responses (rows, T)."""
    return np.concatenate([_product(block, t) for block in probes], dtype=np.float64)


def _product(probes: NDArray[np.float32], t: NDArray[np.float32]) -> NDArray[np.float32]:
    """``probes @ t``; one probe at a time where a matrix product would spend more on packing."""
    if len(probes) > MOST_SINGLE or not t.flags.f_contiguous:
        return probes @ t
    return np.stack([t.T @ probe for probe in probes])


def _square_norms(t: NDArray[np.float32]) -> NDArray[np.float32]:
    """``<t, t>`` of each column; ``t`` may be lost."""
    if t.flags.f_contiguous:
        columns = t.T
        return (columns[:, None, :] @ columns[:, :, None])[:, 0, 0]
    return np.square(t, out=t).sum(axis=0)


def _chunk_rows(candidates: int) -> int:
    size = max(256, min(CHUNK_ROWS, CHUNK_NUMBERS // candidates))
    # Columns a power of two apart would compete for the same lines of a cache.
    return size // 32 * 32 + 16
