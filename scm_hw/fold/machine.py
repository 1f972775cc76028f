"""A model as the integers that folded hardware keeps in memories.

A lane holds one input of a layer, a coded bit or a code, inverted where its weight is -1 and zero
where the connection is absent. With `top` the greatest value of a lane,

    sum of w * c  =  sum of lanes  -  top * (number of weights -1)

so that one unsigned accumulator and one integer threshold serve bits and codes, sign and step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import Argmax, Program, Range, ranges
from scm_hw.load import FixedPoint, Layer, Model, lower
from scm_hw.load.lower import FARTHEST_BOUND
from scm_hw.passes import optimise

# Computed in the core; an external mechanism comes in with the sample.
COMPUTED_MECHANISMS = ("polynomial", "table")

Bits = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FoldedLayer:
    """One layer: `signs` set for +1, `present` where a node sees an input (None: everywhere).

    A node is set where the sum of its lanes, of `lane_bits` each, reaches its threshold.
    """

    signs: Bits
    present: Bits | None
    thresholds: tuple[int, ...]
    lane_bits: int

    @property
    def nodes(self) -> int:
        return len(self.thresholds)

    @property
    def inputs(self) -> int:
        return int(self.signs.shape[1])

    @cached_property
    def sum_bits(self) -> int:
        """Bits for every sum of lanes, and for a threshold that none reaches."""
        return (self.inputs * ((1 << self.lane_bits) - 1) + 1).bit_length()


@dataclass(frozen=True, eq=False)
class Machine:
    """What a folded core computes; `scores` are the ranges of the outputs before argmax.

    `mechanism` is a program of its own, from the features to an addend for each output.
    """

    model: Model
    fixed: FixedPoint
    layers: tuple[FoldedLayer, ...]
    inputs: tuple[Range, ...]
    outputs: tuple[Range, ...]
    scores: tuple[Range, ...]
    mechanism: Program | None = None

    @cached_property
    def readout_shift(self) -> int:
        """Trailing zeros that all readout coefficients share, and no memory needs to hold."""
        return _trailing_zeros(self.fixed.readout)

    @cached_property
    def readout(self) -> Integers:
        """Coefficients by node and output, without their common zeros."""
        return self.fixed.readout >> self.readout_shift

    @cached_property
    def linear_features(self) -> list[int]:
        """The features that the linear part reads."""
        return [int(i) for i in np.flatnonzero(self.fixed.linear.any(axis=1))]

    @cached_property
    def score_widths(self) -> list[int]:
        """Bits of the accumulators; scores that are compared have one signed width."""
        if not self.model.is_classifier:
            return [reach.width for reach in self.scores]
        widest = max(reach.width + (not reach.signed) for reach in self.scores)
        return [widest] * len(self.scores)


def coefficient_bits(values: Integers) -> int:
    """Bits of a two's complement word that holds each of the values."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return Range(min(low, -1), high).width


def _trailing_zeros(values: Integers) -> int:
    union = int(np.bitwise_or.reduce(np.abs(values), axis=None)) if values.size else 0
    return (union & -union).bit_length() - 1 if union else 0


def fold_machine(model: Model, fixed: FixedPoint, meaning: Program) -> Machine:
    """The integers of a supported model that has layers."""
    known = ranges(meaning)
    last = meaning.ops[meaning.outputs[0]]
    scores = last.operands if isinstance(last, Argmax) else meaning.outputs
    return Machine(
        model,
        fixed,
        tuple(_folded_layers(model)),
        inputs=tuple(known[r] for r in meaning.inputs),
        outputs=tuple(known[r] for r in meaning.outputs),
        scores=tuple(known[r] for r in scores),
        mechanism=_mechanism(model, fixed),
    )


def _mechanism(model: Model, fixed: FixedPoint) -> Program | None:
    """The program of the model without its layers, its linear part and its intercept."""
    if model.mechanism.kind not in COMPUTED_MECHANISMS:
        return None
    bare = replace(model, task="regression", layers=(), readout=model.readout[:0])
    alone = replace(
        fixed,
        readout=fixed.readout[:0],
        linear=np.zeros_like(fixed.linear),
        constant=np.zeros_like(fixed.constant),
    )
    return optimise(lower(bare, alone))


def _folded_layers(model: Model) -> list[FoldedLayer]:
    assert model.input_bits is not None
    codes = model.encoder.kind == "none"
    groups = np.repeat(np.arange(len(model.features)), model.encoder.bits or 1)
    # `h = (scale * lane + offset) / unit` for the inputs of a layer.
    scale, offset = 2, 1 if codes else -1
    unit, lane_bits = (1 << (model.input_bits + 1), model.input_bits) if codes else (1, 1)
    found = []
    for layer in model.layers:
        present = None if layer.mask is None else layer.mask[:, groups]
        found.append(_folded(layer, present, scale, offset, unit, lane_bits))
        groups = np.arange(layer.nodes)
        scale, offset = (2, -1) if layer.activation == "sign" else (1, 0)
        unit = lane_bits = 1
    return found


def _folded(
    layer: Layer, present: Bits | None, scale: int, offset: int, unit: int, lane_bits: int
) -> FoldedLayer:
    signs = np.asarray(layer.weights > 0)
    seen = np.ones_like(signs) if present is None else present
    positive, negative = (signs & seen).sum(axis=1), (~signs & seen).sum(axis=1)
    top = (1 << lane_bits) - 1
    farthest = signs.shape[1] * top + 1
    thresholds = []
    for bias, plus, minus in zip(layer.biases, positive.tolist(), negative.tolist(), strict=True):
        bound = max(-FARTHEST_BOUND, min(-float(bias) * unit, FARTHEST_BOUND))
        least = math.floor(bound) + 1 if layer.activation == "sign" else math.ceil(bound)
        lanes = -((offset * (plus - minus) - least) // scale) + top * minus
        thresholds.append(min(max(lanes, 0), farthest))
    return FoldedLayer(signs, present, tuple(thresholds), lane_bits)
