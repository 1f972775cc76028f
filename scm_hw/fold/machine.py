"""A lowered model as the integers that folded hardware keeps in memories.

A lane holds one input of a layer, a coded bit or a code, inverted where its weight is -1 and zero
where the connection is absent. With `top` the greatest value of a lane,

    sum of w * c  =  sum of lanes  -  top * (number of weights -1)

so that one unsigned accumulator and one integer threshold serve bits and codes, sign and step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import READOUT, Argmax, Builder, Constant, Program, Range, Ref, Sum, ranges
from scm_hw.load import Lowered, LoweredLayer
from scm_hw.passes.rewrite import without_dead

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
    """What a folded core computes.

    What needs neither lanes nor memories is a program of its own, from the inputs of the core:
    `encoder` gives the inputs of the first layer, `linear_codes` what the linear part multiplies,
    and `mechanism` an addend for every score (None where the core computes none).
    """

    lowered: Lowered
    layers: tuple[FoldedLayer, ...]
    encoder: Program
    linear_codes: Program
    mechanism: Program | None

    @cached_property
    def inputs(self) -> list[Range]:
        return self._ranges(self.lowered.program.inputs)

    @cached_property
    def outputs(self) -> list[Range]:
        return self._ranges(self.lowered.program.outputs)

    @cached_property
    def scores(self) -> list[Range]:
        """The outputs, or what is compared to give the class."""
        return self._ranges(self.lowered.scores)

    def _ranges(self, refs: tuple[Ref, ...]) -> list[Range]:
        known = ranges(self.lowered.program)
        return [known[ref] for ref in refs]

    @property
    def is_classifier(self) -> bool:
        program = self.lowered.program
        return isinstance(program.ops[program.outputs[0]], Argmax)

    @cached_property
    def score_widths(self) -> list[int]:
        """Bits of the accumulators; scores that are compared have one signed width."""
        if not self.is_classifier:
            return [reach.width for reach in self.scores]
        widest = max(reach.width + (not reach.signed) for reach in self.scores)
        return [widest] * len(self.scores)

    @cached_property
    def readout_shift(self) -> int:
        """Trailing zeros that all readout coefficients share, and no memory needs to hold."""
        return _trailing_zeros(self.lowered.readout.weights)

    @cached_property
    def readout(self) -> Integers:
        """Coefficients by node and output, without their common zeros."""
        return self.lowered.readout.weights >> self.readout_shift

    @property
    def linear(self) -> Integers:
        """Coefficients of the linear part by code and output."""
        return self.lowered.linear.weights


def coefficient_bits(values: Integers) -> int:
    """Bits of a two's complement word that holds each of the values."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return Range(min(low, -1), high).width


def _trailing_zeros(values: Integers) -> int:
    # Of absolute values: with a negative number the union would have no highest bit.
    union = int(np.bitwise_or.reduce(np.abs(values), axis=None)) if values.size else 0
    return (union & -union).bit_length() - 1 if union else 0


def fold_machine(lowered: Lowered) -> Machine:
    """The integers of a lowered model that has layers."""
    return Machine(
        lowered,
        tuple(_folded_layers(lowered)),
        encoder=_leading_to(lowered.program, lowered.layers[0].inputs),
        linear_codes=_leading_to(lowered.program, lowered.linear.refs),
        mechanism=_mechanism(lowered),
    )


def _leading_to(program: Program, refs: tuple[Ref, ...]) -> Program:
    """A part of a program: all inputs, and what the references are computed from."""
    return without_dead(replace(program, outputs=refs))


def _mechanism(lowered: Lowered) -> Program | None:
    """The program of what the mechanism adds to each score, made small like an unrolled core's."""
    if not lowered.mechanism.refs:
        return None
    # On top of the whole program: what the mechanism reads has its references there.
    build = Builder(list(lowered.program.ops))
    addends = []
    for number, score in enumerate(lowered.scores):
        name = lowered.program.ops[score].name
        terms = lowered.mechanism.of_output(number)
        refs, weights = (tuple(part) for part in zip(*terms, strict=True)) if terms else ((), ())
        with build.within(READOUT):
            addend = Sum(refs, weights, name=name) if refs else Constant(0, name=name)
            addends.append(build.add(addend))
    program = build.program(lowered.program.inputs, tuple(addends))
    return without_dead(program)


def _folded_layers(lowered: Lowered) -> list[FoldedLayer]:
    known = ranges(lowered.program)
    found: list[FoldedLayer] = []
    below: tuple[Ref, ...] = ()
    for layer in lowered.layers:
        assert not found or layer.inputs == below, "a folded layer reads the one below it"
        found.append(_folded(layer, max(known[ref].width for ref in layer.inputs)))
        below = layer.nodes
    return found


def _folded(layer: LoweredLayer, lane_bits: int) -> FoldedLayer:
    seen = layer.weights != 0
    top = (1 << lane_bits) - 1
    farthest = layer.weights.shape[1] * top + 1
    # A lane of weight -1 adds its complement, top - v, which raises the sum by top.
    negative = (layer.weights < 0).sum(axis=1).tolist()
    # Beyond every sum, or below, a threshold may be anything that fits.
    thresholds = [
        min(max(threshold + top * count, 0), farthest)
        for threshold, count in zip(layer.thresholds, negative, strict=True)
    ]
    present = None if seen.all() else seen
    return FoldedLayer(layer.weights > 0, present, tuple(thresholds), lane_bits)
