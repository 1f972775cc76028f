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
    #: phi'(z), or None where phi has no useful derivative.
    derivative: Callable[[NDArray], NDArray] | None = None

    @property
    def differentiable(self) -> bool:
        return self.derivative is not None


def _sigmoid_slope(z: NDArray) -> NDArray:
    s = expit(z)
    return s * (1 - s)


def _brelu_slope(z: NDArray) -> NDArray:
    return ((z > 0) & (z < 1)).astype(z.dtype)


def _tanh_slope(z: NDArray) -> NDArray:
    return 1 - np.tanh(z) ** 2


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        # The same numbers as a model's own, several times as fast.
        Activation("sigmoid", lambda z, out: expit(z, out=out), _sigmoid_slope),
        Activation("brelu", APPLY["brelu"], _brelu_slope),
        Activation("tanh", APPLY["tanh"], _tanh_slope),
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
