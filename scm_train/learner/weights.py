"""What each row counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from scm_train.errors import DataError, ParameterError


def row_weights(
    X: NDArray, given: ArrayLike | None, of_classes: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    """What each row counts; None where all count the same."""
    if given is None:
        return of_classes
    weights = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise DataError("sample_weight must be positive for some row, not 0 for all")
    if of_classes is not None:
        return weights * of_classes
    # Equal weights are none: growth by nodes, which takes no weights, may then be asked for too.
    return None if (weights == weights[0]).all() else weights


def check_no_weights(*weights: object) -> None:
    if any(one is not None for one in weights):
        raise ParameterError("weights of rows and classes must be None for rows on a cluster")
