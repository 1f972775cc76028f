"""The configuration search: which random candidate becomes the next node.

For every lambda and every r, in their order, candidates are drawn and measured. The first draw in
which a candidate passes the supervisory inequality gives its best one. The same steps serve for
rows in this process and on a cluster; only the measuring differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train.history import History
from scm_train.search.aim import CHUNK_NUMBERS, Aim, Scoring
from scm_train.search.candidates import CandidateDraw, Candidates
from scm_train.search.choice import choose
from scm_train.search.draw_ahead import Draws
from scm_train.search.layer_inputs import LayerInputs
from scm_train.search.moments import Moments, best
from scm_train.search.responses import Batch

__all__ = ["Configuration", "Search", "SearchSettings"]

Floats = NDArray[np.float64]


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
    """A node found: a batch of one candidate, its scale, and the r that let it in.

    ``h`` are its outputs on the training rows; None where those are on a cluster.
    """

    node: Candidates
    lambda_: float
    r: float
    h: Floats | None


class Search:
    """Finds nodes for one machine; draws follow one another from a single random generator."""

    def __init__(
        self,
        settings: SearchSettings,
        draw: CandidateDraw,
        rng: np.random.Generator,
        scoring: Scoring,
        history: History,
    ):
        self.settings = settings
        self.history = history
        self._draw = draw
        self._draws = Draws(draw, rng)
        self._scoring = scoring
        #: Draws that the node in search has taken; the next is not likely to take fewer.
        self._taken = 1

    def open_layer(self, number: int) -> None:
        """From here on find nodes for this layer, from 0."""
        self._draws.draw = self._draw.of_layer(number)

    def find(
        self, inputs: LayerInputs, activation: str, readout: Any, count: int
    ) -> Configuration | None:
        """The next node among draws of ``count`` candidates; None where no draw offers any."""
        aim = self._scoring.against(readout, self.settings.criterion == "exact")
        if not self.settings.supervised:
            return self._unsupervised(inputs, activation, aim)
        # As many draws as the node before took are measured in one go, where rows are so few that
        # a single draw would leave the caches half empty.
        likely = self._taken if aim.rows * count <= CHUNK_NUMBERS else 1
        self._taken = 0
        # Algorithm 1: all r under one lambda before the next lambda.
        for lambda_ in self.settings.lambdas:
            left = self.settings.r_values
            while left:
                ahead = max(1, likely - self._taken)
                with self.history.phase("candidate_search"):
                    drawn = self._draws.ahead(inputs, aim.rows, count, min(ahead, len(left)))
                    batch = Batch(drawn, lambda_, inputs, activation)
                    moments = aim.moments(batch)
                # Each draw is held against an r of its own; fewer may be ready than were asked for.
                tried, left = left[: len(drawn) // count], left[len(drawn) // count :]
                with self.history.phase("inequality"):
                    found = self._first(batch, moments, aim, tried, count)
                if found is not None:
                    return found
        return None

    def _first(
        self, batch: Batch, moments: Moments, aim: Aim, r_values: Sequence[float], count: int
    ) -> Configuration | None:
        """What the first of the draws in a batch that offers any candidate offers."""
        r = np.array(r_values)
        if moments.rounding is None:
            return self._first_of_precise(batch, moments, aim, r, count)
        hopeless = moments.hopeless(aim.energy, r, count)
        for number, (own, none) in enumerate(zip(r.tolist(), hopeless.tolist(), strict=True)):
            self._use(1)
            if none:
                continue
            some = slice(number * count, (number + 1) * count)
            draw = batch.part(some)
            found = choose(draw, moments.part(some), aim, own)
            if found is not None:
                node = draw.candidates.pick(found.number)
                return Configuration(node, batch.lambda_, own, found.h)
        return None

    def _first_of_precise(
        self, batch: Batch, moments: Moments, aim: Aim, r: Floats, count: int
    ) -> Configuration | None:
        """Likewise by moments that are the last word."""
        # Algorithm 1: a candidate passes where the least of its xi_q is positive, and of those that
        # pass the one with the greatest sum of xi_q joins.
        xi = moments.inequality(aim.energy, np.repeat(r, count))
        passes = xi.min(axis=0) > 0
        if not passes.any():
            self._use(len(r))
            return None
        draw = int(passes.argmax()) // count
        self._use(draw + 1)
        k = best(xi[:, draw * count : (draw + 1) * count], aim.energy)
        assert k is not None
        return _configuration(batch, draw * count + k, aim, float(r[draw]))

    def _use(self, draws: int) -> None:
        self._draws.use(draws)
        self._taken += draws

    def _unsupervised(self, inputs: LayerInputs, activation: str, aim: Aim) -> Configuration:
        """A node as it falls, unscaled."""
        with self.history.phase("candidate_search"):
            batch = Batch(self._draws(inputs, aim.rows, 1), 1.0, inputs, activation)
            return _configuration(batch, 0, aim, float("nan"))


def _configuration(batch: Batch, k: int, aim: Aim, r: float) -> Configuration:
    outputs = aim.outputs(batch, np.array([k]))
    h = None if outputs is None else outputs[0]
    return Configuration(batch.candidates.pick(k), batch.lambda_, r, h)
