"""Records of a small plant whose output depends on its past."""

from __future__ import annotations

import numpy as np

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def plant(records: int = 6, rows: int = 120, *, seed: int = 0, dynamic: bool = False) -> Arrays:
    """Signals (n, 2), targets (n,) and groups: y sees u two rows ago, and itself where dynamic."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (records * rows, 2))
    groups = np.repeat(np.arange(records), rows)
    y = np.zeros(len(X))
    for row in range(len(X)):
        inside = row % rows
        past = X[row - 2, 0] if inside >= 2 else 0.0
        before = y[row - 1] if dynamic and inside else 0.0
        y[row] = np.sign(past) + 0.5 * X[row, 1] + 0.6 * before
    return X, y, groups
