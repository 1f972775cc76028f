"""A trained machine as data: what a model file holds.

    y = P(x) + sum_k beta_k H_k(x),    H_k = phi_k(lambda (W_k H_(k-1) + b)),    H_0 = e(x)

How it predicts is in :mod:`scm_model.reference`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import reference
from scm_model.encoder import Encoder
from scm_model.flags import Flags
from scm_model.interval import for_bounds
from scm_model.layers import AnyLayer, FamilyLayer, HiddenLayers, Layer
from scm_model.mechanism import ExternalModel, Mechanism, NoMechanism
from scm_model.memory import Memory, check_first
from scm_model.raw_columns import Columns
from scm_model.scaling import Floats, from_unit
from scm_model.sequences import sequence_decision, signal_rows, without_memory

__all__ = ["Code", "Curve", "Evaluation", "Label", "Model"]

Label = str | int | float | bool


@dataclass(frozen=True)
class Code:
    """The integer of a feature: what is below `low` or above `high` counts as that to the linear
    part and the mechanism, which see `(integer + 0.5) / 2**bits`."""

    bits: int
    low: int
    high: int


class CurveLike(Protocol):
    """Errors after every node added, as the model file keeps them; a trainer's may have more."""

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
class Evaluation:
    """Held-out rows in raw units; targets (r, m), or class indices (r,) for a classifier.

    Of a machine with memory they are records of its signals, which begin where ``first`` is set.
    Inputs of a machine with categories have their labels.
    """

    inputs: NDArray[Any]
    targets: Floats | NDArray[np.int64]
    mechanism: Floats | None = None
    first: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that prediction needs, and what is known about its training."""

    task: str
    algorithm: str
    encoder: Encoder
    layers: tuple[AnyLayer, ...]
    readout: Floats
    linear: Floats
    intercept: Floats
    input_min: Floats
    input_max: Floats
    target_min: Floats
    target_max: Floats
    features: tuple[str, ...]
    targets: tuple[str, ...]
    mechanism: Mechanism = field(default_factory=NoMechanism)
    classes: tuple[Label, ...] | None = None
    #: Notes for people: name, seed, settings, scores, timing and data of the training run.
    info: dict[str, Any] = field(default_factory=dict)
    history: CurveLike | None = None
    evaluation: Evaluation | None = None
    #: Where features are not all codes of `input_bits`; never in a file.
    sensors: tuple[Code, ...] = ()
    #: Nodes of the first layer whose bits come back, of a machine behind its memory; never in a
    #: file.
    bits: int = 0
    #: Of a machine that sees the past: features are taps of signals.
    memory: Memory | None = None
    #: Of a machine with categories or missing values: features are made of columns.
    columns: Columns | None = None
    #: What it says of its own results.
    flags: Flags | None = None

    def __post_init__(self) -> None:
        # The one change to a frozen model: its mechanism finds its columns by the model's names.
        if isinstance(self.mechanism, ExternalModel):
            object.__setattr__(self, "mechanism", self.mechanism.named(self.features))

    @property
    def name(self) -> str | None:
        """What builds are called unless they are given another name."""
        return self.info.get("name")

    @property
    def signals(self) -> tuple[str, ...]:
        """What rows of inputs are columns of: the features, or what they are made of."""
        if self.columns is not None:
            return self.columns.names
        return self.features if self.memory is None else self.memory.signals

    @property
    def signal_ranges(self) -> tuple[Floats, Floats]:
        """Training range of each of the signals, which all of a signal's taps share."""
        if self.memory is None:
            return self.input_min, self.input_max
        return self.input_min[self.memory.newest], self.input_max[self.memory.newest]

    @cached_property
    def static(self) -> Model:
        """The machine behind its memory or its columns, with numbers for features; it carries no
        rows of columns. Itself without either."""
        if self.columns is not None:
            return replace(self, columns=None, evaluation=None)
        return without_memory(self)

    @property
    def is_classifier(self) -> bool:
        return self.task == "classification"

    @property
    def decides_by_sign(self) -> bool:
        """Whether two classes share one output, which is positive for the second."""
        return self.is_classifier and self.outputs == 1

    @property
    def input_bits(self) -> int | None:
        return self.encoder.input_bits

    @property
    def codes(self) -> tuple[Code, ...]:
        """The integers of the features; they must be quantised."""
        assert self.input_bits is not None
        whole = Code(self.input_bits, 0, (1 << self.input_bits) - 1)
        return self.sensors or (whole,) * len(self.features)

    @property
    def input_codes(self) -> tuple[Code, ...]:
        """The integers that enter hardware: the features' own, or a code for each column."""
        if self.columns is None:
            return self.codes
        assert self.input_bits is not None
        found = []
        for place, column in enumerate(self.columns.columns):
            feature = self.columns.value_feature(place)
            if column.is_category or feature is None:
                bits = column.bits if column.is_category else self.input_bits
                found.append(Code(bits, 0, (1 << bits) - 1))
            else:
                found.append(self.codes[feature])
        return tuple(found)

    @property
    def outputs(self) -> int:
        return len(self.intercept)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Nodes per layer."""
        return tuple(layer.nodes for layer in self.layers)

    @property
    def level(self) -> float | None:
        """The share of rows that the bounds among the outputs hold; None without bounds."""
        interval = self.info.get("interval")
        return None if interval is None else float(interval["level"])

    @property
    def points(self) -> int:
        """Outputs that predict; the others are their bounds (see :mod:`scm_model.interval`)."""
        return self.outputs if self.level is None else self.outputs // 3

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The classes as an array; of objects where they differ in type."""
        assert self.classes is not None
        uniform = len({type(label) for label in self.classes}) == 1
        return np.array(self.classes, dtype=None if uniform else object)

    @cached_property
    def hidden(self) -> HiddenLayers:
        """The layers of nodes."""
        nodes = tuple(layer for layer in self.layers if isinstance(layer, Layer))
        return HiddenLayers(self.encoder, nodes)

    @property
    def families(self) -> FamilyLayer | None:
        """The layer of families behind the others, where there is one."""
        last = self.layers[-1] if self.layers else None
        return last if isinstance(last, FamilyLayer) else None

    @property
    def hardware_reasons(self) -> list[str]:
        """Why hardware can't take the model, one sentence each; empty if it can."""
        reasons = []
        if self.input_bits is None:
            reasons.append("inputs are not quantised (input_bits is null)")
        for number, layer in enumerate(self.layers, start=1):
            if not layer.hard:
                reasons.append(
                    f"layer {number} has activation {layer.activation}, not sign or step"
                )
            if not layer.binary:
                reasons.append(f"layer {number} has real weights, not binary ones")
        return reasons

    def normalise(self, X: ArrayLike) -> Floats:
        """Raw inputs (n, d), which must be finite, scaled by the training range; unclipped."""
        return reference.normalise(self, X)

    def hidden_layers(self, X: ArrayLike) -> list[Floats]:
        """``[H_1, ..., H_M]`` of raw inputs, each (n, N_k) in float64, but for families."""
        return reference.hidden_layers(self, X)

    def decision(
        self,
        X: ArrayLike,
        mechanism_values: ArrayLike | None = None,
        *,
        first: ArrayLike | None = None,
        outputs: ArrayLike | None = None,
        simulate: bool | None = None,
    ) -> Floats:
        """``y_norm`` (n, m): outputs in normalised units, for a classifier one per class (or
        one for two classes, which are told apart by its sign).

        ``mechanism_values`` is P0 of each row in target units, for an external mechanism only.

        Of a machine with memory rows are samples of its signals in the order of time, and
        ``first`` is true where a record begins. One that sees its own outputs predicts one step
        ahead from the measured ``outputs`` (n, m); with ``simulate`` (the default without
        ``outputs``) it runs free, and ``outputs`` only fill the history of each record.
        """
        if self.memory is not None:
            return sequence_decision(self, X, first, outputs, simulate)
        return reference.decision(self, X, mechanism_values)

    def predict(
        self,
        X: ArrayLike,
        mechanism_values: ArrayLike | None = None,
        *,
        first: ArrayLike | None = None,
        outputs: ArrayLike | None = None,
        simulate: bool | None = None,
    ) -> NDArray[Any]:
        """Targets in raw units (n, m), or for a classifier labels (n,); see :meth:`decision`."""
        y_norm = self.decision(X, mechanism_values, first=first, outputs=outputs, simulate=simulate)
        if self.classes is None:
            return from_unit(y_norm, self.target_min, self.target_max)
        return self.labels[reference.classes_of(y_norm)]

    def with_evaluation(
        self,
        X: ArrayLike,
        targets: NDArray[Any],
        mechanism_values: ArrayLike | None = None,
        first: NDArray[np.bool_] | None = None,
    ) -> Model:
        """The same model carrying held-out rows; an external P0's range is widened to hold them.

        ``targets`` are raw (r, m), or class indices (r,). ``mechanism_values`` is needed for an
        external mechanism without a callable, ``first`` (where records begin) for several records.
        With bounds, targets may be (r, 3 k) or (r, k).
        """
        if self.level is not None and targets.shape[1] == self.points:
            targets = for_bounds(targets)
        if self.memory is not None:
            rows = signal_rows(self, X)
            begins = check_first(first, len(rows))
            return replace(self, evaluation=Evaluation(rows, targets, first=begins))
        X = reference.raw_rows(self, X)
        if not isinstance(self.mechanism, ExternalModel):
            return replace(self, evaluation=Evaluation(X, targets))
        p0 = reference.mechanism_values(self, X, mechanism_values)
        raw = from_unit(p0, self.target_min, self.target_max)
        return replace(
            self,
            mechanism=self.mechanism.covering(p0),
            evaluation=Evaluation(X, targets, raw),
        )
