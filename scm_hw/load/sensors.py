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
from math import comb, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_model import (
    Code,
    Encoder,
    ExternalModel,
    Mechanism,
    Model,
    PolynomialModel,
    TableModel,
    codes,
    normalise,
)
from scm_model.cell_table import CellTable, cell_counts, corners_of
from scm_model.scaling import Floats

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


def formats_of(model: Model, texts: Iterable[str]) -> dict[int, InputFormat]:
    """The formats that were asked for, by the number of their feature: of plain numbers alone."""
    columns = model.columns
    if model.memory is not None:
        told = parse_input_formats(texts, model.signals)
        taps = enumerate(model.memory.taps)
        return {place: told[tap.source] for place, tap in taps if tap.source in told}
    if columns is None:
        return parse_input_formats(texts, model.features)
    plain = [i for i, column in enumerate(columns.columns) if column.plain]
    told = parse_input_formats(texts, tuple(columns.names[i] for i in plain))
    places = {number: columns.value_feature(plain[number]) for number in told}
    return {place: told[number] for number, place in places.items() if place is not None}


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
    ports = list(model.codes)
    for i, sensor in sensors.items():
        scale[i], offset[i] = sensor.scale, sensor.offset
        low[i], high[i] = sensor.form.low, sensor.form.high
        ports[i] = sensor.code
    return replace(
        model,
        input_min=low,
        input_max=high,
        sensors=tuple(ports),
        encoder=_encoder(model, sensors),
        linear=model.linear * scale[:, None],
        intercept=model.intercept + offset @ model.linear,
        mechanism=_mechanism(model, sensors, scale, offset),
    )


class _Sensor:
    """A feature's sensor, and `x = scale * s + offset` for `s = (integer + 0.5) / 2**bits`."""

    def __init__(self, model: Model, feature: int, form: InputFormat) -> None:
        self.model = model.static
        self.feature = feature
        self.form = form
        self.top = (1 << form.bits) - 1
        low, high = float(model.input_min[feature]), float(model.input_max[feature])
        if low == high:
            # Whatever comes in, its code is 0. No file has such a range; a model in memory may.
            assert model.input_bits is not None
            self.scale, self.offset = 0.0, 0.5 / (1 << model.input_bits)
            self.code = Code(form.bits, 0, self.top)
            return
        self.scale = (form.high - form.low) / (high - low)
        self.offset = (form.low - low) / (high - low)
        first = self.first(lambda row: row[feature] >= low)
        beyond = self.first(lambda row: row[feature] > high)
        if first >= beyond:
            raise OptionError(
                f"input format of {model.features[feature]!r} must have a step inside the training "
                f"range, {low:g} to {high:g}, not {form.bits} bits from {form.low:g} to "
                f"{form.high:g}; see that the units are the same"
            )
        self.code = Code(form.bits, first, beyond - 1)

    def first(self, reached: Callable[[Floats], Any]) -> int:
        """The first integer whose row has reached something, as all after it have; or one beyond.

        By search rather than by formula: what the trained model says of a row decides, rounding of
        its floating point included.
        """
        row = self.model.input_min.copy()
        low, high = 0, self.top + 1
        while low < high:
            middle = (low + high) // 2
            row[self.feature] = self.form.value(np.array(middle))
            if reached(row):
                high = middle
            else:
                low = middle + 1
        return low

    def reaching_code(self, code: int) -> int:
        """The first integer whose code, in the training range, is at least that."""
        return self.first(lambda row: codes(self.model, row[None])[0, self.feature] >= code)

    def reaching(self, x: float) -> int:
        """The first integer whose feature, scaled by the training range, is at least that."""
        return self.first(lambda row: normalise(self.model, row[None])[0, self.feature] >= x)


def _encoder(model: Model, sensors: Mapping[int, _Sensor]) -> Encoder:
    encoder = model.encoder
    thresholds = list(encoder.thresholds or ((),) * len(model.features))
    for i, sensor in sensors.items():
        levels = thresholds[i]
        if encoder.kind != "thermometer":
            levels = _levels(model, i)
        thresholds[i] = tuple(sensor.reaching_code(code) for code in levels)
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
    if isinstance(mechanism, PolynomialModel):
        return _polynomial(mechanism, scale, offset)
    if isinstance(mechanism, TableModel) and any(i in sensors for i in mechanism.inputs):
        return _table(model, mechanism, sensors)
    return mechanism


