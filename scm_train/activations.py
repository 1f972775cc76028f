"""Activation functions as training needs them: fast, and with their derivatives.

What each one computes is said in :mod:`scm_model.activations`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scm_model.activations import ACTIVATIONS as APPLY
from scm_model.activations import HARDWARE_ACTIVATIONS
from scm_model.suggestions import did_you_mean
from scm_train.errors import ParameterError

__all__ = ["ACTIVATIONS", "HARDWARE_ACTIVATIONS", "Activation", "activate", "activation"]


@dataclass(frozen=True)
class Activation:
    """One activation: ``apply(z, out)`` writes phi(z) into ``out``, which may be ``z`` itself."""

    name: str
    apply: Callable[[NDArray, NDArray], object]


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        # The same numbers as a model's own, several times as fast.
        Activation("sigmoid", lambda z, out: expit(z, out=out)),
        Activation("brelu", APPLY["brelu"]),
        Activation("tanh", APPLY["tanh"]),
        Activation("sign", APPLY["sign"]),
        Activation("step", APPLY["step"]),
    )
}


def activation(name: str) -> Activation:
    """Look an activation up by name; :class:`ParameterError` names the nearest known one."""
    try:
        return ACTIVATIONS[name]
    except (KeyError, TypeError):
        raise ParameterError(
            f"activation must be one of {', '.join(ACTIVATIONS)}, not {name!r}; "
            f"{did_you_mean(name, ACTIVATIONS)}"
        ) from None


def activate(name: str, z: NDArray, out: NDArray | None = None) -> NDArray:
    """Return phi(z) in the dtype of ``z`` (float32 or float64), written to ``out`` if given."""
    result = np.empty_like(z) if out is None else out
    activation(name).apply(z, result)
    return result
