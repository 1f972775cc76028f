"""What a description says, read and checked: ValueError or TypeError where it is wrong."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from scm_hw.errors import OptionError
from scm_hw.load.capacity import Capacity, Room
from scm_hw.load.sections import MAX_MODELS
from scm_hw.rtl.uart.fields import Adapt, Feature, Reload, Word
from scm_model import Column
from scm_model.column_entries import column_from_meta

MAX_BITS = 64
# A feature's integers are exact as floating point.
MAX_FEATURE_BITS = 32
# The greatest exponent of a power of two, within what floating point holds.
MAX_FRACTION = 1000

_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}


def row_of(kind: Any, row: object) -> Any:
    """A field's dataclass from its row of values, each of its type."""
    values = checked(list, row)
    types = [_TYPES[str(field.type)] for field in fields(kind)]
    port = kind(*(checked(t, value) for t, value in zip(types, values, strict=True)))
    most = MAX_FEATURE_BITS if kind is Feature else MAX_BITS
    if not 1 <= port.bits <= most:
        raise ValueError(f"{port.bits} bits")
    # Only a feature may have been the same in all of training.
    span = port.high - port.low
    if not (math.isfinite(span) and (span > 0 or (kind is Feature and span == 0))):
        raise ValueError(f"a range from {port.low} to {port.high}")
    if kind is not Feature and abs(port.fraction) > MAX_FRACTION:
        raise ValueError(f"{port.fraction} fraction bits")
    if kind is Word and not -(1 << 62) <= port.least <= port.most <= 1 << 62:
        raise ValueError(f"words from {port.least} to {port.most}")
    return port


def reload_of(record: object) -> Reload | None:
    if record is None:
        return None
    found = checked(dict, record)
    first, rest = (checked(int, bits) for bits in checked(list, found["widths"]))
    if not (1 <= first <= MAX_BITS and 1 <= rest <= MAX_BITS):
        raise ValueError(f"tables of {first} and {rest} bits")
    digest = checked(str, found["digest"])
    bytes.fromhex(digest)
    return Reload(digest, (first, rest))


def processor_of(record: object) -> Capacity | None:
    if record is None:
        return None
    facts = dict(checked(dict, record))
    room = {k: checked(int, v) for k, v in checked(dict, facts.pop("room")).items()}
    classes = checked(bool, facts.pop("classes"))
    numbers = {k: checked(int, v) for k, v in facts.items()}
    if any(not 1 <= number <= MAX_BITS for number in numbers.values()):
        raise ValueError(f"a processor of {numbers}")
    try:
        return Capacity(Room(**room), classes=classes, **numbers)
    except OptionError as error:
        raise ValueError(str(error)) from None


def models_of(count: object) -> int:
    models = int(checked(int, count))
    if not 1 <= models <= MAX_MODELS:
        raise ValueError(f"{models} models")
    return models


def idle_of(record: object) -> tuple[int, int]:
    inputs, outputs = (checked(int, count) for count in checked(list, record))
    if inputs < 0 or outputs < 0:
        raise ValueError(f"{inputs} and {outputs} ports without use")
    return inputs, outputs


def adapt_of(record: object) -> Adapt | None:
    if record is None:
        return None
    found = checked(dict, record)
    leak = found["leak"]
    return Adapt(
        checked(int, found["step"]),
        None if leak is None else checked(int, leak),
        checked(int, found["most_age"]),
    )


def columns_of(record: dict[str, Any]) -> tuple[Column, ...]:
    told = checked(list, record.get("columns", []))
    names = [str(row[0]) for row in record["features"]][: len(told)]
    # ModelFileError is a ValueError.
    return tuple(column_from_meta(*pair) for pair in zip(names, told, strict=bool(told)))


def labels_of(classes: object) -> tuple[Any, ...]:
    labels = checked(list, classes)
    if not labels or any(not isinstance(label, str | int | float) for label in labels):
        raise TypeError(f"{labels!r:.40} are no classes")
    return tuple(labels)


def checked(kind: type, value: object) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    # Not `isinstance`: to Python, true is an int.
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
