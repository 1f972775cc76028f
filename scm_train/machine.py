"""A trained machine as data: what a model file holds, and how it predicts.

    y = P(x) + sum_k beta_k H_k(x),    H_k = phi_k(lambda (W_k H_(k-1) + b)),    H_0 = e(x)

The arithmetic is that of ``scm_hw/load/model_file.md``. Sign and step nodes on coded inputs are
exact: their sums are whole numbers, and the comparison with 0 is made without lambda.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS, activate
from scm_train.columns import column_names, has_default_names, in_order
from scm_train.encoders import Encoder
from scm_train.errors import DataError, ParameterError
from scm_train.mechanisms import ExternalModel, Mechanism, NoMechanism
from scm_train.scaling import Floats, from_unit, to_unit

__all__ = ["Curve", "EvaluationRows", "HiddenLayers", "Layer", "Machine", "hardware_reasons"]

Label = str | int | float | bool

#: Numbers per array that a prediction holds at once; it takes rows in chunks accordingly.
CHUNK_NUMBERS = 2**22
#: Whole numbers up to here are exact in float32.
_FLOAT32_EXACT = 2**24


@dataclass(frozen=True, eq=False)
class Layer:
    """One hidden layer of N nodes on a inputs.

    ``weights`` is (N, a): int8 of +1 and -1 (binary), or float64. ``mask`` (N, groups) says which
    groups a node sees, None for all; in the first layer a group is a feature with all its coded
    bits, in later ones a node of the layer before. Weights under a cleared mask have no effect.
    """

    weights: NDArray
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

    def effective_weights(self, groups: NDArray | None = None) -> NDArray:
        """Weights with masked-out connections at 0; ``groups`` maps each input to its group."""
        if self.mask is None:
            return self.weights
        mask = self.mask if groups is None else self.mask[:, groups]
        return np.where(mask, self.weights, self.weights.dtype.type(0))

    def outputs(self, sums: Floats) -> Floats:
        """``phi(lambda (sums + b))`` of weighted sums (n, N) in float64, which are overwritten."""
        sums += self.biases
        if self.activation not in HARDWARE_ACTIVATIONS:
            sums *= self.lambdas
        return activate(self.activation, sums, out=sums)


@dataclass(frozen=True, eq=False)
class HiddenLayers:
    """The layers of a machine and the encoder in front of them."""

    encoder: Encoder
    layers: tuple[Layer, ...]

    @cached_property
    def _matrices(self) -> tuple[NDArray, ...]:
        """Per layer the (a, N) matrix of its sums; float32 where their result is exact in it."""
        matrices, groups, whole = [], self.encoder.groups, self.encoder.coded
        for k, layer in enumerate(self.layers):
            weights = layer.effective_weights(groups if k == 0 else None)
            exact = whole and layer.binary and weights.shape[1] < _FLOAT32_EXACT
            matrices.append(weights.T.astype(np.float32 if exact else np.float64))
            whole = layer.activation in HARDWARE_ACTIVATIONS
        return tuple(matrices)

    def outputs(self, x_norm: Floats) -> Iterator[Floats]:
        """``H_1, ..., H_M`` of normalised inputs, each (n, N_k) in float64."""
        if not self.layers:
            return
        h = self.encoder.encode(x_norm, dtype=self._matrices[0].dtype)
        for layer, matrix in zip(self.layers, self._matrices, strict=True):
            sums = h.astype(matrix.dtype, copy=False) @ matrix
            h = layer.outputs(sums.astype(np.float64, copy=False))
            yield h


class CurveLike(Protocol):
    """Errors after every node added, as the model file keeps them."""

    @property
    def train_rmse(self) -> ArrayLike: ...
    @property
    def validation_rmse(self) -> ArrayLike: ...
    @property
    def layer(self) -> ArrayLike: ...


@dataclass(frozen=True, eq=False)
class Curve:
    """RMSE on training and validation rows after every node, and the layer (from 1) it joined."""

    train_rmse: Floats
    validation_rmse: Floats
    layer: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """Held-out rows in raw units; targets (r, m), or class indices (r,) for a classifier."""

    inputs: Floats
    targets: NDArray
    mechanism: Floats | None = None


@dataclass(frozen=True, eq=False)
class Machine:
    """Everything that prediction needs, and what is known about its training."""

    task: str
    algorithm: str
    encoder: Encoder
    layers: tuple[Layer, ...]
    readout: Floats
    linear: Floats
    intercept: Floats
    input_min: Floats
    input_max: Floats
    target_min: Floats
    target_max: Floats
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    mechanism: Mechanism = field(default_factory=NoMechanism)
    classes: tuple[Label, ...] | None = None
    info: dict[str, Any] = field(default_factory=dict)
    history: CurveLike | None = None
    evaluation: EvaluationRows | None = None

    def __post_init__(self) -> None:
        if isinstance(self.mechanism, ExternalModel):
            object.__setattr__(self, "mechanism", self.mechanism.named(self.feature_names))

    @property
    def n_features(self) -> int:
        return len(self.input_min)

    @property
    def n_outputs(self) -> int:
        return len(self.target_min)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Nodes per layer."""
        return tuple(layer.nodes for layer in self.layers)

    def normalise(self, X: ArrayLike) -> Floats:
        """Raw inputs (n, d), which must be finite, scaled by the training range; unclipped."""
        rows = self._rows(X)
        if not np.isfinite(rows).all():
            raise DataError("inputs must be finite, not NaN or infinite; mend or drop those rows")
        return to_unit(rows, self.input_min, self.input_max)

    def hidden_layers(self, X: ArrayLike) -> list[Floats]:
        """``[H_1, ..., H_M]`` of raw inputs, each (n, N_k) in float64."""
        X = self._rows(X)
        hidden = [np.empty((len(X), nodes)) for nodes in self.nodes]
        for rows in self._chunks(len(X)):
            for whole, part in zip(
                hidden, self._hidden.outputs(self.normalise(X[rows])), strict=True
            ):
                whole[rows] = part
        return hidden

    def decision(self, X: ArrayLike, mechanism_values: ArrayLike | None = None) -> Floats:
        """``y_norm`` (n, m): outputs in normalised units, for a classifier one per class.

        ``mechanism_values`` is P0 of each row in target units, for an external mechanism only.
        """
        X = self._rows(X)
        given = self._given_mechanism(mechanism_values, len(X))
        y_norm = np.empty((len(X), self.n_outputs))
        for rows in self._chunks(len(X)):
            y_norm[rows] = self._decision(X[rows], None if given is None else given[rows])
        return y_norm

    def predict(self, X: ArrayLike, mechanism_values: ArrayLike | None = None) -> NDArray:
        """Targets in raw units (n, m), or for a classifier labels (n,)."""
        y_norm = self.decision(X, mechanism_values)
        if self.classes is None:
            return from_unit(y_norm, self.target_min, self.target_max)
        return self.labels[y_norm.argmax(axis=1)]

    @cached_property
    def labels(self) -> NDArray:
        """The classes as an array; of objects where they differ in type."""
        assert self.classes is not None
        uniform = len({type(label) for label in self.classes}) == 1
        return np.array(self.classes, dtype=None if uniform else object)

    def with_evaluation(
        self, X: ArrayLike, targets: NDArray, mechanism_values: ArrayLike | None = None
    ) -> Machine:
        """The same machine carrying held-out rows; an external P0's range is widened to hold them.

        ``targets`` are raw (r, m), or class indices (r,). ``mechanism_values`` is needed for an
        external mechanism without a callable.
        """
        X = self._rows(X)
        if not isinstance(self.mechanism, ExternalModel):
            return replace(self, evaluation=EvaluationRows(X, targets))
        p0 = self._given_mechanism(mechanism_values, len(X))
        if p0 is None:
            x = self.encoder.quantised(self.normalise(X))
            p0 = self.mechanism.values(X, x, self.target_min, self.target_max)
        raw = from_unit(p0, self.target_min, self.target_max)
        return replace(
            self,
            mechanism=self.mechanism.covering(p0),
            evaluation=EvaluationRows(X, targets, raw),
        )

    @cached_property
    def _hidden(self) -> HiddenLayers:
        return HiddenLayers(self.encoder, self.layers)

    def _decision(self, X: NDArray, given: Floats | None) -> Floats:
        x_norm = self.normalise(X)
        x = self.encoder.quantised(x_norm)
        if given is None:
            given = self.mechanism.values(X, x, self.target_min, self.target_max)
        y_norm = given + x @ self.linear + self.intercept
        start = 0
        for h in self._hidden.outputs(x_norm):
            y_norm += h @ self.readout[start : start + h.shape[1]]
            start += h.shape[1]
        return y_norm

    def _given_mechanism(self, values: ArrayLike | None, n: int) -> Floats | None:
        """Check P0 handed over by the caller, and normalise it."""
        if values is None:
            return None
        if not isinstance(self.mechanism, ExternalModel):
            raise ParameterError(
                f"mechanism_values must be None for a mechanism of kind {self.mechanism.kind!r}, "
                "not an array; the model computes its own"
            )
        if set(self.target_names) == set(column_names(values) or ()):
            values = in_order(values, self.target_names)
        values = np.asarray(values, dtype=np.float64)
        if values.shape == (n,) and self.n_outputs == 1:
            values = values[:, None]
        if values.shape != (n, self.n_outputs) or not np.isfinite(values).all():
            raise DataError(
                f"mechanism_values must be finite and of shape {(n, self.n_outputs)}, "
                f"not of shape {values.shape}"
            )
        return to_unit(values, self.target_min, self.target_max)

    def _rows(self, X: ArrayLike) -> NDArray:
        if not has_default_names(self):
            X = in_order(X, self.feature_names)
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise DataError(
                f"inputs must be rows of {self.n_features} features, not of shape {rows.shape}"
            )
        return rows

    def _chunks(self, n: int) -> Iterator[slice]:
        widest = max(self.encoder.width, self.n_features, self.n_outputs, *self.nodes, 1)
        size = max(1, CHUNK_NUMBERS // widest)
        return (slice(start, start + size) for start in range(0, n, size))


def hardware_reasons(machine: Machine) -> list[str]:
    """Why hardware can't take the machine, one sentence each; empty if it can."""
    reasons = []
    if machine.encoder.input_bits is None:
        reasons.append("inputs are not quantised (input_bits is null)")
    for number, layer in enumerate(machine.layers, start=1):
        if layer.activation not in HARDWARE_ACTIVATIONS:
            reasons.append(f"layer {number} has activation {layer.activation}, not sign or step")
        if not layer.binary:
            reasons.append(f"layer {number} has real weights, not binary ones")
    return reasons
