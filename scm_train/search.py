"""The configuration search: which random candidate becomes the next node.

All candidates of a draw are scored at once in float32, with sums over chunks of rows added in
float64. Where rounding could decide, the candidates concerned are scored again in float64 one by
one, so that the choice is that of a float64 search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS, activate
from scm_train.chunks import ChunkMap
from scm_train.draw import CandidateDraw, Candidates
from scm_train.history import History
from scm_train.inputs import LayerInputs
from scm_train.readout import Readout

__all__ = ["Configuration", "Search", "SearchSettings", "node_outputs"]

Floats = NDArray[np.float64]

#: Numbers per chunk of candidate outputs: with their operands they fit a core's own cache.
CHUNK_NUMBERS = 1 << 18
#: Rows per chunk where single nodes are evaluated.
CHUNK_ROWS = 1 << 16
#: Bound on the rounding error of a float32 correlation between a candidate and the residual.
ROUNDING = 4e-6
#: What a steep activation adds to it, per unit of lambda and of the root of its inputs.
STEEPNESS = 2.4e-7
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

    def find(
        self, inputs: LayerInputs, activation: str, readout: Readout, count: int
    ) -> Configuration | None:
        """The next node among draws of ``count`` candidates; None where no draw offers any."""
        rows = len(readout.residual)
        if not self.settings.supervised:
            return self._unsupervised(inputs, activation, rows)
        energy = np.einsum("iq,iq->q", readout.residual, readout.residual)
        for lambda_ in self.settings.lambdas:
            for r in self.settings.r_values:
                with self.history.phase("candidate_search"):
                    batch = _Batch(
                        self.draw(self.rng, inputs, rows, count), lambda_, inputs, activation
                    )
                    moments = self._moments(batch, readout)
                with self.history.phase("inequality"):
                    found = self._choose(batch, moments, readout, energy, r)
                if found is not None:
                    return found
        return None

    def _unsupervised(self, inputs: LayerInputs, activation: str, rows: int) -> Configuration:
        """A node as it falls, unscaled."""
        with self.history.phase("candidate_search"):
            node = self.draw(self.rng, inputs, rows, 1)
            h = node_outputs(node, 1.0, inputs, activation, rows, self._map)
        return Configuration(node, 1.0, float("nan"), h)

    def _moments(self, batch: _Batch, readout: Readout) -> _Moments:
        rows, outputs = readout.residual.shape
        exact = self.settings.criterion == "exact"
        bits = batch.activation in HARDWARE_ACTIVATIONS
        respond, shift, gain = _responses(batch)

        def on(chunk: slice) -> tuple[Floats, Floats]:
            t = respond(chunk)
            basis = readout.basis(chunk) if exact else []
            probes = np.concatenate(
                [np.ones((1, len(t))), readout.residual[chunk].T, *basis], dtype=np.float32
            )
            raw = (probes @ t).astype(np.float64)
            # Bits are their own squares; others may be overwritten by theirs.
            squares = raw[0] if bits else probes[0] @ np.square(t, out=t)
            dots = gain * raw + shift * probes.sum(axis=1)[:, None]
            # |shift + gain t|^2 = gain^2 |t|^2 + 2 shift sum(h) - n shift^2
            return dots, gain * gain * squares + 2 * shift * dots[0] - len(t) * shift * shift

        size = max(256, min(CHUNK_ROWS, CHUNK_NUMBERS // len(batch.candidates)))
        parts = self._map(on, rows, size)
        dots = np.sum([p[0] for p in parts], axis=0)
        norm = np.sum([p[1] for p in parts], axis=0)
        inside = np.einsum("it,it->t", dots[1 + outputs :], dots[1 + outputs :])
        return _Moments(dots[1 : 1 + outputs], norm, norm - inside, batch.rounding)

    def _choose(
        self, batch: _Batch, moments: _Moments, readout: Readout, energy: Floats, r: float
    ) -> Configuration | None:
        xi, slack = moments.inequality(energy, r)
        scores, doubt = xi.sum(axis=0), slack.sum(axis=0)
        possible = np.flatnonzero((xi > -slack).all(axis=0) & moments.usable)
        best: tuple[float, int, Floats] | None = None
        for k in possible[np.argsort(-scores[possible], kind="stable")]:
            if best is not None and scores[k] + doubt[k] + doubt[best[1]] < scores[best[1]]:
                break
            h = batch.outputs(k, len(readout.residual), self._map)
            exact, _ = self._exact_moments(h, readout).inequality(energy, r)
            score = float(exact.sum())
            if (exact > 0).all() and (best is None or (score, -k) > (best[0], -best[1])):
                best = (score, int(k), h)
        if best is None:
            return None
        _, k, h = best
        return Configuration(batch.candidates.pick(k), batch.lambda_, r, h)

    def _exact_moments(self, h: Floats, readout: Readout) -> _Moments:
        norm = np.array([h @ h])
        outside = norm
        if self.settings.criterion == "exact":
            inside = readout.projection(h)
            outside = norm - inside @ inside
        return _Moments((h @ readout.residual)[:, None], norm, outside, 0.0)


@dataclass(frozen=True, eq=False)
class _Moments:
    """``<E_q, h>`` (outputs, T), ``<h, h>`` (T,) and what of it lies outside of the nodes' span.

    ``rounding`` bounds the error of a correlation computed from them.
    """

    inner: Floats
    norm: Floats
    outside: Floats
    rounding: float

    @property
    def usable(self) -> NDArray[np.bool_]:
        return (self.outside > DEPENDENT * self.norm) & (self.norm > SATURATED)

    def inequality(self, energy: Floats, r: float) -> tuple[Floats, Floats]:
        """The supervisory ``xi`` (outputs, T), and how far rounding may have moved it."""
        outside = np.where(self.usable, self.outside, np.inf)
        gain = self.inner**2 / outside
        xi = gain - (1 - r) * energy[:, None]
        reach = np.where(self.usable, self.norm / outside, 0.0)
        cosine = np.sqrt(gain * energy[:, None] * reach)
        slack = 2 * (cosine + gain * reach) + self.rounding * energy[:, None] * reach
        return xi, self.rounding * slack


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
        return ROUNDING + STEEPNESS * self.lambda_ * np.sqrt(self.candidates.weights.shape[1])

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
    sums = inputs.sums(node.weights, np.float32 if whole else np.float64)
    h = np.empty(rows)

    def on(chunk: slice) -> None:
        z = sums(chunk)[:, 0] + node.biases
        if activation not in HARDWARE_ACTIVATIONS:
            z *= lambda_
        activate(activation, z, out=h[chunk])

    chunk_map(on, rows, CHUNK_ROWS)
    return h


def _responses(batch: _Batch) -> tuple[Callable[[slice], NDArray[np.float32]], float, float]:
    """``t`` on a chunk of rows, and ``shift`` and ``gain`` with ``h = shift + gain t``.

    ``t`` is ``h`` itself, but for sign, where it is the bit.
    """
    if batch.activation in HARDWARE_ACTIVATIONS:
        shift, gain = (-1.0, 2.0) if batch.activation == "sign" else (0.0, 1.0)
        return _bits(batch), shift, gain
    if batch.activation == "sigmoid":
        return _smooth(batch, _logistic_of_negative, -1.0), 0.0, 1.0
    if batch.activation == "tanh":
        return _smooth(batch, np.tanh, 1.0), 0.0, 1.0
    return _smooth(batch, lambda z, out: np.clip(z, 0, 1, out=out), 1.0), 0.0, 1.0


def _logistic_of_negative(z: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """``1 / (1 + exp(z))``, precise where it is next to 0, too; overflow to 0 is meant."""
    with np.errstate(over="ignore"):
        np.exp(z, out=out)
    out += 1
    np.reciprocal(out, out=out)


def _smooth(
    batch: _Batch, function: Callable[..., object], scale: float
) -> Callable[[slice], NDArray[np.float32]]:
    factor = batch.lambda_ * scale
    sums = batch.inputs.sums(batch.candidates.weights * np.float64(factor), np.float32)
    biases = (batch.candidates.biases * factor).astype(np.float32)

    def on(chunk: slice) -> NDArray[np.float32]:
        z = sums(chunk)
        z += biases
        function(z, out=z)
        return z

    return on


def _bits(batch: _Batch) -> Callable[[slice], NDArray[np.float32]]:
    """Whether each row fires, exactly: rounding near the threshold would flip whole rows."""
    weights, biases = batch.candidates.weights, batch.candidates.biases
    strict = batch.activation == "sign"
    if batch.inputs.integer and weights.dtype == np.int8 and weights.shape[1] < 2**15:
        # For a whole number s, s + b > 0 where s > floor(-b), and s + b >= 0 where s >= ceil(-b).
        limit = np.floor(-biases) if strict else np.ceil(-biases)
        dtype, edge = np.int16, np.clip(limit, -(2**15), 2**15 - 1).astype(np.int16)
    else:
        dtype, edge = np.float64, -biases
    sums = batch.inputs.sums(weights, dtype)
    fires = np.greater if strict else np.greater_equal
    return lambda chunk: fires(sums(chunk), edge).astype(np.float32)
