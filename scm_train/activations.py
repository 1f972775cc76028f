"""Activation functions of the hidden nodes, as the paper defines them.

============  ===============================  =========
name          phi(z)                           hardware
============  ===============================  =========
``sigmoid``   1 / (1 + exp(-z))
``brelu``     min(max(z, 0), 1)
``tanh``      tanh(z)
``sign``      -1 where z <= 0, else +1         yes
``step``      1 where z >= 0, else 0           yes
============  ===============================  =========
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scm_train.errors import ParameterError
from scm_train.suggestions import did_you_mean

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


def _sign(z: NDArray, out: NDArray) -> None:
    np.copyto(out, z > 0)
    out *= 2
    out -= 1


def _step(z: NDArray, out: NDArray) -> None:
    np.copyto(out, z >= 0)


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation("sigmoid", lambda z, out: expit(z, out=out), _sigmoid_slope),
        Activation("brelu", lambda z, out: np.clip(z, 0, 1, out=out), _brelu_slope),
        Activation("tanh", lambda z, out: np.tanh(z, out=out), _tanh_slope),
        Activation("sign", _sign),
        Activation("step", _step),
    )
}

#: Activations whose output is one bit, so that a node is XNOR, popcount and compare.
HARDWARE_ACTIVATIONS = frozenset({"sign", "step"})


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
