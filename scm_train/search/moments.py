"""What a search knows of candidates: their products with the residual and with the nodes before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["TIE", "Moments", "best", "products"]

Floats = NDArray[np.float64]

#: A candidate of a smaller square norm is saturated at 0, and no candidate.
SATURATED = 1e-20
#: A candidate with a smaller share of its square norm outside the others' span is no candidate.
DEPENDENT = 1e-6
#: Scores that differ by a smaller share of the residual are equal but for the order of their sums.
TIE = 1e-13


def products(
    h: Floats, residual: Floats, projection: Callable[[Floats], Floats] | None
) -> tuple[Floats, Floats, Floats]:
    """Of outputs ``h`` (T, rows): ``<E_q, h>`` (outputs, T), ``<h, h>`` (T,), ``Q^T h`` (nodes, T).

    Without ``projection`` there are no nodes to project on.
    """
    norm = np.einsum("ti,ti->t", h, h)
    inside = np.empty((0, len(h))) if projection is None else projection(h.T)
    return (h @ residual).T, norm, inside


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

    @classmethod
    def of_products(cls, inner: Floats, norm: Floats, inside: Floats, exact: bool) -> Moments:
        """The moments by products in float64, as :func:`products` takes them."""
        outside = norm - np.einsum("kt,kt->t", inside, inside) if exact else norm
        return cls(inner, norm, outside)

    def inequality(self, energy: Floats, r: float | Floats) -> Floats:
        """The supervisory ``xi`` (outputs, T), for one r or one per candidate.

        A candidate that is saturated at 0, or depends on the nodes before, has -inf.
        """
        # The paper's xi_q = <E_q, h>^2 / <h, h> - (1 - r) <E_q, E_q>; the exact criterion puts what
        # lies outside the nodes' span in the place of <h, h>.
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
        # A correlation off by `rounding` moves <E, h> by rounding sqrt(<E, E> <h, h>), so its
        # square by 2 |<E, h>| times that and the square of that; what lies outside may be off by 2
        # rounding <h, h>. All divided by what lies outside, of which <h, h> is `reach` times as
        # much.
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
        # The greatest |<E, h>| and the least <h, h> of a draw, of whichever candidates: a bound for
        # each.
        most = np.abs(self.inner).reshape(len(energy), len(r), count).max(axis=2)
        norm = self.norm.reshape(len(r), count).min(axis=1)
        most /= np.sqrt(np.maximum(norm, SATURATED))
        # Twice the error that rounding can make: this is no place for a close decision.
        most += 2 * self.rounding.max() * np.sqrt(energy)
        # A candidate has to pass for every output, so that one output rules a draw out.
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
    # argmax of truth values is the first that is true.
    return int(np.argmax(scores >= most - TIE * energy.sum()))
