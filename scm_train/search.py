"""The configuration search: which random candidate becomes the next node.

All candidates of a draw are scored at once in float32, with sums over chunks of rows added in
float64. Where rounding could decide, the candidates concerned are scored again in float64 one by
one, so that the choice is that of a float64 search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from scm_train._responses import CHUNK_ROWS, Batch, Responses, logistic, node_outputs, responses
from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.chunks import ChunkMap, Scratch, row_chunks
from scm_train.draw import CandidateDraw, Candidates
from scm_train.draws import Draws
from scm_train.history import History
from scm_train.inputs import LayerInputs
from scm_train.readout import Readout

__all__ = ["Configuration", "Search", "SearchSettings", "node_outputs"]

Floats = NDArray[np.float64]

#: Numbers per chunk of candidate outputs: few enough for the caches, and enough to make the cost of
#: a call in Python small.
CHUNK_NUMBERS = 1 << 19
#: Rows per chunk of the compiled loop, which keeps no outputs.
COMPILED_ROWS = 1 << 13
#: Probes multiplied one by one, at most.
MOST_SINGLE = 8
#: A sigmoid of a smaller mean square is computed a second time, from its exponential.
FAINT = 1 / 256
#: A candidate of a smaller square norm is saturated at 0, and no candidate.
SATURATED = 1e-20
#: A candidate with a smaller share of its square norm outside the others' span is no candidate.
DEPENDENT = 1e-6
#: Candidates scored again at a time, at least: together they read the nodes' basis once.
CHECKED = 8
#: Scores that differ by a smaller share of the residual are equal but for the order of their sums.
TIE = 1e-13

#: A score in float64, the candidate's index and its outputs.
_Best = tuple[float, int, Floats] | None


@dataclass(frozen=True)
class SearchSettings:
    """``lambdas`` and ``r_values`` as they are tried; not ``supervised`` takes any node."""

    lambdas: tuple[float, ...]
    r_values: tuple[float, ...]
    criterion: str = "paper"
    supervised: bool = True


@dataclass(frozen=True, eq=False)
class Configuration:
    """A node found: a batch of one candidate, its scale, the r that let it in, and its outputs."""

    node: Candidates
    lambda_: float
    r: float
    h: Floats


class Search:
    """Finds nodes for one machine; draws follow one another from a single random generator."""

    def __init__(
        self,
        settings: SearchSettings,
        draw: CandidateDraw,
        rng: np.random.Generator,
        chunk_map: ChunkMap,
        history: History,
    ):
        self.settings = settings
        self.history = history
        self._draws = Draws(draw, rng)
        self._map = chunk_map
        self._scratch = Scratch()
        #: Draws that the node before took; the next is not likely to take fewer.
        self._expected = 1

    def find(
        self, inputs: LayerInputs, activation: str, readout: Readout, count: int
    ) -> Configuration | None:
        """The next node among draws of ``count`` candidates; None where no draw offers any."""
        rows = len(readout.residual)
        if not self.settings.supervised:
            return self._unsupervised(inputs, activation, rows)
        aim = _Aim(readout, self.settings.criterion == "exact")
        ahead = self._expected if rows * count <= CHUNK_NUMBERS else 1
        self._expected = 0
        for lambda_ in self.settings.lambdas:
            done = 0
            while done < len(self.settings.r_values):
                r_values = self.settings.r_values[done : done + max(1, ahead - self._expected)]
                with self.history.phase("candidate_search"):
                    candidates = self._draws.ahead(inputs, rows, count, len(r_values))
                    batch = Batch(candidates, lambda_, inputs, activation)
                    moments = self._moments(batch, aim)
                with self.history.phase("inequality"):
                    found = self._first(batch, moments, aim, r_values, count)
                if found is not None:
                    return found
                done += len(candidates) // count
        return None

    def _first(
        self, batch: Batch, moments: _Moments, aim: _Aim, r_values: Sequence[float], count: int
    ) -> Configuration | None:
        """What the first of the draws in a batch that offers any candidate offers."""
        draws = len(batch.candidates) // count
        hopeless = moments.hopeless(aim.energy, np.array(r_values[:draws]), count)
        for number, (r, none) in enumerate(zip(r_values, hopeless, strict=False)):
            self._draws.use()
            self._expected += 1
            if none:
                continue
            some = slice(number * count, (number + 1) * count)
            found = self._choose(batch.part(some), moments.part(some), aim, r)
            if found is not None:
                return found
        return None

    def _unsupervised(self, inputs: LayerInputs, activation: str, rows: int) -> Configuration:
        """A node as it falls, unscaled."""
        with self.history.phase("candidate_search"):
            node = self._draws(inputs, rows, 1)
            h = node_outputs(node, 1.0, inputs, activation, rows, self._map)[0]
        return Configuration(node, 1.0, float("nan"), h)

    def _moments(self, batch: Batch, aim: _Aim) -> _Moments:
        """The moments of all candidates, precise for those next to 0, too."""
        if batch.activation in HARDWARE_ACTIVATIONS:
            return self._bit_moments(batch, aim)
        moments = self._moments_of(batch, responses(batch, self._scratch), aim)
        if batch.activation != "sigmoid":
            return moments
        faint = np.flatnonzero(moments.norm < FAINT * aim.rows)
        if len(faint):
            some = batch.subset(faint)
            moments.replace(faint, self._moments_of(some, logistic(some), aim))
        return moments

    def _moments_of(self, batch: Batch, given: Responses, aim: _Aim) -> _Moments:
        def on(chunk: slice) -> tuple[Floats, Floats]:
            t = given.on(chunk)
            probes = aim.probes(chunk)
            dots = _products(probes, t)
            norm = _square_norms(t)
            if given.shift:
                sums = np.concatenate([block.sum(axis=1) for block in probes])
                dots = given.gain * dots + given.shift * sums[:, None]
                # |shift + gain t|^2 = gain^2 |t|^2 + 2 shift sum(h) - n shift^2
                norm = given.gain**2 * norm + given.shift * (2 * dots[0] - len(t) * given.shift)
            return dots[1:], norm

        parts = self._map(on, aim.rows, _chunk_rows(len(batch.candidates)))
        dots, norm = (np.sum(part, axis=0, dtype=np.float64) for part in zip(*parts, strict=True))
        # A shifted response errs by its own size, of which the outputs may fall short.
        size = np.sqrt(np.clip(norm / aim.rows, FAINT, 1)) if given.shift else np.ones(len(norm))
        return aim.moments_of(dots, norm, batch.rounding / size)

    def _bit_moments(self, batch: Batch, aim: _Aim) -> _Moments:
        """Likewise of sign and step, whose outputs are exact: no rounding can flip them."""
        sign = batch.activation == "sign"
        tables = batch.candidates.tables
        # With many probes a matrix product is the faster way.
        sums = None if tables is None or aim.exact else tables.dots(batch.limits)
        given = responses(batch, self._scratch) if sums is None else None

        def on(chunk: slice) -> tuple[Floats, NDArray[np.float32] | None]:
            probes = aim.probes(chunk, ones=not sign)
            if given is None:
                return sums(chunk, probes[0]), None
            t = given.on(chunk)
            return _products(probes, t), t

        size = COMPILED_ROWS if given is None else _chunk_rows(len(batch.candidates))
        parts = self._map(on, aim.rows, size)
        dots = parts[0][0] if len(parts) == 1 else np.sum([dots for dots, _ in parts], axis=0)
        if sign:
            dots, norm = 2 * dots - aim.sums[:, None], np.full(dots.shape[1], float(aim.rows))
        else:
            # Bits are their own squares.
            norm, dots = dots[0], dots[1:]
        moments = aim.moments_of(dots, norm, np.full(len(norm), batch.rounding))
        if given is None or len(parts) > 1:
            return moments
        return replace(moments, outputs=lambda k: given.outputs(parts[0][1][:, k]))

    def _choose(self, batch: Batch, moments: _Moments, aim: _Aim, r: float) -> Configuration | None:
        xi, slack = moments.inequality(aim.energy, r)
        possible = np.flatnonzero((xi > -slack).all(axis=0))
        if not len(possible):
            return None
        scores, doubt = xi.sum(axis=0), slack.sum(axis=0)
        open_ = possible[np.argsort(-scores[possible], kind="stable")]
        outputs = moments.outputs or partial(batch.outputs, rows=aim.rows, chunk_map=self._map)
        best: _Best = None
        # The first alone rules out most others.
        most = 1
        while len(open_):
            # Those that may be the best; others have their turn where all of these fail.
            least = scores[open_[0]] - doubt[open_[0]] if best is None else best[0]
            group = np.flatnonzero(scores[open_] + doubt[open_] >= least)[:most]
            if not len(group):
                break
            best = self._best_of(open_[group], outputs(open_[group]), aim, r, best)
            left = np.ones(len(open_), dtype=bool)
            left[group] = False
            open_ = open_[left]
            most = max(CHECKED, CHUNK_NUMBERS // aim.rows)
        if best is None:
            return None
        _, k, h = best
        return Configuration(batch.candidates.pick(k), batch.lambda_, r, h)

    def _best_of(
        self, which: NDArray[np.intp], outputs: Floats, aim: _Aim, r: float, best: _Best
    ) -> _Best:
        """The best of some candidates by their outputs and of the one found before."""
        xi, _ = aim.moments(outputs).inequality(aim.energy, r)
        tie = TIE * float(aim.energy.sum())
        for k, h, own in zip(which.tolist(), outputs, xi.T, strict=True):
            score = float(own.sum())
            # Of equal candidates, as saturated ones are, the first drawn is taken.
            if own.min() > 0 and (best is None or score > best[0] + (tie if k > best[1] else -tie)):
                best = (score, k, h)
        return best


class _Aim:
    """What candidates are measured against: the residual and, to be exact, the nodes before."""

    def __init__(self, readout: Readout, exact: bool):
        self.readout = readout
        self.exact = exact
        self.energy = readout.energy
        self.rows, self.outputs = readout.residual.shape
        self._fixed = np.ones((1 + self.outputs, self.rows), dtype=np.float32)
        self._fixed[1:] = readout.residual.T
        self._basis = readout.rounded_basis() if exact else None

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

    def moments_of(self, dots: Floats, norm: Floats, rounding: Floats) -> _Moments:
        """The moments of candidates by their products with all probes but the ones."""
        inner, inside = dots[: self.outputs], dots[self.outputs :]
        outside = norm - np.einsum("it,it->t", inside, inside) if self.exact else norm
        return _Moments(inner, norm, outside, rounding)

    def moments(self, h: Floats) -> _Moments:
        """The moments of a few candidates by their outputs (T, rows), in float64."""
        norm = outside = np.einsum("ti,ti->t", h, h)
        if self.exact:
            inside = self.readout.projection(h.T)
            outside = norm - np.einsum("kt,kt->t", inside, inside)
        return _Moments((h @ self.readout.residual).T, norm, outside, np.zeros(len(h)))


@dataclass(frozen=True, eq=False)
class _Moments:
    """``<E_q, h>`` (outputs, T), ``<h, h>`` (T,) and what of it lies outside of the nodes' span.

    ``rounding`` (T,) bounds the error of a correlation computed from them.
    """

    inner: Floats
    norm: Floats
    outside: Floats
    rounding: Floats
    #: Some candidates' outputs (them, rows), where those of all are at hand and exact.
    outputs: Callable[[NDArray[np.intp]], Floats] | None = None

    def inequality(self, energy: Floats, r: float) -> tuple[Floats, Floats]:
        """The supervisory ``xi`` (outputs, T), and how far rounding may have moved it.

        A candidate that is saturated at 0, or depends on the nodes before, has -inf.
        """
        usable = self.norm > SATURATED
        outside, reach = self.outside, 1.0
        if outside is not self.norm:
            # What may be as much as it takes has a second look in float64, where nothing is lost.
            least, lost = DEPENDENT * self.norm, 2 * self.rounding * self.norm
            usable &= outside + lost > least
            least[~usable] = np.inf
            reach = self.norm / np.maximum(outside - lost, least)
            outside = np.maximum(outside, least)
        elif not usable.all():
            outside = np.where(usable, outside, np.inf)
        energy = energy[:, None]
        gain = self.inner**2 / outside
        xi = gain - (1 - r) * energy
        if outside is not self.outside:
            xi[:, ~usable] = -np.inf
        slack = 2 * (np.sqrt(gain * energy * reach) + gain * reach)
        return xi, self.rounding * (slack + self.rounding * energy * reach)

    def part(self, some: slice) -> _Moments:
        """The moments of candidates in a row."""
        norm = self.norm[some]
        outside = norm if self.outside is self.norm else self.outside[some]
        outputs = self.outputs
        if outputs is not None:
            whole = outputs

            def outputs(which: NDArray[np.intp]) -> Floats:
                return whole(some.start + which)

        return _Moments(self.inner[:, some], norm, outside, self.rounding[some], outputs)

    def hopeless(self, energy: Floats, r: Floats, count: int) -> NDArray[np.bool_]:
        """Draws of ``count`` candidates of which it is plain, at little cost, that none passes."""
        if self.outside is not self.norm:
            return np.zeros(len(r), dtype=bool)
        energy = energy[:, None]
        most = np.abs(self.inner).reshape(len(energy), len(r), count).max(axis=2)
        norm = self.norm.reshape(len(r), count).min(axis=1)
        most /= np.sqrt(np.maximum(norm, SATURATED))
        # Twice the error that rounding can make: this is no place for a close decision.
        most += 2 * self.rounding.max() * np.sqrt(energy)
        return (most * most < (1 - r) * energy).any(axis=0)

    def replace(self, which: NDArray[np.intp], others: _Moments) -> None:
        """Take the moments of the candidates in ``which`` from ``others``."""
        self.inner[:, which] = others.inner
        self.norm[which] = others.norm
        self.outside[which] = others.outside
        self.rounding[which] = others.rounding


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
