"""The search for sign and step nodes in a pool of candidates that outlives the node.

Of every candidate the pool knows its correlation with the residual and the norm of its part outside
the nodes' span. When a node joins, both follow from one product per candidate (orthogonal least
squares): that with the node's own part outside the span of those before. So the best of a thousand
candidates costs less than a few fresh ones, whose products with all nodes are yet to be taken. The
worst tenth of the pool makes room for fresh candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import ChunkMap, row_chunks
from scm_train.history import History
from scm_train.search.candidates import CandidateDraw, Candidates, joined
from scm_train.search.layer_inputs import LayerInputs
from scm_train.search.moments import DEPENDENT, SATURATED
from scm_train.search.responses import Batch, packed_outputs
from scm_train.search.search import Configuration, SearchSettings
from scm_train.solve import packed
from scm_train.solve.bit_readout import BitNodes, BitReadout

__all__ = ["PoolSearch"]

Floats = NDArray[np.float64]

#: Candidates of a pool and those drawn for one node, both for each candidate of a draw of the
#: paper. Measured on tables of 1,000 to 15,000 rows: more drawn is better and slower; in a smaller
#: pool good candidates are lost, in a larger one stale ones keep the place of fresh ones.
POOL, DRAWN = 8, 3
#: Share of the pool that makes room for the most promising of the fresh candidates.
RENEWED = 0.1
#: Most bytes that the outputs of a pool take; with very many rows it has fewer candidates.
MOST_BYTES = 1 << 29
#: Products of fresh candidates with nodes that are taken for one node. With many nodes, fresh
#: candidates come less often, so that the time of a node does not grow with their number.
FRESH_PRODUCTS = 15_000
#: More nodes for which a pool has room at first.
MORE_NODES = 64


class PoolSearch:
    """Finds nodes for one machine, as :class:`scm_train.search.Search` does."""

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
        self._whole = self._draw = draw
        self._rng, self._map = rng, chunk_map
        self._pool: _Pool | None = None

    def open_layer(self, number: int) -> None:
        """From here on find nodes for this layer, from 0."""
        self._draw = self._whole.of_layer(number)

    def find(
        self, inputs: LayerInputs, activation: str, readout: BitReadout, count: int
    ) -> Configuration | None:
        """The next node from the pool, in which ``count`` candidates at a time are drawn anew.

        Each of the settings' lambdas after the first has a pool of fresh candidates; None where
        none of them offers any.
        """
        with self.history.phase("candidate_search"):
            pool = self._pool_of(inputs, activation, readout, count)
        for number, lambda_ in enumerate(self.settings.lambdas):
            if number:
                with self.history.phase("candidate_search"):
                    pool.renew()
            with self.history.phase("inequality"):
                found = pool.best(lambda_, self.settings.r_values)
            if found is not None:
                return found
        return None

    def _pool_of(
        self, inputs: LayerInputs, activation: str, readout: BitReadout, count: int
    ) -> _Pool:
        """The pool of the layer, up to date; a new one for a new layer."""
        pool = self._pool
        # A layer has one object of inputs for all of its nodes, so that another one is another
        # layer.
        if pool is None or pool.source.inputs is not inputs:
            source = _Source(self._draw, self._rng, inputs, activation, self._map)
            self._pool = pool = _Pool(source, readout, count)
        else:
            pool.follow()
            pool.refresh()
        return pool


@dataclass(frozen=True)
class _Source:
    """Where the candidates of a layer come from."""

    draw: CandidateDraw
    rng: np.random.Generator
    inputs: LayerInputs
    activation: str
    chunk_map: ChunkMap

    def fresh(self, rows: int, count: int) -> tuple[Candidates, BitNodes]:
        """``count`` new candidates, and their outputs."""
        candidates = self.draw(self.rng, self.inputs, rows, count)
        # A scale cannot change a sign.
        batch = Batch(candidates, 1.0, self.inputs, self.activation)
        words = packed_outputs(batch, rows, self.chunk_map)
        return candidates, BitNodes.of(words, self.activation, rows)


class _Pool:
    """Candidates for a layer, with what is known of each against the nodes of ``readout``."""

    def __init__(self, source: _Source, readout: BitReadout, count: int):
        self.source = source
        self._readout = readout
        rows, outputs = readout.targets.shape
        size = min(POOL * count, max(count, MOST_BYTES // (8 * packed.words_of(rows))))
        self._drawn, self._renewed = DRAWN * count, math.ceil(RENEWED * size)
        drawn = [source.fresh(rows, own.stop - own.start) for own in row_chunks(size, count)]
        candidates, nodes = zip(*drawn, strict=True)
        self._candidates, self._nodes = joined(candidates), BitNodes.joined(nodes)
        #: ``<h, q>`` (candidates, nodes), with room for more nodes.
        self._inside = np.empty((size, len(readout) + MORE_NODES))
        #: ``<h, h>``, what of it lies outside of the nodes' span, and ``<h, E>`` of all outputs.
        self._norm = self._nodes.square_norms
        self._outside, self._inner = np.empty(size), np.empty((size, outputs))
        self._measure(np.arange(size))

    def renew(self) -> None:
        """Draw all candidates anew."""
        for own in row_chunks(len(self._norm), self._renewed):
            self._replace(np.arange(own.start, own.stop))

    def refresh(self) -> None:
        """Draw the worst candidates anew, where it is time to."""
        nodes = len(self._readout)
        if self._renewed * nodes <= FRESH_PRODUCTS * (nodes - self._refreshed):
            worst_first = np.argsort(self._gains().sum(axis=1), kind="stable")
            self._replace(worst_first[: self._renewed])

    def _replace(self, which: NDArray[np.intp]) -> None:
        """Have the most promising fresh candidates in these places."""
        candidates, nodes = self.source.fresh(self._nodes.rows, self._drawn)
        kept = _most_promising(nodes, self._readout, len(which))
        self._candidates.put(which, candidates.subset(kept))
        self._nodes.put(which, nodes.subset(kept))
        self._measure(which)

    def _measure(self, which: NDArray[np.intp]) -> None:
        """Take the products of some candidates with the residual and all nodes."""
        readout, nodes = self._readout, self._nodes.subset(which)
        inside = readout.projections(nodes)
        self._inside[which, : len(readout)] = inside
        self._norm[which] = nodes.square_norms
        self._outside[which] = self._norm[which] - np.einsum("tk,tk->t", inside, inside)
        self._inner[which] = readout.correlations(nodes)
        self._seen = self._refreshed = len(readout)

    def follow(self) -> None:
        """Take account of the nodes that have joined."""
        for k in range(self._seen, len(self._readout)):
            self._take_off(k)
        self._seen = len(self._readout)

    def _take_off(self, k: int) -> None:
        r, norm, c = self._readout.column(k)
        # h_k = Q r + norm q_k, hence <h, q_k> = (<h, h_k> - <h, Q> r) / norm.
        product = self._nodes.products(self._readout.nodes(slice(k, k + 1)))[:, 0]
        inside = (product - self._inside[:, :k] @ r) / norm
        if k == self._inside.shape[1]:
            self._inside = np.hstack([self._inside, np.empty_like(self._inside)])
        self._inside[:, k] = inside
        self._outside -= inside * inside
        self._inner -= np.outer(inside, c)

    def _gains(self) -> Floats:
        """The error (candidates, outputs) that each candidate removes; 0 for one that is none."""
        usable = (self._norm > SATURATED) & (self._outside > DEPENDENT * self._norm)
        outside = np.where(usable, self._outside, np.inf)
        return self._inner**2 / outside[:, None]

    def best(self, lambda_: float, r_values: Sequence[float]) -> Configuration | None:
        """The best of the candidates that satisfy the inequality with the least r that lets any."""
        gains, energy = self._gains(), self._readout.energy
        for r in r_values:
            passing = np.flatnonzero((gains > (1 - r) * energy).all(axis=1))
            scores = gains[passing].sum(axis=1)
            # Stable, so that of equal candidates the first in the pool is taken on every machine.
            for k in passing[np.argsort(-scores, kind="stable")].tolist():
                if self._satisfies(k, r):
                    h = self._nodes.outputs(k)
                    return Configuration(self._candidates.pick(k), lambda_, r, h)
        return None

    def _satisfies(self, k: int, r: float) -> bool:
        """The supervisory inequality by exact products, free of what updates may have lost."""
        node = self._nodes.subset(slice(k, k + 1))
        gain = self._readout.correlation(node) ** 2 / self._outside[k]
        return bool((gain > (1 - r) * self._readout.energy).all())


def _most_promising(nodes: BitNodes, readout: BitReadout, count: int) -> NDArray[np.intp]:
    """Candidates that gain most by all of their norm, which takes no products with the nodes."""
    gains = readout.correlations(nodes) ** 2 / np.maximum(nodes.square_norms, SATURATED)[:, None]
    return np.argsort(-gains.sum(axis=1), kind="stable")[:count]
