"""What a design's board says of itself over the serial port."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import log2

from scm_hw.design import Design
from scm_hw.load import Model, formats_of
from scm_hw.load.adaptive import DRIFT, ERROR, control_names
from scm_hw.load.capacity import Capacity
from scm_hw.load.readout import unused
from scm_hw.load.records import COMPLETE, record_bit
from scm_hw.load.sections import BANK, bank_field_bits
from scm_hw.rtl.uart import Hello, buffer_capacity
from scm_hw.rtl.uart.description import Description
from scm_hw.rtl.uart.fields import Adapt, Feature, Output, Reload, Word
from scm_model.flags import MARGIN, flag_kinds, flag_names


def describe(design: Design, name: str = "") -> Description:
    """The formats of all fields, enough to go from raw rows to results in target units."""
    if design.processor is not None:
        tolerance = design.options.tolerance if design.options.frac_bits is None else None
        found = describe_loaded(design.processor.capacity, design.model, name, tolerance)
        return replace(found, keyed=design.options.load_key is not None)
    model, fixed = design.hardware, design.fixed
    features = _features(design)
    # There are words only where the mechanism is external, which no core of several models has.
    reaches = design.input_ranges[len(features) :] if design.models == 1 else []
    words = []
    for i, (name_, reach) in enumerate(zip(_word_names(design), reaches, strict=True)):
        scale = (0, 0.0, 1.0)
        if i < model.outputs:
            learns = design.adaptive is not None
            scale = _scale(design, i, fixed.grid_bits if learns else fixed.frac_bits)
        words.append(Word(name_, reach.width, scale[0], reach.low, reach.high, *scale[1:]))
    return Description(
        name=name,
        features=(*features, *_bank_feature(design.models, features)),
        words=tuple(words),
        outputs=_outputs(design),
        classes=None if model.classes is None else tuple(model.classes),
        frac_bits=fixed.frac_bits,
        tolerance=design.options.tolerance if design.options.frac_bits is None else None,
        output_units=design.options.output_units,
        records=design.records is not None,
        columns=() if model.columns is None else model.columns.columns,
        output_bits=fixed.grid_bits if fixed.grid_bits < fixed.product_bits else None,
        reload=_reload(design),
        flags=len(_flags(design)),
        adapt=_adapt(design),
        models=design.models,
        keyed=design.options.load_key is not None,
    )


def _bank_feature(models: int, others: Sequence[Feature]) -> tuple[Feature, ...]:
    """The field that says which model a sample is for, whose code is its value."""
    if models == 1:
        return ()
    bits = bank_field_bits(models)
    return (Feature(unused(BANK, {port.name for port in others}), bits, 0.0, 2.0**bits),)


def describe_loaded(
    capacity: Capacity, model: Model, name: str = "", tolerance: float | None = None
) -> Description:
    """The fields of a processor with a model in it; those that it has no use for are the last."""
    room, bits = capacity.room, capacity.code_bits
    features = [replace(port, bits=bits) for port in _model_features(model, ())]
    # The code of a category is its value, in any number of bits.
    for place, port in enumerate(features):
        if model.columns is not None and model.columns.columns[place].is_category:
            features[place] = replace(port, high=2.0**bits)
    taken = {port.name for port in features}
    for number in range(len(features), room.inputs):
        features.append(Feature(unused(f"unused{number}", taken), bits, 0.0, 1.0))
    features += _bank_feature(capacity.models, features)
    outputs = [Output("class", capacity.output_ranges()[0].width, False, 0, 0.0, 1.0)]
    if not capacity.classes:
        low, high = model.target_min.tolist(), model.target_max.tolist()
        scales = [*zip(model.targets, low, high, strict=True)]
        taken = set(model.targets)
        for number in range(len(scales), room.outputs):
            scales.append((unused(f"unused{number}", taken), 0.0, 1.0))
        form = (capacity.output_bits, True, capacity.grid_bits)
        outputs = [Output(label, *form, *reach) for label, *reach in scales]
    return Description(
        name=name,
        features=tuple(features),
        words=(),
        outputs=tuple(outputs),
        classes=None if model.classes is None else tuple(model.classes),
        frac_bits=capacity.frac_bits,
        tolerance=tolerance,
        columns=() if model.columns is None else model.columns.columns,
        processor=capacity,
        models=capacity.models,
        idle=(
            room.inputs - len(model.signals),
            0 if capacity.classes else room.outputs - model.outputs,
        ),
    )


def _word_names(design: Design) -> Sequence[str]:
    """What is behind the features: words of a mechanism, or what a readout learns from."""
    if design.adaptive is None:
        return design.model.targets if design.fixed.word_range is not None else ()
    most_age = design.adaptive.adaptation.most_age
    return control_names(design.model.signals, design.model.targets, most_age)


def _adapt(design: Design) -> Adapt | None:
    settings = design.options.adapt
    if settings is None:
        return None
    return Adapt(settings.step, settings.leak, settings.most_age)


def _reload(design: Design) -> Reload | None:
    if design.loadable is None:
        return None
    plan = design.loadable.plan
    return Reload(plan.digest.hex(), plan.widths)


def _features(design: Design) -> tuple[Feature, ...]:
    """What each input of the core is; of a category, the codes that it may have."""
    model, sensors = design.hardware, formats_of(design.model, design.options.input_format)
    if design.model.memory is not None:
        return _signals(design, sensors)
    return _model_features(model, sensors)


def _model_features(model: Model, sensors: Collection[int]) -> tuple[Feature, ...]:
    """The features of a model in the units of its ports."""
    found = []
    for place, (name, code) in enumerate(zip(model.signals, model.input_codes, strict=True)):
        number = place if model.columns is None else model.columns.value_feature(place)
        if model.columns is not None and model.columns.columns[place].is_category:
            found.append(Feature(name, code.bits, 0.0, 2.0**code.bits))
        else:
            assert number is not None
            found.append(_feature(model, name, number, number in sensors))
    return tuple(found)


def _feature(model: Model, name: str, number: int, sensor: bool) -> Feature:
    low, high = float(model.input_min[number]), float(model.input_max[number])
    return Feature(name, model.codes[number].bits, low, high, sensor)


def _signals(design: Design, sensors: Collection[int]) -> tuple[Feature, ...]:
    """The signals, and the bit that begins a record, whose code is its value."""
    memory = design.model.memory
    assert memory is not None
    # All taps of a signal have its range and its code.
    found = [
        _feature(design.hardware, name, place, place in sensors)
        for name, place in zip(memory.signals, memory.newest, strict=True)
    ]
    return (*found, Feature(record_bit(memory.signals), 1, 0.0, 2.0))


def _scale(design: Design, target: int, fraction: int) -> tuple[int, float, float]:
    """Fraction bits and range of a target's fixed point; plain numbers in its own units."""
    low, high = float(design.hardware.target_min[target]), float(design.hardware.target_max[target])
    if not design.options.output_units:
        return fraction, low, high
    # The range is a power of two.
    return fraction - round(log2(high)), 0.0, 1.0


