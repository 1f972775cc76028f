"""What a design's board says of itself over the serial port."""

from __future__ import annotations

from scm_hw.design import Design
from scm_hw.uart import Hello, buffer_capacity
from scm_hw.uart.description import Description, Feature, Output, Word


def describe(design: Design, name: str = "") -> Description:
    """The formats of all fields, enough to go from raw rows to results in target units."""
    model, fixed = design.model, design.fixed
    count = len(model.features)
    features = [
        Feature(name, reach.width, float(low), float(high))
        for name, reach, low, high in zip(
            model.features,
            design.input_ranges[:count],
            model.input_min,
            model.input_max,
            strict=True,
        )
    ]
    words = [
        Word(target, r.width, fixed.frac_bits, r.low, r.high, float(low), float(high))
        for target, r, low, high in zip(
            model.targets,
            design.input_ranges[count:],
            model.target_min,
            model.target_max,
            # There are words only where the mechanism is external.
            strict=False,
        )
    ]
    return Description(
        name=name,
        features=tuple(features),
        words=tuple(words),
        outputs=_outputs(design),
        classes=None if model.classes is None else tuple(model.classes),
        frac_bits=fixed.frac_bits,
        tolerance=design.options.tolerance if design.options.frac_bits is None else None,
    )


def _outputs(design: Design) -> tuple[Output, ...]:
    model = design.model
    if model.is_classifier:
        (reach,) = design.output_ranges
        return (Output("class", reach.width, reach.signed, 0, 0.0, 1.0),)
    return tuple(
        Output(name, r.width, r.signed, design.fixed.grid_bits, float(low), float(high))
        for name, r, low, high in zip(
            model.targets, design.output_ranges, model.target_min, model.target_max, strict=True
        )
    )


def identity(design: Design, name: str = "") -> tuple[Hello, bytes]:
    """Hello and description."""
    description = describe(design, name).encode()
    plan, ports = design.schedule, design.ports
    hello = Hello(
        digest=bytes.fromhex(design.digest),
        model_digest=bytes.fromhex(design.model_digest),
        in_width=sum(ports.in_widths),
        out_width=sum(ports.out_widths),
        capacity=buffer_capacity(sum(ports.in_widths)),
        latency=plan.latency,
        interval=plan.initiation_interval,
        clock_hz=round(design.board.clock_mhz * 1e6),
        baud=design.options.baud,
        description_bytes=len(description),
    )
    return hello, description
