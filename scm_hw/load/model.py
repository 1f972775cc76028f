"""A model file's contents, checked: what `model_file.md` says, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ENCODERS = ("thermometer", "binary", "gray", "none")
ACTIVATIONS = ("sign", "step", "sigmoid", "brelu", "tanh")
MECHANISMS = ("none", "external", "polynomial", "table")


@dataclass(frozen=True)
class Encoder:
    """How a feature's code becomes the inputs of the first layer.

    A `binary` or `gray` feature with thresholds has its level counted by them, all but the lowest;
    one without has it in the top bits of its code.
    """

    kind: str
    bits: tuple[int, ...] = ()
    thresholds: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Layer:
    """Nodes of one layer. `mask` has one column for each feature, or node of the layer before."""

    activation: str
    weights: Floats | NDArray[np.int8]
    mask: NDArray[np.bool_] | None
    lambdas: Floats
    biases: Floats

    @property
    def nodes(self) -> int:
        return len(self.biases)

    @property
    def binary(self) -> bool:
        return self.weights.dtype == np.int8


@dataclass(frozen=True)
class Code:
    """The integer of a feature: what is below `low` or above `high` counts as that to the linear
    part and the mechanism, which see `(integer + 0.5) / 2**bits`."""

    bits: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The mechanism model P0, by kind; arrays of other kinds are None.

    A table of sensors' integers has `corners` (2, ..., 2, cells..., m) in the place of a grid:
    what to interpolate between in each cell. `starts` has the first integer of every cell of an
    input, or None where cells are equal parts of its code.
    """

    kind: str = "none"
    exponents: NDArray[np.uint8] | None = None
    coefficients: Floats | None = None
    inputs: tuple[int, ...] = ()
    grid: Floats | None = None
    range: Floats | None = None
    corners: Floats | None = None
    starts: tuple[tuple[int, ...] | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Held-out rows in raw units; for a classifier `targets` are class indices."""

    inputs: Floats
    targets: Floats | NDArray[np.int64]
    mechanism: Floats | None = None

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, eq=False)
class Model:
    """A trained machine in real numbers, as its file says."""

    task: str
    algorithm: str
    name: str | None
    features: tuple[str, ...]
    targets: tuple[str, ...]
    classes: tuple[Any, ...] | None
    input_bits: int | None
    encoder: Encoder
    layers: tuple[Layer, ...]
    readout: Floats
    linear: Floats
    intercept: Floats
    mechanism: Mechanism
    input_min: Floats
    input_max: Floats
    target_min: Floats
    target_max: Floats
    evaluation: Evaluation | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    history: dict[str, NDArray[Any]] = field(default_factory=dict)
    sensors: tuple[Code, ...] = ()
    """Where features are not all codes of `input_bits` (`scm_hw.load.sensors`)."""

    @property
    def codes(self) -> tuple[Code, ...]:
        """The integers of the features; they must be quantised."""
        assert self.input_bits is not None
        whole = Code(self.input_bits, 0, (1 << self.input_bits) - 1)
        return self.sensors or (whole,) * len(self.features)

    @property
    def is_classifier(self) -> bool:
        return self.task == "classification"

    @property
    def outputs(self) -> int:
        return len(self.intercept)

    @property
    def coded_inputs(self) -> int:
        """Inputs of the first layer."""
        return sum(self.encoder.bits) if self.encoder.bits else len(self.features)
