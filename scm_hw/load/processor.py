"""Models for an SCM processor: what it can't hold is refused, and the rest is made an image."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir import Builder, Constant, Field, Input, Program, operands, ranges, verify
from scm_hw.ir.ops import with_operands
from scm_hw.load.assemble import assemble, check_room, used_room
from scm_hw.load.capacity import (
    COEFFICIENT_BITS,
    HEADROOM,
    Capacity,
    Room,
    room_to_grow,
)
from scm_hw.load.lower import check_supported, lower_model
from scm_hw.load.lowered import Lowered
from scm_hw.load.readout import unused, with_bank
from scm_hw.load.steps import Image
from scm_model import Model
from scm_model.fixed_point import FixedPoint, quantise

# Larger than any model that a file can hold, to find out what one takes.
_UNBOUNDED = Room(256, 65_536, 64, 64, 65_536, 4096)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model in a processor: its coefficients, what is loaded, and the Program that it means.

    The Program has the inputs and the outputs of the processor.
    """

    fixed: FixedPoint
    image: Image
    meaning: Program

    @property
    def capacity(self) -> Capacity:
        return self.image.capacity


def check_loadable(model: Model) -> None:
    """UnsupportedModelError where no processor runs such a model, however large it is."""
    if model.memory is not None:
        raise UnsupportedModelError(
            "model must have no memory for --reload all, whose processor sees one sample at a "
            "time; train without lags, or leave --reload all out"
        )
    check_supported(model)
    if model.mechanism.kind != "none":
        raise UnsupportedModelError(
            "model must have no mechanism for --reload all, whose processor holds none, not "
            f"{model.mechanism.kind!r}; train without one, or leave --reload all out"
        )


def built_in(model: Model, frac_bits: int, room: Room | None, models: int = 1) -> Loaded:
    """A processor for a model, with the room that was asked for or with some to grow."""
    check_loadable(model)
    assert model.input_bits is not None
    fixed = processor_fixed_point(model, frac_bits, model.input_bits)
    lowered = lower_model(model, fixed)
    verify(lowered.program)
    if room is None:
        tried = _capacity(model, lowered, frac_bits, _UNBOUNDED)
        room = room_to_grow(_used(model, lowered, assemble(lowered, tried)))
    capacity = replace(_capacity(model, lowered, frac_bits, room), models=models)
    return _loaded(model, fixed, lowered, capacity)


def loaded(model: Model, capacity: Capacity) -> Loaded:
    """A model for a processor that is there, without flags. OptionError where it doesn't fit."""
    model = replace(model, flags=None)
    check_loadable(model)
    if model.is_classifier != capacity.classes:
        kinds = ("outputs", "classes")
        raise OptionError(
            f"model must give {kinds[capacity.classes]}, as the processor does, not "
            f"{kinds[model.is_classifier]}; build a processor from that model"
        )
    if model.input_bits != capacity.code_bits:
        raise OptionError(
            f"input bits must be {capacity.code_bits}, those of the processor, not "
            f"{model.input_bits}; train with --input-bits {capacity.code_bits}"
        )
    fixed = processor_fixed_point(model, capacity.frac_bits, capacity.code_bits)
    lowered = lower_model(model, fixed)
    verify(lowered.program)
    return _loaded(model, fixed, lowered, capacity)


def processor_fixed_point(model: Model, frac_bits: int, code_bits: int) -> FixedPoint:
    """The coefficients of a model, with outputs on the one grid that all models of a core have."""
    fixed = quantise(model, frac_bits)
    more = code_bits - fixed.extra_bits
    grid = fixed.product_bits + more
    return replace(
        fixed,
        product_bits=grid,
        sum_bits=grid,
        grid_bits=grid,
        readout=fixed.readout << more,
        linear=fixed.linear << more,
        constant=fixed.constant << more,
    )


def _used(model: Model, lowered: Lowered, image: Image) -> Room:
    nodes = sum(layer.nodes for layer in model.layers)
    found = used_room(lowered, image, max(nodes, 1), max(len(model.layers), 1))
    # Two classes of one score are two outputs of a processor.
    outputs = max(len(model.classes), 2) if model.classes is not None else model.outputs
    return replace(found, outputs=outputs)


def _capacity(model: Model, lowered: Lowered, frac_bits: int, room: Room) -> Capacity:
    assert model.input_bits is not None
    known = ranges(lowered.program)
    # The outputs of a processor are signed, which takes a bit more where a range isn't.
    widths = [known[ref].width + (not known[ref].signed) for ref in lowered.scores]
    bits = min(max(widths) + HEADROOM, COEFFICIENT_BITS + model.input_bits)
    return Capacity(room, model.input_bits, frac_bits, bits, model.is_classifier)


def _loaded(model: Model, fixed: FixedPoint, lowered: Lowered, capacity: Capacity) -> Loaded:
    inputs = len(lowered.program.inputs)
    nodes = sum(layer.nodes for layer in model.layers)
    own = replace(capacity.room, inputs=max(inputs, 1), nodes=max(nodes, 1))
    check_room(replace(own, layers=max(len(model.layers), 1)), capacity)
    _check_scores(lowered, capacity)
    image = assemble(lowered, capacity)
    check_room(_used(model, lowered, image), capacity)
    meaning = padded(lowered.program, capacity)
    verify(meaning)
    return Loaded(fixed, image, meaning)


def _check_scores(lowered: Lowered, capacity: Capacity) -> None:
    known = ranges(lowered.program)
    # What a class that isn't there has must be less than any score.
    bits = COEFFICIENT_BITS + capacity.code_bits - 1 if capacity.classes else capacity.output_bits
    for ref in lowered.scores:
        needed = known[ref].width + (not known[ref].signed)
        if needed > bits:
            raise OptionError(
                f"outputs must fit the {bits} bits of the processor, not {needed}; train with a "
                "stronger --ridge, or build a processor from that model"
            )


def padded(program: Program, capacity: Capacity) -> Program:
    """The same program with all inputs and outputs of a processor; those it has no use for are
    ignored, and 0."""
    build = Builder()
    taken = {program.ops[ref].name for ref in program.inputs}
    inputs, new = [], {}
    for number, reach in enumerate(capacity.input_ranges()):
        own = program.inputs[number] if number < len(program.inputs) else None
        name = program.ops[own].name if own is not None else unused(f"unused{number}", taken)
        ref = build.add(Input(number, reach.low, reach.high, name=name))
        inputs.append(ref)
        if own is not None:
            op = program.ops[own]
            assert isinstance(op, Input)
            # A narrower code has the low bits of the port.
            width = op.high.bit_length()
            new[own] = ref if op.high == reach.high else build.add(Field(ref, 0, width))
    for ref, op in program:
        if ref not in new:
            new[ref] = build.add(with_operands(op, tuple(new[r] for r in operands(op))))
    outputs = [new[ref] for ref in program.outputs]
    if not capacity.classes:
        outputs += [build.add(Constant(0))] * (capacity.room.outputs - len(outputs))
    return with_bank(build.program(tuple(inputs), tuple(outputs)), capacity.models)