def _polynomial(mechanism: PolynomialModel, scale: Floats, offset: Floats) -> PolynomialModel:
    """Every `x` of a term written as `scale * s + offset`, and multiplied out."""
    total: dict[tuple[int, ...], Floats] = {}
    for powers, coefficient in zip(
        mechanism.exponents.tolist(), mechanism.coefficients, strict=True
    ):
        terms: dict[tuple[int, ...], float] = {(): 1.0}
        for power, a, b in zip(powers, scale, offset, strict=True):
            terms = {
                # The binomial theorem, term by term; powers of a zero offset are left out.
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


def _table(model: Model, mechanism: TableModel, sensors: Mapping[int, _Sensor]) -> CellTable:
    """The same table over sensors' integers: cells that begin at integers, and other corners.

    In the trained model a cell reaches from one line of the grid to the next. The hardware counts
    positions inside a cell in integers, as a share of a power of two; but integers seldom meet a
    line, and a cell seldom has a power of two of them. So each cell gets the values that its own
    straight lines have where the count begins and where it would end.
    """
    corners = corners_of(mechanism.grid)
    starts: list[tuple[int, ...] | None] = []
    for direction, feature in enumerate(mechanism.inputs):
        if feature not in sensors:
            starts.append(None)
            continue
        sensor = sensors[feature]
        found = _cell_starts(sensor, cell_counts(model)[direction])
        starts.append(found)
        corners = _moved(corners, direction, _cell_ends(sensor, found))
    held = tuple(sensors[i].code if i in sensors else code for i, code in enumerate(model.codes))
    return CellTable(mechanism.inputs, corners, tuple(starts), held)


def _cell_starts(sensor: _Sensor, cells: int) -> tuple[int, ...]:
    """The first integer of each cell of the training range; one past the last for an empty cell."""
    low, high = sensor.code.low, sensor.code.high
    lines = (sensor.reaching(cell / cells) for cell in range(1, cells))
    return (low, *(min(max(integer, low), high + 1) for integer in lines))


def _cell_ends(sensor: _Sensor, starts: tuple[int, ...]) -> Floats:
    """Where the count of a cell begins and ends: (2, cells), 0 and 1 at the lines of the grid."""
    cells = len(starts)
    largest = int(np.diff([*starts, sensor.code.high + 1]).max())
    counted = 1 << (largest - 1).bit_length()
    begin = np.array(starts, dtype=np.float64)
    # An end is the lower edge of an integer: half a step before the middle, which `s` stands for.
    s = np.stack([begin, begin + counted]) / 2.0**sensor.form.bits
    return cells * (sensor.scale * s + sensor.offset) - np.arange(cells)


def _moved(corners: Floats, direction: int, ends: Floats) -> Floats:
    """Values on the straight lines between corners along a direction, at the two ends given.

    Corners are (2, ..., 2, cells..., m), the two sides of each direction first.
    """
    directions = (corners.ndim - 1) // 2
    axes = (direction, directions + direction)
    # The sides and the cells of the direction first: what else there is stays as it is.
    low, high = np.moveaxis(corners, axes, (0, 1))
    share = ends.reshape(*ends.shape, *(1,) * (low.ndim - 1))
    return np.moveaxis(low + share * (high - low), (0, 1), axes)


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
    return replace(
        model,
        readout=model.readout * factor,
        linear=model.linear * factor,
        intercept=model.intercept * factor + base,
        mechanism=_scaled(mechanism, factor, model.target_min / unit),
        target_min=np.zeros_like(span),
        target_max=unit,
    )


def _scaled(mechanism: Mechanism, factor: Floats, base: Floats) -> Mechanism:
    """The mechanism with its values times a factor; what comes from outside has its base too."""
    match mechanism:
        case ExternalModel():
            return replace(mechanism, range=mechanism.range * factor + base)
        case PolynomialModel():
            return replace(mechanism, coefficients=mechanism.coefficients * factor)
        case TableModel():
            return replace(mechanism, grid=mechanism.grid * factor)
        case CellTable():
            return replace(mechanism, corners=mechanism.corners * factor)
    return mechanism
