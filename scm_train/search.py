"""The configuration search: which random candidate becomes the next node.

All candidates of a draw are scored at once in float32, with sums over chunks of rows added in
float64. Where rounding could decide, the candidates concerned are scored again in float64 one by
one, so that the choice is that of a float64 search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS, activate
from scm_train.chunks import ChunkMap, Scratch
from scm_train.draw import CandidateDraw, Candidates
from scm_train.history import History
from scm_train.inputs import LayerInputs
from scm_train.readout import Readout

__all__ = ["Configuration", "Search", "SearchSettings", "node_outputs"]

Floats = NDArray[np.float64]

#: Numbers per chunk of candidate outputs: few enough for the caches, and enough to make the cost of
#: a call in Python small.
CHUNK_NUMBERS = 1 << 19
#: Rows per chunk where single nodes are evaluated.
CHUNK_ROWS = 1 << 16
#: Bound on the rounding error of a float32 correlation between a candidate and the residual.
ROUNDING = 4e-6
#: What a steep activation adds to it, per unit of lambda and of the root of its inputs.
STEEPNESS = 2.4e-7
#: Beyond this every activation is a step, and sums would leave the range of float32.
MOST_LAMBDA = 1e30
#: A sigmoid of a smaller mean square is computed a second time, from its exponential.
FAINT = 1 / 256
#: A candidate of a smaller square norm is saturated at 0, and no candidate.
SATURATED = 1e-20
#: A candidate with a smaller share of its square norm outside the others' span is no candidate.
DEPENDENT = 1e-6


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
        self.draw = draw
        self.rng = rng
        self.history = history
        self._map = chunk_map
        self._scratch = Scratch()

    def find(
        self, inputs: LayerInputs, activation: str, readout: Readout, count: int
    ) -> Configuration | None:
        """The next node among draws of ``count`` candidates; None where no draw offers any."""
        rows = len(readout.residual)
        if not self.settings.supervised:
            return self._unsupervised(inputs, activation, rows)
        aim = _Aim(readout, self.settings.criterion == "exact")
        for lambda_ in self.settings.lambdas:
            for r in self.settings.r_values:
                with self.history.phase("candidate_search"):
                    candidates = self.draw(self.rng, inputs, rows, count)
                    batch = _Batch(candidates, lambda_, inputs, activation)
                    moments = self._moments(batch, aim)
                with self.history.phase("inequality"):
                    found = self._choose(batch, moments, aim, r)
                if found is not None:
                    return found
        return None

    def _unsupervised(self, inputs: LayerInputs, activation: str, rows: int) -> Configuration:
        """A node as it falls, unscaled."""
        with self.history.phase("candidate_search"):
            node = self.draw(self.rng, inputs, rows, 1)
            h = node_outputs(node, 1.0, inputs, activation, rows, self._map)
        return Configuration(node, 1.0, float("nan"), h)

    def _moments(self, batch: _Batch, aim: _Aim) -> _Moments:
        """The moments of all candidates, precise for those next to 0, too."""
        moments = self._moments_of(batch, _responses(batch, self._scratch), aim)
        if batch.activation != "sigmoid":
            return moments
        faint = np.flatnonzero(moments.norm < FAINT * aim.rows)
        if len(faint):
            some = batch.subset(faint)
            moments.replace(faint, self._moments_of(some, _logistic(some), aim))
        return moments

    def _moments_of(self, batch: _Batch, responses: _Responses, aim: _Aim) -> _Moments:
        shift, gain = responses.shift, responses.gain
        bits = batch.activation in HARDWARE_ACTIVATIONS

        def on(chunk: slice) -> tuple[Floats, Floats]:
            t = responses.on(chunk)
            probes = aim.probes(chunk)
            dots = raw = (probes @ t).astype(np.float64)
            # Bits are their own squares.
            norm = raw[0] if bits else _square_norms(t)
            if shift:
                dots = gain * raw + shift * probes.sum(axis=1)[:, None]
                # |shift + gain t|^2 = gain^2 |t|^2 + 2 shift sum(h) - n shift^2
                norm = gain * gain * norm + 2 * shift * dots[0] - len(t) * shift * shift
            return dots, norm

        parts = self._map(on, aim.rows, _chunk_rows(len(batch.candidates)))
        dots, norm = (np.sum(part, axis=0, dtype=np.float64) for part in zip(*parts, strict=True))
        inner, inside = dots[1 : 1 + aim.outputs], dots[1 + aim.outputs :]
        outside = norm - np.einsum("it,it->t", inside, inside) if aim.exact else norm
        # A shifted response errs by its own size, of which the outputs may fall short.
        size = np.sqrt(np.clip(norm / aim.rows, FAINT, 1)) if shift else np.ones(len(norm))
        return _Moments(inner, norm, outside, batch.rounding / size)

    def _choose(
        self, batch: _Batch, moments: _Moments, aim: _Aim, r: float
    ) -> Configuration | None:
        xi, slack = moments.inequality(aim.energy, r)
        possible = np.flatnonzero((xi > -slack).all(axis=0))
        if not len(possible):
            return None
        scores, doubt = xi.sum(axis=0), slack.sum(axis=0)
        best: tuple[float, int, Floats] | None = None
        for k in possible[np.argsort(-scores[possible], kind="stable")]:
            if best is not None and scores[k] + doubt[k] + doubt[best[1]] < scores[best[1]]:
                break
            h = batch.outputs(k, aim.rows, self._map)
            exact, _ = aim.moments(h).inequality(aim.energy, r)
            score = float(exact.sum())
            if (exact > 0).all() and (best is None or (score, -k) > (best[0], -best[1])):
                best = (score, int(k), h)
        if best is None:
            return None
        _, k, h = best
        return Configuration(batch.candidates.pick(k), batch.lambda_, r, h)


class _Aim:
    """What candidates are measured against: the residual and, to be exact, the nodes before."""

    def __init__(self, readout: Readout, exact: bool):
        self.readout = readout
        self.exact = exact
        self.energy = readout.energy
        self.rows, self.outputs = readout.residual.shape
        self._fixed = np.ones((1 + self.outputs, self.rows), dtype=np.float32)
        self._fixed[1:] = readout.residual.T

    def probes(self, chunk: slice) -> NDArray[np.float32]:
        """Ones, the residual and, to be exact, the nodes' basis (probes, rows in the slice)."""
        fixed = self._fixed[:, chunk]
        if not self.exact:
            return fixed
        return np.concatenate([fixed, *self.readout.basis(chunk)], dtype=np.float32)

    def moments(self, h: Floats) -> _Moments:
        """The moments of one candidate by its outputs, in float64."""
        norm = outside = np.array([h @ h])
        if self.exact:
            inside = self.readout.projection(h)
            outside = norm - inside @ inside
        return _Moments((h @ self.readout.residual)[:, None], norm, outside, np.zeros(1))


