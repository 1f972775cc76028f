"""What a search knows of candidates: their products with the residual and with the nodes before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import row_chunks
from scm_train.search.responses import CHUNK_ROWS
from scm_train.solve.readout import Readout

__all__ = ["TIE", "Aim", "Moments", "best"]

Floats = NDArray[np.float64]

#: A candidate of a smaller square norm is saturated at 0, and no candidate.
SATURATED = 1e-20
#: A candidate with a smaller share of its square norm outside the others' span is no candidate.
DEPENDENT = 1e-6
#: Scores that differ by a smaller share of the residual are equal but for the order of their sums.
TIE = 1e-13


class Aim:
    """What candidates are measured against: the residual and, to be exact, the nodes before."""

    def __init__(self, readout: Readout, exact: bool):
        self.readout = readout
        self.exact = exact
        self.energy = readout.energy
        self.rows, self.outputs = readout.residual.shape
        self._basis = readout.rounded_basis() if exact else None

    @cached_property
    def _fixed(self) -> NDArray[np.float32]:
        fixed = np.ones((1 + self.outputs, self.rows), dtype=np.float32)
        fixed[1:] = self.readout.residual.T
        return fixed

    @cached_property
    def sums(self) -> Floats:
        """The sums of all probes but the ones."""
        chunks = row_chunks(self.rows, CHUNK_ROWS)
        parts = [[b.sum(axis=1) for b in self.probes(c, ones=False)] for c in chunks]
        return np.sum([np.concatenate(part) for part in parts], axis=0, dtype=float)

    def probes(self, chunk: slice, ones: bool = True) -> list[NDArray[np.float32]]:
        """Ones, the residual and, to be exact, the nodes' basis, in blocks (probes, rows)."""
        fixed = self._fixed[0 if ones else 1 :, chunk]
        return [fixed] if self._basis is None else [fixed, *self._basis(chunk)]

    def precise_probes(self, ones: bool) -> Floats:
        """The residual (outputs, rows) in float64, below ones if asked for."""
        residual = self.readout.residual.T
        return np.concatenate([np.ones((1, self.rows)), residual]) if ones else residual

    def moments_of(self, dots: Floats, norm: Floats, rounding: Floats) -> Moments:
        """The moments of candidates by their products with all probes but the ones."""
        inner, inside = dots[: self.outputs], dots[self.outputs :]
        outside = norm - np.einsum("it,it->t", inside, inside) if self.exact else norm
        return Moments(inner, norm, outside, rounding)

    def moments(self, h: Floats) -> Moments:
        """The moments of a few candidates by their outputs (T, rows), in float64."""
        norm = outside = np.einsum("ti,ti->t", h, h)
        if self.exact:
            inside = self.readout.projection(h.T)
            outside = norm - np.einsum("kt,kt->t", inside, inside)
        return Moments((h @ self.readout.residual).T, norm, outside)


@dataclass(frozen=True, eq=False)
class Moments:
    """``<E_q, h>`` (outputs, T), ``<h, h>`` (T,) and what of it lies outside of the nodes' span.

    ``rounding`` (T,) bounds the error of a correlation computed from them; None for sums in
    float64, which are as good as any.
    """

    inner: Floats
    norm: Floats
    outside: Floats
    rounding: Floats | None = None
    #: Some candidates' outputs (them, rows), where those of all are at hand and exact.
    outputs: Callable[[NDArray[np.intp]], Floats] | None = None

    def inequality(self, energy: Floats, r: float | Floats) -> Floats:
        """The supervisory ``xi`` (outputs, T), for one r or one per candidate.

        A candidate that is saturated at 0, or depends on the nodes before, has -inf.
        """
        xi = self._gain - (1 - r) * energy[:, None]
        if not self._all_usable:
            xi[:, ~self._usable] = -np.inf
        return xi

    def slack(self, energy: Floats) -> Floats:
        """How far rounding may have moved the supervisory ``xi`` (outputs, T)."""
        assert self.rounding is not None
        energy, gain, reach = energy[:, None], self._gain, 1.0
        if self.outside is not self.norm:
            lost = self._lost
            least = np.where(self._usable, DEPENDENT * self.norm, np.inf)
            reach = self.norm / np.maximum(self.outside - lost, least)
        slack = 2 * (np.sqrt(gain * energy * reach) + gain * reach)
        return self.rounding * (slack + self.rounding * energy * reach)

    @cached_property
    def _usable(self) -> NDArray[np.bool_]:
        usable = self.norm > SATURATED
        if self.outside is not self.norm:
            # What may be as much as it takes has a second look in float64, where nothing is lost.
            usable &= self.outside + self._lost > DEPENDENT * self.norm
        return usable

    @cached_property
    def _all_usable(self) -> bool:
        return bool(self._usable.all())

    @property
    def _lost(self) -> Floats | float:
        """What rounding may have taken off or added to the part outside."""
        return 0.0 if self.rounding is None else 2 * self.rounding * self.norm

    @cached_property
    def _gain(self) -> Floats:
        """The error that a candidate removes, of every output; 0 for one that is no candidate."""
        outside = self.outside
        if outside is not self.norm:
            outside = np.maximum(outside, DEPENDENT * self.norm)
        if not self._all_usable:
            outside = np.where(self._usable, outside, np.inf)
        return self.inner**2 / outside

    def part(self, some: slice) -> Moments:
        """The moments of candidates in a row."""
        norm = self.norm[some]
        outside = norm if self.outside is self.norm else self.outside[some]
        outputs = self.outputs
        if outputs is not None:
            whole = outputs

            def outputs(which: NDArray[np.intp]) -> Floats:
                return whole(some.start + which)

        rounding = None if self.rounding is None else self.rounding[some]
        return Moments(self.inner[:, some], norm, outside, rounding, outputs)

    def hopeless(self, energy: Floats, r: Floats, count: int) -> NDArray[np.bool_]:
        """Draws of ``count`` candidates of which it is plain, at little cost, that none passes."""
        if self.outside is not self.norm:
            return np.zeros(len(r), dtype=bool)
        assert self.rounding is not None
        energy = energy[:, None]
        most = np.abs(self.inner).reshape(len(energy), len(r), count).max(axis=2)
        norm = self.norm.reshape(len(r), count).min(axis=1)
        most /= np.sqrt(np.maximum(norm, SATURATED))
        # Twice the error that rounding can make: this is no place for a close decision.
        most += 2 * self.rounding.max() * np.sqrt(energy)
        return (most * most < (1 - r) * energy).any(axis=0)

    def replace(self, which: NDArray[np.intp], others: Moments) -> None:
        """Take the moments of the candidates in ``which`` from ``others``."""
        assert self.rounding is not None
        self.inner[:, which] = others.inner
        self.norm[which] = others.norm
        self.outside[which] = others.outside
        self.rounding[which] = others.rounding


def best(xi: Floats, energy: Floats) -> int | None:
    """The candidate with the largest score among those that pass; of equal ones the first drawn."""
    scores = np.where((xi > 0).all(axis=0), xi.sum(axis=0), -np.inf)
    most = scores.max()
    if most == -np.inf:
        return None
    return int(np.argmax(scores >= most - TIE * energy.sum()))
