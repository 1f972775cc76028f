"""Lags by validation error: which past values pay for the registers and tables they take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_model.memory import Memory, Tap
from scm_train.sequences.records import Records

__all__ = ["choose_taps"]

Floats = NDArray[np.float64]

#: A tap that lowers the validation error by less than this share is not worth its cost.
LEAST_GAIN = 0.005
#: Taps that are tried beyond the best so far before the search ends.
PATIENCE = 4
MOST_TAPS = 40
RIDGE = 1e-6


def choose_taps(
    learn: Records, held: Records, candidates: list[Tap], start: list[Tap], signals: int
) -> list[Tap]:
    """Taps beyond ``start``, one after the other, as long as one lowers the validation error.

    Judged by least squares on the taps and their squares, which is quick and sees most of what a
    machine of families can use.
    """
    chosen = list(start)
    memory = _memory(candidates, learn, signals)
    (x, y), (x_held, y_held) = (part.taps(memory) for part in (learn, held))
    y, y_held = (_columns(targets) for targets in (y, y_held))
    scale = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    x, x_held = ((part - x.mean(axis=0)) / scale for part in (x, x_held))
    places = {tap: candidates.index(tap) for tap in candidates}
    best, best_error, misses = list(chosen), _error(x, y, x_held, y_held, chosen, places), 0
    while len(chosen) < min(MOST_TAPS, len(candidates)) and misses < PATIENCE:
        # Forward selection by what a tap explains of the residual; whether it pays is judged on the
        # held-out rows, after a fit of all.
        residual = y - _fitted(x, y, x, [places[tap] for tap in chosen])
        rest = [tap for tap in candidates if tap not in chosen]
        gains = [_gain(x[:, places[tap]], residual) for tap in rest]
        chosen = [*chosen, rest[int(np.argmax(gains))]]
        error = _error(x, y, x_held, y_held, chosen, places)
        # Each tap since the best so far has to bring its gain: one that helps only together with
        # the next is not given up before that is tried.
        if error < best_error * (1 - LEAST_GAIN) ** (len(chosen) - len(best)):
            best, best_error, misses = list(chosen), error, 0
        else:
            misses += 1
    return sorted(best)


def _memory(taps: list[Tap], records: Records, signals: int) -> Memory:
    names = tuple(f"x{i}" for i in range(signals))
    sources = signals + _columns(records.targets).shape[1]
    return Memory(names, tuple(taps), np.zeros(sources))


def _columns(targets: NDArray) -> Floats:
    """Targets as numbers (n, m); of labels, 1 for each class's own rows."""
    if targets.dtype.kind in "fiub":
        return targets.reshape(len(targets), -1).astype(np.float64)
    classes, indices = np.unique(targets, return_inverse=True)
    return np.eye(len(classes))[indices]


def _design(x: Floats, places: list[int]) -> Floats:
    own = x[:, places]
    return np.concatenate([np.ones((len(x), 1)), own, own**2], axis=1)


def _fitted(x: Floats, y: Floats, rows: Floats, places: list[int]) -> Floats:
    design = _design(x, places)
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += RIDGE * len(x)
    return _design(rows, places) @ np.linalg.solve(gram, design.T @ y)


def _error(
    x: Floats, y: Floats, x_held: Floats, y_held: Floats, taps: list[Tap], places: dict[Tap, int]
) -> float:
    found = _fitted(x, y, x_held, [places[tap] for tap in taps])
    return float(np.sqrt(np.mean((found - y_held) ** 2)))


def _gain(column: Floats, residual: Floats) -> float:
    """How much of the residual a tap and its square explain, each alone."""
    squares = column**2 - np.mean(column**2)
    return float(
        sum(
            ((part @ residual) ** 2).sum() / norm
            for part in (column, squares)
            if (norm := part @ part) > 0
        )
    )
