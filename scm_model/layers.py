"""Hidden layers: ``H_k = phi_k(lambda (W_k H_(k-1) + b))``.

Sign and step nodes on coded inputs are exact: their sums are whole numbers, and the comparison
with 0 is made without lambda.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_model.activations import HARDWARE_ACTIVATIONS, apply_activation
from scm_model.encoder import Encoder
from scm_model.scaling import Floats

__all__ = ["HiddenLayers", "Layer"]

#: Whole numbers up to here are exact in float32.
_FLOAT32_EXACT = 2**24


@dataclass(frozen=True, eq=False)
class Layer:
    """One hidden layer of N nodes on a inputs.

    ``weights`` is (N, a): int8 of +1 and -1 (binary), or float64. ``mask`` (N, groups) says which
    groups a node sees, None for all; in the first layer a group is a feature with all its coded
    bits, in later ones a node of the layer before. Weights under a cleared mask have no effect.
    """

    #: What the layer is made of; layers of other kinds come as classes of their own.
    kind: ClassVar[str] = "nodes"
    weights: NDArray[Any]
    lambdas: Floats
    biases: Floats
    activation: str
    mask: NDArray[np.bool_] | None = None

    @property
    def nodes(self) -> int:
        return len(self.weights)

    @property
    def binary(self) -> bool:
        return self.weights.dtype == np.int8

    @property
    def hard(self) -> bool:
        """Whether a node's output is one bit."""
        return self.activation in HARDWARE_ACTIVATIONS

    def effective_weights(self, groups: NDArray[Any] | None = None) -> NDArray[Any]:
        """Weights with masked-out connections at 0; ``groups`` maps each input to its group."""
        if self.mask is None:
            return self.weights
        mask = self.mask if groups is None else self.mask[:, groups]
        return np.where(mask, self.weights, self.weights.dtype.type(0))

    def outputs(self, sums: Floats) -> Floats:
        """``phi(lambda (sums + b))`` of weighted sums (n, N) in float64, which are overwritten."""
        sums += self.biases
        if not self.hard:
            sums *= self.lambdas
        return apply_activation(self.activation, sums, out=sums)


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """The layers of a machine and the encoder in front of them."""

    encoder: Encoder
    layers: tuple[Layer, ...]

    @cached_property
    def _matrices(self) -> tuple[NDArray[Any], ...]:
        """Per layer the (a, N) matrix of its sums; float32 where their result is exact in it."""
        matrices, groups, whole = [], self.encoder.groups, self.encoder.coded
        for k, layer in enumerate(self.layers):
            weights = layer.effective_weights(groups if k == 0 else None)
            exact = whole and layer.binary and weights.shape[1] < _FLOAT32_EXACT
            matrices.append(weights.T.astype(np.float32 if exact else np.float64))
            whole = layer.hard
        return tuple(matrices)

    @property
    def dtype(self) -> DTypeLike:
        """In which ``H_0`` is wanted."""
        return self._matrices[0].dtype if self.layers else np.float32

    def outputs(self, x_norm: Floats) -> Iterator[Floats]:
        """``H_1, ..., H_M`` of normalised inputs, each (n, N_k) in float64."""
        if self.layers:
            yield from self.after(self.encoder.encode(x_norm, dtype=self.dtype))

    def after(self, h: NDArray[Any]) -> Iterator[Floats]:
        """``H_1, ..., H_M`` of ``H_0``."""
        for layer, matrix in zip(self.layers, self._matrices, strict=True):
            sums = h.astype(matrix.dtype, copy=False) @ matrix
            h = layer.outputs(sums.astype(np.float64, copy=False))
            yield h
