"""Activation functions of the hidden nodes, as the paper defines them.

============  ===============================  =========
name          phi(z)                           hardware
============  ===============================  =========
``sign``      -1 where z <= 0, else +1         yes
``step``      1 where z >= 0, else 0           yes
``sigmoid``   1 / (1 + exp(-z))
``brelu``     min(max(z, 0), 1)
``tanh``      tanh(z)
============  ===============================  =========
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACTIVATIONS", "HARDWARE_ACTIVATIONS", "apply_activation"]

#: Writes phi(z) into ``out``, which may be ``z`` itself.
Apply = Callable[[NDArray[Any], NDArray[Any]], object]


def _sign(z: NDArray[Any], out: NDArray[Any]) -> None:
    np.copyto(out, z > 0)
    out *= 2
    out -= 1


def _step(z: NDArray[Any], out: NDArray[Any]) -> None:
    np.copyto(out, z >= 0)


def _sigmoid(z: NDArray[Any], out: NDArray[Any]) -> None:
    # The exponential of complex numbers is the C library's. That of real ones differs in its last
    # bit from processor to processor, and predictions of a model file must not.
    with np.errstate(over="ignore"):
        exponential = np.exp((-z).astype(np.complex128)).real
    np.copyto(out, 1.0 / (1.0 + exponential))


def _brelu(z: NDArray[Any], out: NDArray[Any]) -> None:
    np.clip(z, 0, 1, out=out)


def _tanh(z: NDArray[Any], out: NDArray[Any]) -> None:
    np.tanh(z, out=out)


ACTIVATIONS: dict[str, Apply] = {
    "sign": _sign,
    "step": _step,
    "sigmoid": _sigmoid,
    "brelu": _brelu,
    "tanh": _tanh,
}

#: Activations whose output is one bit, so that a node is XNOR, popcount and compare.
HARDWARE_ACTIVATIONS = frozenset({"sign", "step"})


def apply_activation(name: str, z: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Write phi(z) to ``out``, which may be ``z`` itself, and return it."""
    ACTIVATIONS[name](z, out)
    return out
