"""The formats of a core's fields, for programs that feed it: a C header and a Python dictionary."""

from __future__ import annotations

import pprint
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.rtl.axi import RowFormat
from scm_hw.rtl.uart.description import Description
from scm_hw.rtl.uart.fields import Feature
from scm_model import Column
from scm_model.raw_columns import MISSING_TEXTS

_HEADER, _MODULE = "scm_formats.h", "formats.py.txt"


@dataclass(frozen=True)
class Field:
    """A field of a packed word: where it stands, and what its integer means.

    An input of `kind` code or adc is `floor((x - low) / (high - low) * 2**fraction)`, kept to its
    bits, over the training range or that of the sensor; one of kind word, and an output, is fixed
    point: `low + n / 2**fraction * (high - low)`. The integers of an
    input are kept to `least` and `most`.

    One of kind category is the place of its label in `labels` (None is that of a missing value),
    or `other` for any other label. `missing` is the code of a number that is missing.
    """

    name: str
    kind: str
    offset: int
    bits: int
    signed: bool
    fraction: int
    low: float
    high: float
    least: int
    most: int
    labels: tuple[str | None, ...] | None = None
    other: int | None = None
    missing: int | None = None

    def facts(self) -> dict[str, Any]:
        """By name; what only some fields have is left out of the others."""
        always = {one.name for one in fields(self)} - {"labels", "other", "missing"}
        return {k: v for k, v in vars(self).items() if k in always or v is not None}


def formats_files(
    description: Description,
    digest: str,
    latency: int,
    names: Names = DEFAULT,
    rows: tuple[RowFormat, RowFormat] | None = None,
) -> dict[str, str]:
    """Both files, name to text; with arrays of rows where the core is fed so."""
    facts = {
        "digest": digest,
        "latency": latency,
        "in_width": sum(description.in_widths),
        "out_width": sum(description.out_widths),
        "classes": None if description.classes is None else list(description.classes),
        "inputs": [field.facts() for field in input_fields(description)],
        "outputs": [field.facts() for field in output_fields(description)],
    }
    dictionary = pprint.pformat(facts, width=100, sort_dicts=False)
    return {
        names.formats_header: _header(
            names, facts, input_fields(description), output_fields(description), rows
        ),
        names.formats_module: render(
            __package__, _MODULE, formats=dictionary, missing=repr(sorted(MISSING_TEXTS))
        ),
    }


def input_fields(description: Description) -> list[Field]:
    found, offset = [], 0
    # Inputs that a model has no use for are in no column of it.
    columns = description.columns or ()
    columns += (Column(),) * (len(description.features) - len(columns))
    for feature, column in zip(description.features, columns, strict=True):
        found.append(_input_field(feature, column, offset))
        offset += feature.bits
    for word in description.words:
        signed, scale = word.least < 0, (word.fraction, word.low, word.high)
        reach = (word.least, word.most)
        found.append(Field(word.name, "word", offset, word.bits, signed, *scale, *reach))
        offset += word.bits
    return found


def _input_field(feature: Feature, column: Column, offset: int) -> Field:
    kind, bits, most = "adc" if feature.sensor else "code", feature.bits, 2**feature.bits - 1
    field = Field(feature.name, kind, offset, bits, False, bits, feature.low, feature.high, 0, most)
    if column.is_category:
        return replace(
            field, kind="category", most=column.count - 1, labels=column.labels, other=column.other
        )
    # The last code is no number's.
    return field if column.missing is None else replace(field, most=most - 1, missing=most)


def output_fields(description: Description) -> list[Field]:
    kind = "word" if description.classes is None else "class"
    found, offset = [], 0
    flags = len(description.outputs) - description.flags
    for place, port in enumerate(description.outputs):
        if place >= flags:
            kind = "flag" if port.bits == 1 else "word"
        scale = (port.fraction, port.low, port.high)
        half = 1 << port.bits - 1
        reach = (-half, half - 1) if port.signed else (0, 2 * half - 1)
        found.append(Field(port.name, kind, offset, port.bits, port.signed, *scale, *reach))
        offset += port.bits
    return found


def _header(
    names: Names,
    facts: dict[str, Any],
    inputs: Sequence[Field],
    outputs: Sequence[Field],
    rows: tuple[RowFormat, RowFormat] | None,
) -> str:
    return render(
        __package__,
        _HEADER,
        names=names,
        row_formats=rows,
        rows_signed=any(field.signed for field in outputs),
        digest=facts["digest"],
        latency=facts["latency"],
        in_width=facts["in_width"],
        out_width=facts["out_width"],
        count_in=len(inputs),
        count_out=len(outputs),
        inputs=inputs,
        outputs=outputs,
        string=c_string,
    )


def c_string(text: str) -> str:
    """A C string of any text, as UTF-8 bytes."""
    # A question mark may begin a trigraph. An octal escape ends after three digits, where one in
    # hexadecimal would take in what follows.
    plain = [
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    ]
    return f'"{"".join(plain)}"'
