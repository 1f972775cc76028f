"""Features as the integers of their sensors, and outputs in the units of their targets.

Both are other models that say the same thing: where the trained one has a code of the training
range, `with_sensors` gives one that has the sensor's integer, with thresholds and coefficients to
suit; `in_target_units` scales all that leads to an output. What the hardware computes follows from
the model as ever, so no step of it is spent on units.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import comb, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.load.model import Code, Encoder, Floats, Mechanism, Model
from scm_hw.load.table import cell_counts, corners_of

MAX_SENSOR_BITS = 24
# A level of more bits takes a comparison for each of more than 255 thresholds.
MAX_LEVEL_BITS = 8
ALL = "*"
FORMATS = "code or adc:BITS:LOW:HIGH"

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class InputFormat:
    """A converter's integer: `floor((x - low) / (high - low) * 2**bits)`, kept to its bits."""

    bits: int
    low: float
    high: float

    def value(self, integers: Integers) -> Floats:
        """What an integer stands for: the middle of its step."""
        step = (self.high - self.low) / 2.0**self.bits
        return self.low + (integers.astype(np.float64) + 0.5) * step


def parse_input_formats(texts: Iterable[str], features: tuple[str, ...]) -> dict[int, InputFormat]:
    """`speed=adc:12:-10:10` and the like, by the number of the feature; `*` is all the others."""
    told: dict[str, InputFormat | None] = {}
    for text in texts:
        name, separator, form = text.rpartition("=")
        if not separator or (name != ALL and name not in features):
            raise OptionError(
                f"input format must be FEATURE={FORMATS}, for one of {', '.join(features[:20])} or "
                f"{ALL} for all, not {text!r}"
            )
        if name in told:
            raise OptionError(f"input format of {name!r} must be given once, not again as {form!r}")
        told[name] = _parse_format(name, form)
    chosen = ((i, told.get(name, told.get(ALL))) for i, name in enumerate(features))
    return {i: form for i, form in chosen if form is not None}


def _parse_format(name: str, text: str) -> InputFormat | None:
    kind, *rest = text.split(":")
    if kind == "code" and not rest:
        return None
    try:
        if kind != "adc":
            raise ValueError
        bits, low, high = rest
        form = InputFormat(int(bits), float(low), float(high))
    except ValueError:
        raise OptionError(f"input format of {name!r} must be {FORMATS}, not {text!r}") from None
    if not 1 <= form.bits <= MAX_SENSOR_BITS:
        raise OptionError(
            f"input format of {name!r} must have 1 to {MAX_SENSOR_BITS} bits, not {form.bits}"
        )
    if not (isfinite(form.high - form.low) and form.low < form.high):
        raise OptionError(
            f"input format of {name!r} must have a finite range, the lower end first, not "
            f"{low} to {high}"
        )
    return form


def for_hardware(
    model: Model, formats: Mapping[int, InputFormat], *, output_units: bool = False
) -> Model:
    """The model that hardware is made of; the same where nothing was asked for."""
    chosen = with_sensors(model, formats) if formats else model
    return in_target_units(chosen) if output_units else chosen


def with_sensors(model: Model, formats: Mapping[int, InputFormat]) -> Model:
    """The model of the sensors' integers, by the number of their feature."""
    if model.encoder.kind == "none":
        name = model.features[min(formats)]
        raise UnsupportedModelError(
            f"input format of {name!r} must be code with encoder none, whose nodes add features "
            "as they are scaled; train again with --encoder thermometer, or leave --input-format "
            "out"
        )
    sensors = {i: _Sensor(model, i, form) for i, form in formats.items()}
    scale, offset = np.ones(len(model.features)), np.zeros(len(model.features))
    low, high = model.input_min.copy(), model.input_max.copy()
    codes = list(model.codes)
    for i, sensor in sensors.items():
        scale[i], offset[i] = sensor.scale, sensor.offset
        low[i], high[i] = sensor.form.low, sensor.form.high
        codes[i] = sensor.code
    return replace(
        model,
        input_min=low,
        input_max=high,
        sensors=tuple(codes),
        encoder=_encoder(model, sensors),
        linear=model.linear * scale[:, None],
        intercept=model.intercept + offset @ model.linear,
        mechanism=_mechanism(model, sensors, scale, offset),
    )


