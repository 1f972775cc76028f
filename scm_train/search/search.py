"""The configuration search: which random candidate becomes the next node.

All candidates of a draw are scored at once in float32, with sums over chunks of rows added in
float64. Where rounding could decide, the candidates concerned are scored again in float64 one by
one, so that the choice is that of a float64 search. Compiled loops over bits score in float64 at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS
from scm_train.chunks import ChunkMap, Scratch
from scm_train.history import History
from scm_train.search.candidates import CandidateDraw, Candidates
from scm_train.search.draw_ahead import Draws
from scm_train.search.layer_inputs import LayerInputs
from scm_train.search.moments import TIE, Aim, Moments, best
from scm_train.search.responses import (
    CHUNK_ROWS,
    Batch,
    Responses,
    logistic,
    node_outputs,
    responses,
)
from scm_train.solve.readout import Readout

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
#: Candidates scored again at a time, at least: together they read the nodes' basis once.
CHECKED = 8

#: A score in float64, the candidate's index and its outputs.
_Best = tuple[float, int, Floats] | None


@dataclass(frozen=True)
class SearchSettings:
    """``lambdas`` and ``r_values`` as they are tried; not ``supervised`` takes any node.

    ``pool`` is for machines of sign and step nodes alone; see :mod:`scm_train.search.pool`.
    """

    lambdas: tuple[float, ...]
    r_values: tuple[float, ...]
    criterion: str = "paper"
    supervised: bool = True
    pool: bool = False


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
        aim = Aim(readout, self.settings.criterion == "exact")
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
        self, batch: Batch, moments: Moments, aim: Aim, r_values: Sequence[float], count: int
    ) -> Configuration | None:
        """What the first of the draws in a batch that offers any candidate offers."""
        r = np.array(r_values[: len(batch.candidates) // count])
        if moments.rounding is None:
            return self._first_of_precise(batch, moments, aim, r, count)
        hopeless = moments.hopeless(aim.energy, r, count)
        for number, (own, none) in enumerate(zip(r.tolist(), hopeless.tolist(), strict=True)):
            self._use(1)
            if none:
                continue
            some = slice(number * count, (number + 1) * count)
            found = self._choose(batch.part(some), moments.part(some), aim, own)
            if found is not None:
                return found
        return None

    def _first_of_precise(
        self, batch: Batch, moments: Moments, aim: Aim, r: Floats, count: int
    ) -> Configuration | None:
        """Likewise by moments that are the last word."""
        xi = moments.inequality(aim.energy, np.repeat(r, count))
        passes = xi.min(axis=0) > 0
        if not passes.any():
            self._use(len(r))
            return None
        draw = int(passes.argmax()) // count
        self._use(draw + 1)
        k = best(xi[:, draw * count : (draw + 1) * count], aim.energy)
        assert k is not None
        k += draw * count
        h = batch.outputs(np.array([k]), aim.rows, self._map)[0]
        return Configuration(batch.candidates.pick(k), batch.lambda_, float(r[draw]), h)

    def _use(self, draws: int) -> None:
        self._draws.use(draws)
        self._expected += draws

    def _unsupervised(self, inputs: LayerInputs, activation: str, rows: int) -> Configuration:
        """A node as it falls, unscaled."""
        with self.history.phase("candidate_search"):
            node = self._draws(inputs, rows, 1)
            h = node_outputs(node, 1.0, inputs, activation, rows, self._map)[0]
        return Configuration(node, 1.0, float("nan"), h)

    def _moments(self, batch: Batch, aim: Aim) -> Moments:
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

    def _moments_of(self, batch: Batch, given: Responses, aim: Aim) -> Moments:
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

    def _bit_moments(self, batch: Batch, aim: Aim) -> Moments:
        """Likewise of sign and step, whose outputs are exact: no rounding can flip them."""
        tables = batch.candidates.tables
        # With many probes a matrix product is the faster way.
        sums = None if tables is None or aim.exact else tables.dots(batch.limits)
        sign = batch.activation == "sign"
        if sums is not None:
            probes = aim.precise_probes(ones=not sign)
            parts = self._map(lambda c: sums(c, probes[:, c]), aim.rows, COMPILED_ROWS)
            totals = probes.sum(axis=1) if sign else None
            dots, norm = _of_bits(sum(parts[1:], parts[0]), totals, aim.rows)
            return Moments(dots, norm, norm)
        given = responses(batch, self._scratch)

        def on(chunk: slice) -> tuple[Floats, NDArray[np.float32]]:
            t = given.on(chunk)
            return _products(aim.probes(chunk, ones=not sign), t), t

        parts = self._map(on, aim.rows, _chunk_rows(len(batch.candidates)))
        dots = sum((dots for dots, _ in parts[1:]), parts[0][0])
        dots, norm = _of_bits(dots, aim.sums if sign else None, aim.rows)
        moments = aim.moments_of(dots, norm, np.full(len(norm), batch.rounding))
        if len(parts) > 1:
            return moments
        return replace(moments, outputs=lambda k: given.outputs(parts[0][1][:, k]))

    def _choose(self, batch: Batch, moments: Moments, aim: Aim, r: float) -> Configuration | None:
        xi, slack = moments.inequality(aim.energy, r), moments.slack(aim.energy)
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
        self, which: NDArray[np.intp], outputs: Floats, aim: Aim, r: float, best: _Best
    ) -> _Best:
        """The best of some candidates by their outputs and of the one found before."""
        xi = aim.moments(outputs).inequality(aim.energy, r)
        tie = TIE * float(aim.energy.sum())
        for k, h, own in zip(which.tolist(), outputs, xi.T, strict=True):
            score = float(own.sum())
            # Of equal candidates, as saturated ones are, the first drawn is taken.
            if own.min() > 0 and (best is None or score > best[0] + (tie if k > best[1] else -tie)):
                best = (score, k, h)
        return best


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
