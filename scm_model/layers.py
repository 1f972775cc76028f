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

__all__ = ["AnyLayer", "FamilyLayer", "HiddenLayers", "Layer"]

Integers = NDArray[np.int64]

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
class FamilyLayer:
    """All nodes on each of F supports, a support being a few nodes of the layer before.

    On s bits there are ``2**s`` step nodes, one for each combination of them, and each fires in
    its own alone: whatever else could be a node on these bits is a sum of them. So of a family's
    nodes one fires, and the family is a table of readouts with the combination as its address.
    ``supports`` (F, most bits) has the places of the bits in the layer before, that of the lowest
    address bit first, and -1 behind the last.
    """

    kind: ClassVar[str] = "families"
    supports: NDArray[np.int32]

    activation: ClassVar[str] = "step"
    binary: ClassVar[bool] = True
    hard: ClassVar[bool] = True

    @cached_property
    def sizes(self) -> Integers:
        """Nodes (F,) of each family."""
        bits: Integers = (self.supports >= 0).sum(axis=1)
        return np.left_shift(1, bits)

    @cached_property
    def starts(self) -> Integers:
        """The place (F,) of each family's first node in the layer."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def nodes(self) -> int:
        return int(self.sizes.sum())

    def firing(self, below: NDArray[Any]) -> Integers:
        """Which node of each family fires, (n, F), as places in the layer, by bits (n, N)."""
        set_bits = below > 0
        found = np.broadcast_to(self.starts, (len(below), len(self.supports))).copy()
        for place, column in enumerate(self.supports.T):
            # Where a family has fewer bits, -1 looks at the last column, and what it finds is
            # dropped.
            found += np.where(column >= 0, set_bits[:, column], 0) << place
        return found


AnyLayer = Layer | FamilyLayer


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """The layers of nodes of a machine and the encoder in front of them; families come behind."""

    encoder: Encoder
    layers: tuple[Layer, ...]

    @cached_property
    def _matrices(self) -> tuple[NDArray[Any], ...]:
        """Per layer the (a, N) matrix of its sums; float32 where their result is exact in it."""
        matrices, groups, whole = [], self.encoder.groups, self.encoder.coded
        for k, layer in enumerate(self.layers):
            weights = layer.effective_weights(groups if k == 0 else None)
            # Products are -1, 0 or 1, so that a sum is a whole number of at most as many as there
            # are.
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