def _outputs(design: Design) -> tuple[Output, ...]:
    reaches = design.output_ranges
    flags = _flags(design)
    if design.records is not None:
        flags = (Output(COMPLETE, 1, False, 0, 0.0, 1.0),)
    if design.model.is_classifier:
        reach = reaches[0]
        return (Output("class", reach.width, reach.signed, 0, 0.0, 1.0), *flags)
    outputs = (
        Output(name, r.width, r.signed, *_scale(design, i, design.fixed.grid_bits))
        # Flags come last.
        for i, (name, r) in enumerate(zip(design.model.targets, reaches, strict=False))
    )
    return (*outputs, *flags)


def _flags(design: Design) -> tuple[Output, ...]:
    """Margin and flags behind the outputs; a margin is fixed point as the scores are."""
    if design.adaptive is not None:
        error, drift = design.output_ranges[-2:]
        return (
            Output(ERROR, error.width, False, design.fixed.grid_bits, 0.0, 1.0),
            Output(DRIFT, drift.width, False, 0, 0.0, 1.0),
        )
    names, kinds = flag_names(design.hardware), flag_kinds(design.hardware)
    reaches = design.output_ranges[len(design.output_ranges) - len(names) :]
    return tuple(
        Output(name, r.width, r.signed, design.fixed.grid_bits * (kind == MARGIN), 0.0, 1.0)
        for name, kind, r in zip(names, kinds, reaches, strict=True)
    )


def identity(design: Design, name: str = "") -> tuple[Hello, bytes]:
    """Hello and description."""
    description = describe(design, name).encode()
    ports, processor = design.ports, design.processor
    # Models that are loaded may take as long as a program can.
    longest = None if processor is None else processor.longest
    hello = Hello(
        digest=bytes.fromhex(design.digest),
        model_digest=bytes.fromhex(design.model_digest),
        in_width=sum(ports.in_widths),
        out_width=sum(ports.out_widths),
        capacity=buffer_capacity(sum(ports.in_widths)),
        latency=longest or design.latency,
        interval=longest or design.initiation_interval,
        clock_hz=round(design.board.clock_mhz * 1e6),
        baud=design.options.baud,
        description_bytes=len(description),
    )
    return hello, description