@dataclass(frozen=True, eq=False)
class _Moments:
    """``<E_q, h>`` (outputs, T), ``<h, h>`` (T,) and what of it lies outside of the nodes' span.

    ``rounding`` (T,) bounds the error of a correlation computed from them.
    """

    inner: Floats
    norm: Floats
    outside: Floats
    rounding: Floats

    def inequality(self, energy: Floats, r: float) -> tuple[Floats, Floats]:
        """The supervisory ``xi`` (outputs, T), and how far rounding may have moved it.

        A candidate that is saturated at 0, or depends on the nodes before, has -inf.
        """
        usable = (self.outside > DEPENDENT * self.norm) & (self.norm > SATURATED)
        outside = np.where(usable, self.outside, np.inf)
        energy = energy[:, None]
        gain = self.inner**2 / outside
        xi = np.where(usable, gain - (1 - r) * energy, -np.inf)
        reach = self.norm / outside
        slack = 2 * (np.sqrt(gain * energy * reach) + gain * reach)
        return xi, self.rounding * (slack + self.rounding * energy * reach)

    def replace(self, which: NDArray[np.intp], others: _Moments) -> None:
        """Take the moments of the candidates in ``which`` from ``others``."""
        self.inner[:, which] = others.inner
        self.norm[which] = others.norm
        self.outside[which] = others.outside
        self.rounding[which] = others.rounding


@dataclass(frozen=True, eq=False)
class _Batch:
    """Candidates under one lambda, on the inputs of their layer."""

    candidates: Candidates
    lambda_: float
    inputs: LayerInputs
    activation: str

    @property
    def rounding(self) -> float:
        """Bound on the float32 error of a correlation; outputs of sign and step are exact."""
        if self.activation in HARDWARE_ACTIVATIONS:
            return ROUNDING
        steep = STEEPNESS * self.lambda_ * np.sqrt(self.candidates.weights.shape[1])
        # Whatever the error, a correlation stays between -1 and 1.
        return min(ROUNDING + steep, 2.0)

    def subset(self, which: NDArray[np.intp]) -> _Batch:
        return replace(self, candidates=self.candidates.subset(which))

    def outputs(self, index: int, rows: int, chunk_map: ChunkMap) -> Floats:
        """One candidate's outputs (rows,) in float64."""
        node = self.candidates.pick(index)
        return node_outputs(node, self.lambda_, self.inputs, self.activation, rows, chunk_map)


