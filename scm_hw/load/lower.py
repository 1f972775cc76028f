"""From a model and its integer coefficients to a Program that says the same thing.

The translation is literal: one comparison for each coded bit, one sum and one comparison for each
node, one sum for each output. Making it small is the work of the passes; laying it out over time
that of the folded core.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import UnsupportedModelError
from scm_hw.ir import (
    ARGMAX,
    LINEAR,
    MECHANISM,
    READOUT,
    Argmax,
    AtLeast,
    Builder,
    Concat,
    Constant,
    Input,
    Part,
    Program,
    Ref,
    Shift,
    Sum,
    Table,
    node_part,
)
from scm_hw.load.lower_columns import inputs_and_codes
from scm_hw.load.lower_flags import lower_flags
from scm_hw.load.lower_inputs import first_layer_inputs, held_code
from scm_hw.load.lower_mechanism import mechanism_terms
from scm_hw.load.lowered import Lowered, LoweredLayer, Terms
from scm_model import Layer, Model
from scm_model.fixed_point import FixedPoint, linear_groups

# Beyond every sum of a node; biases beyond it, even those that overflow when scaled, do the same.
FARTHEST_BOUND = 2.0**62


def check_supported(model: Model) -> None:
    """Refuse what can't become hardware, naming the layer or the feature and the remedy."""
    _check_layers(model)
    for name, low, high in zip(model.features, model.input_min, model.input_max, strict=True):
        # A code is a position within the range: one of no width has none.
        if low == high:
            raise UnsupportedModelError(
                f"feature {name!r} must have a range wider than zero, not [{low:g}, {high:g}]; "
                "leave that column out and train again, or widen the range in the file"
            )


def _check_layers(model: Model) -> None:
    """Refuse what can't become XNOR, popcount and compare."""
    for number, layer in enumerate(model.layers, start=1):
        if not layer.hard:
            raise UnsupportedModelError(
                f"layer {number} must have activation sign or step for hardware, "
                f"not {layer.activation}; train again with --activation sign"
            )
        if not layer.binary:
            raise UnsupportedModelError(
                f"layer {number} must have binary weights for hardware, not real ones; "
                "train again with --weights binary"
            )
    if model.input_bits is None:
        raise UnsupportedModelError(
            "inputs must be quantised for hardware, but the model's 'input_bits' is null; "
            "train again with --input-bits 12"
        )


def lower(model: Model, fixed: FixedPoint) -> Program:
    """The literal Program of a supported model."""
    return lower_model(model, fixed).program


def lower_model(model: Model, fixed: FixedPoint) -> Lowered:
    """The literal Program of a supported model, with the parts it is made of."""
    _check_layers(model)
    build = Builder()
    inputs, codes = inputs_and_codes(build, model)
    words = _external_words(build, model, fixed)
    layers = _layers(build, model, first_layer_inputs(build, model, codes))
    nodes = tuple(ref for layer in layers for ref in layer.nodes)
    readout = Terms(nodes, fixed.readout[: len(nodes)])
    with build.within(READOUT):
        families = _families(build, model, fixed, layers)
    with build.within(LINEAR):
        linear = _linear(build, model, fixed, codes)
    # External words have the fraction bits of coefficients, and sums have more.
    unit = np.int64(1) << (fixed.sum_bits - fixed.frac_bits)
    external = Terms(words, np.eye(len(words), model.outputs, dtype=np.int64) * unit)
    with build.within(MECHANISM):
        mechanism = mechanism_terms(build, model, fixed, codes)
        if fixed.dropped_bits:
            mechanism = _cut_mechanism(build, model, fixed, mechanism)
    constants = tuple(fixed.constant.tolist())
    kinds = (readout, families, linear, external, mechanism)
    with build.within(READOUT):
        scores = tuple(
            _score(build, f"output.{target}", constants[j], kinds, j, fixed.spare_bits)
            for j, target in enumerate(model.targets)
        )
    with build.within(ARGMAX):
        outputs = (_class(build, model, scores),) if model.is_classifier else scores
    outputs += lower_flags(build, model, fixed, nodes, codes, scores)
    # Bits that come back leave behind the outputs.
    bits = layers[0].nodes[: model.bits] if model.bits else ()
    program = build.program((*inputs, *words), (*outputs, *bits))
    return Lowered(program, layers, scores, constants, *kinds)