class _Sensor:
    """A feature's sensor, and `x = scale * s + offset` for `s = (integer + 0.5) / 2**bits`."""

    def __init__(self, model: Model, feature: int, form: InputFormat) -> None:
        self.model = model
        self.feature = feature
        self.form = form
        self.top = (1 << form.bits) - 1
        low, high = float(model.input_min[feature]), float(model.input_max[feature])
        if low == high:
            # Whatever comes in, its code is 0.
            assert model.input_bits is not None
            self.scale, self.offset = 0.0, 0.5 / (1 << model.input_bits)
            self.code = Code(form.bits, 0, self.top)
            return
        self.scale = (form.high - form.low) / (high - low)
        self.offset = (form.low - low) / (high - low)
        first = self.first(lambda integers: form.value(integers) >= low)
        beyond = self.first(lambda integers: form.value(integers) > high)
        if first >= beyond:
            raise OptionError(
                f"input format of {model.features[feature]!r} must have a step inside the training "
                f"range, {low:g} to {high:g}, not {form.bits} bits from {form.low:g} to "
                f"{form.high:g}; see that the units are the same"
            )
        self.code = Code(form.bits, first, beyond - 1)

    def first(self, reached: Callable[[Integers], NDArray[np.bool_]]) -> int:
        """The first integer for which that holds, as it does for all after it; or one too many."""
        low, high = 0, self.top + 1
        while low < high:
            middle = (low + high) // 2
            if reached(np.array(middle)):
                high = middle
            else:
                low = middle + 1
        return low

    def x(self, integers: Integers) -> Floats:
        """The feature scaled by the training range, before it is cut into codes."""
        low, high = self.model.input_min[self.feature], self.model.input_max[self.feature]
        value = self.form.value(integers)
        return (value - low) / (high - low) if high > low else np.zeros_like(value)

    def beyond(self, line: float, integers: Integers) -> NDArray[np.bool_]:
        return self.x(integers) >= line

    def reaching(self, code: int) -> int:
        """The first integer whose code, in the training range, is at least that."""
        assert self.model.input_bits is not None
        unit = 2.0**self.model.input_bits
        return self.first(lambda integers: np.floor(self.x(integers) * unit) >= code)


def _encoder(model: Model, sensors: Mapping[int, _Sensor]) -> Encoder:
    encoder = model.encoder
    thresholds = list(encoder.thresholds or ((),) * len(model.features))
    for i, sensor in sensors.items():
        levels = thresholds[i]
        if encoder.kind != "thermometer":
            levels = _levels(model, i)
        thresholds[i] = tuple(sensor.reaching(code) for code in levels)
    return replace(encoder, thresholds=tuple(thresholds))


def _levels(model: Model, feature: int) -> tuple[int, ...]:
    """The codes at which the level of a binary or gray feature goes up."""
    assert model.input_bits is not None
    bits = model.encoder.bits[feature]
    if bits > MAX_LEVEL_BITS:
        raise UnsupportedModelError(
            f"input format of {model.features[feature]!r} must be code with encoder "
            f"{model.encoder.kind} of more than {MAX_LEVEL_BITS} bits, here {bits}; train again "
            f"with --encoder {model.encoder.kind}:{MAX_LEVEL_BITS} or less"
        )
    return tuple(level << (model.input_bits - bits) for level in range(1, 1 << bits))


# Mechanisms


def _mechanism(
    model: Model, sensors: Mapping[int, _Sensor], scale: Floats, offset: Floats
) -> Mechanism:
    mechanism = model.mechanism
    if mechanism.kind == "polynomial":
        return _polynomial(mechanism, scale, offset)
    if mechanism.kind == "table" and any(i in sensors for i in mechanism.inputs):
        return _table(model, sensors)
    return mechanism


