"""Independent runs of a randomized learner: what they have in common, and which of them is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from scm_model import Model

__all__ = ["best_trial", "summary"]


def best_trial(machines: Sequence[Model]) -> int:
    """The run to keep: least validation RMSE, or training RMSE without validation rows.

    The test rows have no say in it. Of equal runs the first.
    """
    # Choosing by test rows would make their score a training score.
    key = "validation_rmse" if "validation_rmse" in _scores(machines[0]) else "train_rmse"
    return int(np.argmin([_scores(machine)[key] for machine in machines]))


def summary(machines: Sequence[Model]) -> dict[str, Any]:
    """Mean, standard deviation (of a sample) and extremes of every score, and nodes per layer.

    ``nodes_per_layer`` has a histogram for each layer: how many runs have how many nodes there.
    """
    scores = [_scores(machine) for machine in machines]
    names = [name for name, value in scores[0].items() if isinstance(value, float)]
    return {
        "count": len(machines),
        "best": best_trial(machines),
        "scores": {name: _spread([score[name] for score in scores]) for name in names},
        "nodes_per_layer": _histograms([machine.nodes for machine in machines]),
    }


def _scores(machine: Model) -> dict[str, Any]:
    return machine.info["scores"]


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "mean": float(np.mean(values)),
        "std": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        "min": float(np.min(values)),
        "max": float(np.max(values)),
    }


def _histograms(nodes: Sequence[tuple[int, ...]]) -> list[dict[str, int]]:
    """Runs by nodes, for each layer; a layer that a run doesn't have counts as one of 0 nodes."""
    layers = max(map(len, nodes))
    padded = [run + (0,) * (layers - len(run)) for run in nodes]
    return [
        {str(count): runs for count, runs in sorted(Counter(layer).items())}
        for layer in zip(*padded, strict=True)
    ]