# Inputs


def _external_words(build: Builder, model: Model, fixed: FixedPoint) -> tuple[Ref, ...]:
    if fixed.word_range is None:
        return ()
    ranges = zip(model.targets, fixed.word_range.T.tolist(), strict=True)
    return tuple(
        build.add(Input(len(model.signals) + j, low, high, name=f"mechanism.{target}"))
        for j, (target, (low, high)) in enumerate(ranges)
    )


# Hidden layers


def _layers(build: Builder, model: Model, inputs: tuple[Ref, ...]) -> tuple[LoweredLayer, ...]:
    found = []
    # The column of the mask that decides whether a node sees an input.
    columns = np.repeat(np.arange(len(model.features)), model.encoder.bits or 1)
    for number, layer in enumerate(model.hidden.layers, start=1):
        weights: NDArray[np.int8] = layer.weights.astype(np.int8)
        if layer.mask is not None:
            weights = weights * layer.mask[:, columns]
        thresholds = _thresholds(model, number, layer, weights)
        nodes = tuple(
            _node(build, node_part(number, node), inputs, weights[node], threshold)
            for node, threshold in enumerate(thresholds)
        )
        found.append(LoweredLayer(inputs, weights, thresholds, nodes))
        # The mask of a later layer has a column for each node of the one below.
        inputs, columns = nodes, np.arange(layer.nodes)
    return tuple(found)


