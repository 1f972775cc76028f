"""Which features a machine depends on: what its error rises by when one of them is shuffled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Model
from scm_model.reference import mechanism_values
from scm_train.evaluation.scores import score

__all__ = ["importance", "ranked"]

#: Rows that are scored for one feature, and for all of them together.
MOST_ROWS = 4000
MOST_SCORED = 200_000
SEED = 0


def importance(machine: Model, X: NDArray, targets: NDArray) -> dict[str, float]:
    """By feature the rise of the error on these rows when its values are shuffled among them.

    The error is RMSE in the units of the target; with several targets RMSE over all of them in
    normalised units; of a classifier the share of wrong classes. A machine of many features is
    asked about fewer rows. An external mechanism keeps its values.
    """
    random = np.random.default_rng(SEED)
    # Each feature is a pass over the rows: many features get fewer of them.
    count = min(len(X), MOST_ROWS, max(MOST_SCORED // len(machine.signals), 100))
    rows = random.permutation(len(X))[:count]
    # Rows of categories have labels.
    kind = None if machine.columns is not None else np.float64
    X, targets = np.array(X[rows], dtype=kind), targets[rows]
    values = None
    if machine.mechanism.kind == "external":
        # A mechanism need not have a meaning for the combinations that shuffling makes.
        span = machine.target_max - machine.target_min
        values = machine.target_min + span * mechanism_values(machine, X)
    own = _error(score(machine, X, targets, values))
    found = {}
    for i, name in enumerate(machine.signals):
        column = X[:, i].copy()
        # All the values that it has, in an order that says nothing about the target.
        X[:, i] = column[random.permutation(count)]
        found[name] = _error(score(machine, X, targets, values)) - own
        X[:, i] = column
    return found


def ranked(found: dict[str, float]) -> list[tuple[str, float]]:
    """The features, that of the largest rise first."""
    return sorted(found.items(), key=lambda one: -one[1])


def _error(scores: dict[str, Any]) -> float:
    if "accuracy" in scores:
        return 1 - scores["accuracy"]
    raw = list(scores["rmse_raw"].values())
    return raw[0] if len(raw) == 1 else scores["rmse"]
