"""A folded core in NumPy: the words of its memories, taken in the order of its steps.

There are no cycles here. Everything that a core computes is: chunks of lanes with their signs,
accumulators of as many bits as the core's, thresholds by the group, and the readout by the slot.
So a machine, a plan or a memory that is wrong gives other integers than the literal program, in
milliseconds and without a simulator; when things happen is for the simulators to check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scm_hw.fold.engines import Engine, LayerPlan
from scm_hw.fold.machine import Bits, Integers, coefficient_bits
from scm_hw.fold.plan import FoldPlan
from scm_hw.fold.words import (
    linear_words,
    readout_words,
    sign_words,
    threshold_words,
    unpacked,
    unpacked_bits,
)
from scm_hw.ir.interp import interpret
from scm_hw.passes.reference import Reference

# Integers below this are exact in floating point, whose matrix products are faster.
EXACT_FLOAT64 = 1 << 53


@dataclass(frozen=True)
class FoldValues:
    """What registers of a folded core hold for each row of inputs.

    `hidden` are the bits of each layer, nodes beyond its last included; `start` and `totals` are
    the scores as the sample is taken and once all is added, as unsigned words.
    """

    start: Integers
    hidden: tuple[Bits, ...]
    totals: Integers
    outputs: Integers


def check_fold(plan: FoldPlan, reference: Reference) -> None:
    """Refuse a plan whose core would give another output than the literal program."""
    reference.check_outputs("folding", interpret_fold(plan, reference.inputs).outputs)


def interpret_fold(plan: FoldPlan, inputs: Integers) -> FoldValues:
    """The values of a folded core, a row for each row of `inputs`."""
    machine = plan.machine
    hidden = _hidden(plan, inputs)
    start = _started(plan, inputs)
    totals = start + _linear(plan, inputs) + _read_out(plan, hidden)
    if plan.mechanism is not None:
        totals = totals + interpret(plan.mechanism.program, inputs)
    if machine.is_classifier:
        signed = [_wrapped(column, width, True) for column, width in _columns(plan, totals)]
        # The first of equal scores is the class.
        outputs = np.stack(signed, axis=1).argmax(axis=1)[:, None]
    else:
        held = zip(_columns(plan, totals), machine.outputs, strict=True)
        values = [_wrapped(column, width, reach.signed) for (column, width), reach in held]
        outputs = np.stack(values, axis=1)
    return FoldValues(_words(plan, start), hidden, _words(plan, totals), outputs)


def _columns(plan: FoldPlan, totals: Integers) -> list[tuple[Integers, int]]:
    return list(zip(totals.T, plan.machine.score_widths, strict=True))


def _words(plan: FoldPlan, totals: Integers) -> Integers:
    return np.stack([_wrapped(*column, False) for column in _columns(plan, totals)], axis=1)


def _wrapped(values: Integers, width: int, signed: bool) -> Integers:
    """What a register of `width` bits holds."""
    kept = values & ((1 << width) - 1)
    return np.where(kept >> (width - 1) == 1, kept - (1 << width), kept) if signed else kept


# Hidden layers


def _hidden(plan: FoldPlan, inputs: Integers) -> tuple[Bits, ...]:
    """The bits of every layer, each from the layer below."""
    below = interpret(plan.machine.encoder, inputs)
    found: list[Bits] = []
    signs = {engine.number: _signs(engine) for engine in plan.engines}
    thresholds = {
        engine.number: unpacked(
            threshold_words(engine), engine.sum_bits, engine.fold.pe, signed=False
        )
        for engine in plan.engines
    }
    places = _places(plan)
    for number, layer in enumerate(plan.layers):
        engine, step, group = places[number]
        words = slice(step, step + layer.steps)
        sums = _sums(layer, signs[engine.number][words], engine.masked, below)
        # As wide as the accumulator: sums that outgrow it give other bits here too.
        held = _wrapped(sums, engine.sum_bits, False)
        bounds = thresholds[engine.number][group : group + layer.groups].reshape(-1)
        found.append(held >= bounds)
        # Groups are filled up, and bits beyond the last node are not read.
        below = found[-1][:, : layer.layer.nodes].astype(np.int64)
    return tuple(found)


def _places(plan: FoldPlan) -> dict[int, tuple[Engine, int, int]]:
    """By layer: its lanes, and where its words and its groups begin in their memories."""
    found: dict[int, tuple[Engine, int, int]] = {}
    for engine in plan.engines:
        step = group = 0
        for layer in engine.layers:
            found[layer.number] = (engine, step, group)
            step, group = step + layer.steps, group + layer.groups
    return found


def _signs(engine: Engine) -> Bits:
    return unpacked_bits(sign_words(engine), engine.signs.width)


def _sums(layer: LayerPlan, words: Bits, masked: bool, below: Integers) -> Integers:
    """The sum of lanes of every node: an input where its sign is set, or `top` less the input."""
    fold, groups, chunks = layer.fold, layer.groups, layer.chunks
    nodes, lanes = groups * fold.pe, chunks * fold.simd
    by_step = words.reshape(groups, chunks, -1, fold.pe, fold.simd)
    signs = by_step[:, :, 0].swapaxes(1, 2).reshape(nodes, lanes)
    present = by_step[:, :, 1].swapaxes(1, 2).reshape(nodes, lanes) if masked else np.True_
    top = (1 << layer.layer.lane_bits) - 1
    weights = np.where(present, np.where(signs, 1, -1), 0)
    # A lane with a clear sign adds `top - v`: `-v` in the product below, and `top` by this count.
    inverted = (present & ~signs).sum(axis=1)
    assert lanes * top < EXACT_FLOAT64
    seen = np.zeros((len(below), lanes))
    seen[:, : below.shape[1]] = below
    return (seen @ weights.T.astype(np.float64)).astype(np.int64) + top * inverted


# Scores


def _started(plan: FoldPlan, inputs: Integers) -> Integers:
    """Constants and external words, as a sample is taken."""
    lowered = plan.machine.lowered
    start = np.tile(np.array(lowered.constants, dtype=np.int64), (len(inputs), 1))
    for j in range(len(lowered.scores)):
        for ref, weight in lowered.external.of_output(j):
            start[:, j] += inputs[:, lowered.program.inputs.index(ref)] * weight
    return start


def _linear(plan: FoldPlan, inputs: Integers) -> Integers:
    """Codes times the weights that the memory holds for them."""
    linear = plan.machine.linear
    if not len(linear):
        return np.zeros((len(inputs), linear.shape[1]), dtype=np.int64)
    words, width = linear_words(linear), coefficient_bits(linear)
    weights = unpacked(words, width, linear.shape[1], signed=True)
    return interpret(plan.machine.linear_codes, inputs) @ weights


def _read_out(plan: FoldPlan, hidden: tuple[Bits, ...]) -> Integers:
    """The coefficients of the nodes that are set, slot after slot."""
    readout = plan.readout
    words = readout_words(plan.machine.readout, readout)
    lanes = readout.lanes * readout.outputs
    weights = unpacked(words, readout.coefficient_bits, lanes, signed=True)
    layers = zip(hidden, plan.layers, strict=True)
    slots = np.concatenate([_slots(bits, readout.lanes, layer) for bits, layer in layers], axis=1)
    total: Integers = slots.astype(np.int64) @ weights.reshape(-1, readout.outputs)
    return total << plan.machine.readout_shift


def _slots(bits: Bits, lanes: int, layer: LayerPlan) -> Bits:
    """The nodes of a layer as the readout's lanes see them: group by group, filled up by zeros."""
    width = -(-layer.fold.pe // lanes) * lanes
    groups = bits.reshape(len(bits), layer.groups, layer.fold.pe)
    filled = np.zeros((len(bits), layer.groups, width), dtype=bool)
    filled[:, :, : layer.fold.pe] = groups
    return filled.reshape(len(bits), -1)