def node_outputs(
    node: Candidates,
    lambda_: float,
    inputs: LayerInputs,
    activation: str,
    rows: int,
    chunk_map: ChunkMap,
) -> Floats:
    """``phi(lambda (w h + b))`` of a single candidate on all rows, in float64.

    Sums of whole numbers are exact in float32 and left there.
    """
    whole = inputs.integer and node.weights.dtype == np.int8
    sums = inputs.sums(node.weights, np.zeros(1), np.float32 if whole else np.float64)
    h = np.empty(rows)

    def on(chunk: slice) -> None:
        z = sums(chunk)[:, 0] + node.biases
        if activation not in HARDWARE_ACTIVATIONS:
            # Out of range is far in the saturated part, where it belongs.
            with np.errstate(over="ignore"):
                z *= lambda_
        activate(activation, z, out=h[chunk])

    chunk_map(on, rows, CHUNK_ROWS)
    return h


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


@dataclass(frozen=True)
class _Responses:
    """Candidates on a chunk of rows: ``h = shift + gain t``, ``t = on(chunk)`` (rows, T)."""

    on: Callable[[slice], NDArray[np.float32]]
    shift: float = 0.0
    gain: float = 1.0


def _responses(batch: _Batch, scratch: Scratch) -> _Responses:
    if batch.activation == "sign":
        return _Responses(_bits(batch, scratch), -1.0, 2.0)
    if batch.activation == "step":
        return _Responses(_bits(batch, scratch))
    if batch.activation == "sigmoid":
        # Half the price of the exponential, but imprecise next to 0.
        return _Responses(_smooth(batch, np.tanh, 0.5), 0.5, 0.5)
    if batch.activation == "tanh":
        return _Responses(_smooth(batch, np.tanh, 1.0))
    return _Responses(_smooth(batch, lambda z, out: np.clip(z, 0, 1, out=out), 1.0))


def _logistic(batch: _Batch) -> _Responses:
    """Sigmoid candidates, as precise next to 0 as elsewhere."""
    return _Responses(_smooth(batch, _logistic_of_negative, -1.0))


def _logistic_of_negative(z: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """``1 / (1 + exp(z))``; overflow to 0 is meant."""
    with np.errstate(over="ignore"):
        np.exp(z, out=out)
    out += 1
    np.reciprocal(out, out=out)


def _smooth(
    batch: _Batch, function: Callable[..., object], scale: float
) -> Callable[[slice], NDArray[np.float32]]:
    # More saturates just as well, and float32 can hold this.
    factor = min(batch.lambda_, MOST_LAMBDA) * scale
    candidates = batch.candidates
    sums = batch.inputs.sums(candidates.weights * factor, candidates.biases * factor, np.float32)

    def on(chunk: slice) -> NDArray[np.float32]:
        z = sums(chunk)
        function(z, out=z)
        return z

    return on


def _bits(batch: _Batch, scratch: Scratch) -> Callable[[slice], NDArray[np.float32]]:
    """Whether each row fires, exactly: rounding near the threshold would flip whole rows."""
    weights, biases = batch.candidates.weights, batch.candidates.biases
    strict = batch.activation == "sign"
    if batch.inputs.integer and weights.dtype == np.int8:
        # For a whole number s, s + b > 0 where s >= floor(-b) + 1, and s + b >= 0 where
        # s >= ceil(-b); s itself is within the number of weights.
        limits = np.floor(-biases) + 1 if strict else np.ceil(-biases)
        most = weights.shape[1] + 1
        fires = batch.inputs.fires(weights, np.clip(limits, -most, most).astype(np.int64))
    else:
        sums = batch.inputs.sums(weights, biases, np.float64)
        compare = np.greater if strict else np.greater_equal

        def fires(chunk: slice) -> NDArray[np.bool_]:
            return compare(sums(chunk), 0)

    def on(chunk: slice) -> NDArray[np.float32]:
        fired = fires(chunk)
        out = scratch("bits", fired.shape, np.float32)
        np.copyto(out, fired)
        return out

    return on
