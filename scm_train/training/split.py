"""Which rows train, which are held back for validation, and which only the readout sees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_train.errors import ParameterError

__all__ = ["split_rows"]

#: With fewer rows than this none can be spared for validation.
FEWEST_ROWS = 20
#: Fewest rows that validation must leave to train on.
FEWEST_TRAINING_ROWS = 10


def split_rows(
    rows: int, fraction: float, search_rows: int | None, rng: np.random.Generator
) -> tuple[NDArray | None, NDArray | None, NDArray | None]:
    """Row numbers to train on, to hold back, and that nodes are not configured on, each in order.

    None for all, none and none.
    """
    if not 0 <= fraction < 1:
        raise ParameterError(
            f"validation_fraction must be at least 0 and below 1, not {fraction!r}; "
            "pass eval_set to fit to choose the validation rows yourself"
        )
    searched = others = None
    if search_rows is not None and search_rows < rows:
        chosen = _random_rows(rows, search_rows, rng)
        searched, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        rows = search_rows
    held = round(fraction * rows)
    if rows < FEWEST_ROWS or not held:
        return searched, None, others
    if rows - held < FEWEST_TRAINING_ROWS:
        raise ParameterError(
            f"validation_fraction must leave at least {FEWEST_TRAINING_ROWS} of the {rows} rows to "
            f"train on, not {rows - held} as with {fraction!r}; lower it, or pass eval_set to fit"
        )
    # Validation rows are some of those that nodes are searched on: `rows` is their number now.
    mask = _random_rows(rows, held, rng)
    kept, back = np.flatnonzero(~mask), np.flatnonzero(mask)
    return (kept, back, others) if searched is None else (searched[kept], searched[back], others)


def _random_rows(rows: int, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    mask = np.zeros(rows, dtype=bool)
    mask[rng.choice(rows, count, replace=False)] = True
    return mask
