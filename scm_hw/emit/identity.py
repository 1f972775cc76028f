"""What a design's board says of itself over the serial port."""

from __future__ import annotations

from collections.abc import Collection
from math import log2

from scm_hw.design import Design
from scm_hw.load import Model, formats_of
from scm_hw.load.records import COMPLETE, record_bit
from scm_hw.rtl.uart import Hello, buffer_capacity
from scm_hw.rtl.uart.description import Description, Feature, Output, Reload, Word


def describe(design: Design, name: str = "") -> Description:
    """The formats of all fields, enough to go from raw rows to results in target units."""
    model, fixed = design.hardware, design.fixed
    features = _features(design)
    # There are words only where the mechanism is external.
    reaches = design.input_ranges[len(features) :]
    words = []
    for i, reach in enumerate(reaches):
        fraction, low, high = _scale(design, i, fixed.frac_bits)
        words.append(
            Word(model.targets[i], reach.width, fraction, reach.low, reach.high, low, high)
        )
    return Description(
        name=name,
        features=features,
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
    )


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
    flags = () if design.records is None else (Output(COMPLETE, 1, False, 0, 0.0, 1.0),)
    if design.model.is_classifier:
        reach = reaches[0]
        return (Output("class", reach.width, reach.signed, 0, 0.0, 1.0), *flags)
    outputs = (
        Output(name, r.width, r.signed, *_scale(design, i, design.fixed.grid_bits))
        # Flags come last.
        for i, (name, r) in enumerate(zip(design.model.targets, reaches, strict=False))
    )
    return (*outputs, *flags)


def identity(design: Design, name: str = "") -> tuple[Hello, bytes]:
    """Hello and description."""
    description = describe(design, name).encode()
    ports = design.ports
    hello = Hello(
        digest=bytes.fromhex(design.digest),
        model_digest=bytes.fromhex(design.model_digest),
        in_width=sum(ports.in_widths),
        out_width=sum(ports.out_widths),
        capacity=buffer_capacity(sum(ports.in_widths)),
        latency=design.latency,
        interval=design.initiation_interval,
        clock_hz=round(design.board.clock_mhz * 1e6),
        baud=design.options.baud,
        description_bytes=len(description),
    )
    return hello, description
