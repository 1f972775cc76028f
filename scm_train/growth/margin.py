"""Thresholds in the middle of their gaps.

A sign or step node tells apart the training rows whose sums are below its threshold from the rest.
Any threshold between the greatest sum below and the least above does the same to them; the one
halfway is the safest guess for rows in between.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import activate
from scm_train.chunks import ChunkMap
from scm_train.search.candidates import Candidates
from scm_train.search.layer_inputs import LayerInputs

__all__ = ["Gap", "centred_bias", "gap_of", "joined", "node_gap"]

#: The greatest sum at which a node does not fire, and the least at which it does.
Gap = tuple[float, float]

CHUNK_ROWS = 1 << 16


def gap_of(sums: NDArray[np.float64], bias: float, activation: str) -> Gap:
    """The gap of a node by its sums (rows,) without the bias; infinite where a side is empty."""
    fires = activate(activation, sums + bias) > 0
    # Several times as fast as NumPy's own masked extremes.
    below = np.where(fires, -np.inf, sums).max(initial=-np.inf)
    return float(below), float(np.where(fires, sums, np.inf).min(initial=np.inf))


def joined(gaps: Iterable[Gap]) -> Gap:
    """The gap of all rows by those of some each."""
    ends = np.array([(-np.inf, np.inf), *gaps])
    return float(ends[:, 0].max()), float(ends[:, 1].min())


def node_gap(
    node: Candidates, inputs: LayerInputs, activation: str, rows: int, chunk_map: ChunkMap
) -> Gap:
    """The gap of a batch of one node on all rows."""
    # Without the bias, which is what is to be found.
    sums = inputs.sums(node.weights, np.zeros(1), np.float64)
    bias = float(node.biases[0])
    parts = chunk_map(lambda chunk: gap_of(sums(chunk)[:, 0], bias, activation), rows, CHUNK_ROWS)
    return joined(parts)


def centred_bias(bias: float, gap: Gap, activation: str) -> float:
    """The bias that puts the threshold in the middle; the old one where there is no middle."""
    below, above = gap
    if not (np.isfinite(below) and np.isfinite(above)):
        return bias
    middle = -(below + above) / 2
    # Two numbers with none between them have no middle, either.
    apart = activate(activation, np.array([below, above]) + middle) > 0
    return middle if list(apart) == [False, True] else bias
