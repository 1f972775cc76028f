"""The choice among the candidates of a draw, where rounding could decide it.

Scores from float32 products come with a bound on what rounding may have done to them. Candidates
that are within it of the best, or of not passing, are scored again in float64 one by one, so that
the choice is that of a search in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.search.aim import CHUNK_NUMBERS, Aim
from scm_train.search.moments import TIE, Moments
from scm_train.search.responses import Batch

__all__ = ["Choice", "choose"]

Floats = NDArray[np.float64]

#: Candidates scored again at a time, at least: together they read the nodes' basis once.
CHECKED = 8


@dataclass(frozen=True, eq=False)
class Choice:
    """A candidate that passes: its place in the batch, its score in float64 and its outputs."""

    number: int
    score: float
    h: Floats


def choose(batch: Batch, moments: Moments, aim: Aim, r: float) -> Choice | None:
    """The candidate with the largest score among those that pass the supervisory inequality."""
    xi, slack = moments.inequality(aim.energy, r), moments.slack(aim.energy)
    possible = np.flatnonzero((xi > -slack).all(axis=0))
    scores, doubt = xi.sum(axis=0), slack.sum(axis=0)
    best: Choice | None = None
    # By falling score. The first alone rules out most others.
    open_, most = possible[np.argsort(-scores[possible], kind="stable")], 1
    while len(open_):
        # Those that may be the best; others have their turn where all of these fail.
        least = scores[open_[0]] - doubt[open_[0]] if best is None else best.score
        group = np.flatnonzero(scores[open_] + doubt[open_] >= least)[:most]
        if not len(group):
            break
        best = _better(best, open_[group], batch, moments, aim, r)
        open_ = np.delete(open_, group)
        most = max(CHECKED, CHUNK_NUMBERS // aim.rows)
    return best


def _better(
    best: Choice | None,
    which: NDArray[np.intp],
    batch: Batch,
    moments: Moments,
    aim: Aim,
    r: float,
) -> Choice | None:
    """The best of some candidates, by their outputs, and of the one found before."""
    outputs = aim.outputs(batch, which) if moments.outputs is None else moments.outputs(which)
    assert outputs is not None
    xi = aim.precise(outputs).inequality(aim.energy, r)
    tie = TIE * float(aim.energy.sum())
    for k, h, own in zip(which.tolist(), outputs, xi.T, strict=True):
        score = float(own.sum())
        if own.min() <= 0:
            continue
        # Of equal candidates, as saturated ones are, the first drawn is taken.
        if best is None or score > best.score + (tie if k > best.number else -tie):
            best = Choice(k, score, h)
    return best
