"""The targets as nodes are fitted to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_model import Mechanism
from scm_train.chunks import row_chunks
from scm_train.encode.rows import CHUNK, ScaledRows

__all__ = ["unexplained", "with_range"]

Floats = NDArray[np.float64]


def unexplained(
    rows: ScaledRows, targets: Floats, span: tuple[Floats, Floats], mechanism: Mechanism
) -> Floats:
    """Normalised targets (n, m) less the mechanism's; the array given is changed."""
    if mechanism.kind != "none":
        for chunk in row_chunks(len(rows), CHUNK):
            targets[chunk] -= mechanism.values(rows.x[chunk], rows.seen(chunk), *span)
    return targets


def with_range(low: Floats, high: Floats) -> Floats:
    """The upper ends; a constant has no range to scale by: any will do, and hardware wants one."""
    return np.where(high > low, high, low + np.maximum(1.0, np.spacing(np.abs(low))))