def _polynomial(mechanism: Mechanism, scale: Floats, offset: Floats) -> Mechanism:
    """Every `x` of a term written as `scale * s + offset`, and multiplied out."""
    assert mechanism.exponents is not None and mechanism.coefficients is not None
    total: dict[tuple[int, ...], Floats] = {}
    for powers, coefficient in zip(
        mechanism.exponents.tolist(), mechanism.coefficients, strict=True
    ):
        terms: dict[tuple[int, ...], float] = {(): 1.0}
        for power, a, b in zip(powers, scale, offset, strict=True):
            terms = {
                (*done, k): factor * comb(power, k) * a**k * b ** (power - k)
                for done, factor in terms.items()
                for k in range(power + 1)
                if factor and (b or k == power)
            }
        for key, factor in terms.items():
            if factor:
                total[key] = total.get(key, 0.0) + factor * coefficient
    return replace(
        mechanism,
        exponents=np.array(list(total), dtype=np.uint8).reshape(len(total), len(scale)),
        coefficients=np.array(list(total.values())).reshape(
            len(total), mechanism.coefficients.shape[1]
        ),
    )


def _table(model: Model, sensors: Mapping[int, _Sensor]) -> Mechanism:
    """The cells of a sensor begin where its integers cross the lines of the grid."""
    mechanism = model.mechanism
    assert mechanism.grid is not None
    values = corners_of(mechanism.grid)
    starts: list[tuple[int, ...] | None] = []
    for place, (i, cells) in enumerate(zip(mechanism.inputs, cell_counts(model), strict=True)):
        sensor = sensors.get(i)
        starts.append(None if sensor is None else _starts(sensor, cells))
        if sensor is not None:
            values = _stretched(values, place, _ends(sensor, _starts(sensor, cells)))
    return replace(mechanism, grid=None, corners=values, starts=tuple(starts))


def _starts(sensor: _Sensor, cells: int) -> tuple[int, ...]:
    """The first integer of each cell; integers outside the training range are never seen."""
    found, code = [sensor.code.low], sensor.code
    for cell in range(1, cells):
        line = cell / cells
        start = sensor.first(partial(sensor.beyond, line))
        found.append(min(max(start, code.low), code.high + 1))
    return tuple(found)


def _ends(sensor: _Sensor, starts: tuple[int, ...]) -> Floats:
    """Where in its cell the position is 0, and where it is 1; (2, cells)."""
    cells = len(starts)
    widest = int(np.diff([*starts, sensor.code.high + 1]).max())
    steps = 1 << (widest - 1).bit_length()
    first = np.array(starts, dtype=np.float64)
    s = np.stack([first, first + steps]) / (sensor.top + 1)
    return cells * (sensor.scale * s + sensor.offset) - np.arange(cells)


def _stretched(values: Floats, place: int, ends: Floats) -> Floats:
    """Corners moved along one direction, from the ends of the cells to the places given."""
    directions = (values.ndim - 1) // 2
    at = np.moveaxis(values, (place, directions + place), (0, 1))
    share = ends.reshape(*ends.shape, *(1,) * (at.ndim - 2))
    moved = at[0] + share * (at[1] - at[0])
    return np.moveaxis(moved, (0, 1), (place, directions + place))


# Outputs


def in_target_units(model: Model) -> Model:
    """The model whose outputs are the targets themselves, over a power of two each.

    So an output of `grid_bits` fraction bits is fixed point in the units of its target.
    """
    if model.is_classifier:
        raise OptionError(
            "output units must be left out for a classifier, whose output is the index of a class"
        )
    span = model.target_max - model.target_min
    # The widest range has no power of two above it.
    unit = 2.0 ** np.minimum(np.ceil(np.log2(span)), sys.float_info.max_exp - 1)
    factor = span / unit
    mechanism = model.mechanism
    # An external P0 comes in the target's units, its lower end included.
    base = 0.0 if mechanism.kind == "external" else model.target_min / unit
    scaled: dict[str, Any] = {
        name: getattr(mechanism, name) * factor
        for name in ("coefficients", "grid", "corners")
        if getattr(mechanism, name) is not None
    }
    if mechanism.range is not None:
        scaled["range"] = mechanism.range * factor + model.target_min / unit
    return replace(
        model,
        readout=model.readout * factor,
        linear=model.linear * factor,
        intercept=model.intercept * factor + base,
        mechanism=replace(mechanism, **scaled),
        target_min=np.zeros_like(span),
        target_max=unit,
    )