def _thresholds(
    model: Model, number: int, layer: Layer, weights: NDArray[np.int8]
) -> tuple[int, ...]:
    """The least `w.v` for which `w.h + b` is positive, or not negative for a step.

    Inputs `h` of a layer are carried by integers `v`, with `h = (scale * v + offset) / unit`. So a
    node is set where `scale * w.v` reaches what the bias and the offsets leave to be reached.
    """
    scale, offset, unit = _carried(model, number)
    strict = layer.activation == "sign"
    # The unit is a power of two, so that this product of floats is exact.
    bounds = [_least_integer(-bias * unit, strict=strict) for bias in layer.biases.tolist()]
    offsets = (offset * weights.sum(axis=1, dtype=np.int64)).tolist()
    # Rounded up: the negative of a negative rounded down.
    return tuple(-((off - least) // scale) for off, least in zip(offsets, bounds, strict=True))


def _carried(model: Model, number: int) -> tuple[int, int, int]:
    """Scale, offset and unit of `h = (scale * v + offset) / unit`, for the inputs of a layer."""
    if number > 1:
        # A bit of a sign layer stands for -1 or +1, one of a step layer for itself.
        return (2, -1, 1) if model.layers[number - 2].activation == "sign" else (1, 0, 1)
    if model.encoder.kind != "none":
        return 2, -1, 1
    # A code stands for the middle of its step: (code + 1/2) / 2**input_bits.
    assert model.input_bits is not None
    return 2, 1, 1 << (model.input_bits + 1)


def _least_integer(bound: float, *, strict: bool) -> int:
    """The least integer above a real bound, or on it unless strict."""
    bound = max(-FARTHEST_BOUND, min(bound, FARTHEST_BOUND))
    return math.floor(bound) + 1 if strict else math.ceil(bound)


def _node(
    build: Builder, part: Part, inputs: tuple[Ref, ...], weights: NDArray[np.int8], threshold: int
) -> Ref:
    # Hidden connections have the weight 0, and are not built.
    seen = np.flatnonzero(weights).tolist()
    refs, signs = tuple(inputs[i] for i in seen), tuple(weights[seen].tolist())
    with build.within(part):
        total = build.add(Sum(refs, signs, name=f"{part.prefix}.sum"))
        return build.add(AtLeast(total, threshold, name=part.prefix))


def _families(
    build: Builder, model: Model, fixed: FixedPoint, layers: tuple[LoweredLayer, ...]
) -> Terms:
    """A table for each family and output: at each address, the readout of the node that fires."""
    if model.families is None:
        return Terms((), np.zeros((0, model.outputs), np.int64))
    nodes, first = layers[-1].nodes, sum(len(layer.nodes) for layer in layers)
    refs: list[Ref] = []
    outputs: list[int] = []
    starts, sizes = model.families.starts.tolist(), model.families.sizes.tolist()
    for number, support in enumerate(model.families.supports.tolist()):
        bits = tuple(nodes[place] for place in support if place >= 0)
        begin = first + starts[number]
        entries = fixed.readout[begin : begin + sizes[number]]
        # An output to which a family adds nothing gets no table.
        for output in np.flatnonzero(entries.any(axis=0)).tolist():
            target = model.targets[output]
            index = _address(build, bits, f"layer{len(model.layers)}.family{number}")
            contents = tuple(entries[:, output].tolist())
            refs.append(build.add(Table(index, contents, name=f"output.{target}.family{number}")))
            outputs.append(output)
    return Terms(tuple(refs), np.eye(model.outputs, dtype=np.int64)[outputs])


def _address(build: Builder, bits: tuple[Ref, ...], name: str) -> Ref:
    return bits[0] if len(bits) == 1 else build.add(Concat(bits, (1,) * len(bits), name=name))


# Outputs


def _class(build: Builder, model: Model, scores: tuple[Ref, ...]) -> Ref:
    """The class with the largest score; of two that share one, the second where it is positive."""
    if model.decides_by_sign:
        return build.add(AtLeast(scores[0], 1, name="class"))
    return build.add(Argmax(scores, name="class"))


def _linear(build: Builder, model: Model, fixed: FixedPoint, codes: list[Ref]) -> Terms:
    """The codes of the features that any output weighs, or their products where these are cut."""
    # Features that no output weighs need not be held in their range either.
    used = np.flatnonzero(fixed.linear.any(axis=1)).tolist()
    held = {i: held_code(build, model, i, codes[i]) for i in used}
    if not fixed.dropped_bits:
        return Terms(tuple(held.values()), fixed.linear[used])
    refs, weights = [], []
    for output, column in enumerate(fixed.linear.T):
        for group in linear_groups(column):
            parts = tuple(held[i] for i in group)
            factors = tuple(abs(int(column[i])) for i in group)
            refs.append(_cut(build, fixed, parts, factors, f"linear.{model.targets[output]}"))
            weights.append(
                np.sign(column[group[0]]) * np.eye(model.outputs, dtype=np.int64)[output]
            )
    return Terms(tuple(refs), np.array(weights).reshape(-1, model.outputs))


def _cut_mechanism(build: Builder, model: Model, fixed: FixedPoint, whole: Terms) -> Terms:
    """For each output the sum of its products, cut."""
    refs, outputs = [], []
    for number, target in enumerate(model.targets):
        if terms := whole.of_output(number):
            parts, factors = zip(*terms, strict=True)
            refs.append(_cut(build, fixed, parts, factors, f"mechanism.{target}"))
            outputs.append(number)
    return Terms(tuple(refs), np.eye(model.outputs, dtype=np.int64)[outputs])


def _cut(
    build: Builder, fixed: FixedPoint, refs: tuple[Ref, ...], weights: tuple[int, ...], name: str
) -> Ref:
    # Synthesis takes zeros at the end of constants out of multipliers, and then doesn't see that
    # the DSP blocks could add: at least one is odd.
    common = math.gcd(*weights, 1 << fixed.dropped_bits)
    total = build.add(Sum(refs, tuple(w // common for w in weights), name=name))
    dropped = fixed.dropped_bits - (common.bit_length() - 1)
    return build.add(Shift(total, dropped, name=f"{name}.cut")) if dropped else total


def _score(
    build: Builder,
    name: str,
    constant: int,
    kinds: tuple[Terms, ...],
    number: int,
    spare_bits: int,
) -> Ref:
    terms = [term for kind in kinds for term in kind.of_output(number)]
    if not terms:
        return build.add(Constant(constant >> spare_bits, name=name))
    refs, weights = zip(*terms, strict=True)
    total = build.add(Sum(refs, weights, constant, name=name))
    return build.add(Shift(total, spare_bits, name=name)) if spare_bits else total
