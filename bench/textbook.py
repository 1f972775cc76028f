"""The textbook way to train an SCN, as a reference: one candidate at a time, and a full
pseudo-inverse after every node, all in float64 and with nothing kept from node to node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import LayerInputs

__all__ = ["TextbookNode", "textbook_scn"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TextbookNode:
    """A node as the paper writes it, before scaling by lambda."""

    weights: NDArray
    bias: float
    lambda_: float


def textbook_scn(
    inputs: LayerInputs,
    targets: Floats,
    *,
    draw: CandidateDraw,
    rng: np.random.Generator,
    nodes: int,
    candidates: int,
    activation: str,
    lambdas: Sequence[float],
    r_values: Sequence[float],
) -> tuple[list[TextbookNode], Floats]:
    """One layer of ``nodes`` nodes by the paper's criterion; the nodes and their readout."""
    x = inputs.take(np.arange(len(targets)))
    chosen: list[TextbookNode] = []
    hidden = np.empty((len(targets), 0))
    beta = np.empty((0, targets.shape[1]))
    residual = targets.copy()
    while len(chosen) < nodes:
        found = _search(inputs, x, residual, draw, rng, candidates, activation, lambdas, r_values)
        if found is None:
            break
        node, h = found
        chosen.append(node)
        hidden = np.column_stack([hidden, h])
        beta = np.linalg.pinv(hidden) @ targets
        residual = targets - hidden @ beta
    return chosen, beta


def _search(
    inputs: LayerInputs,
    x: Floats,
    residual: Floats,
    draw: CandidateDraw,
    rng: np.random.Generator,
    candidates: int,
    activation: str,
    lambdas: Sequence[float],
    r_values: Sequence[float],
) -> tuple[TextbookNode, Floats] | None:
    for lambda_ in lambdas:
        for r in r_values:
            batch = draw(rng, inputs, len(x), candidates)
            weights = batch.weights.astype(np.float64)
            best, best_score = None, -np.inf
            for w, b in zip(weights, batch.biases, strict=True):
                h = _activate(activation, lambda_ * (x @ w + b))
                xi = [(e @ h) ** 2 / (h @ h) - (1 - r) * (e @ e) for e in residual.T]
                if min(xi) > 0 and sum(xi) > best_score:
                    best, best_score = (TextbookNode(w, b, lambda_), h), sum(xi)
            if best is not None:
                return best
    return None


def _activate(name: str, z: Floats) -> Floats:
    if name == "sigmoid":
        return 1 / (1 + np.exp(-z))
    if name == "sign":
        return np.where(z > 0, 1.0, -1.0)
    raise ValueError(f"activation must be 'sigmoid' or 'sign' here, not {name!r}")
