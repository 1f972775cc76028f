"""The formats of a core's fields, for programs that feed it: a C header and a Python dictionary."""

from __future__ import annotations

import pprint
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scm_hw.common.templates import render
from scm_hw.rtl.uart.description import Description, Feature, Word

HEADER = "scm_formats.h"
MODULE = "scm_formats.py"


@dataclass(frozen=True)
class Field:
    """A field of a packed word: where it stands, and what its integer means.

    An input of `kind` code or adc is `floor((x - low) / (high - low) * 2**fraction)`, kept to its
    bits, over the training range or that of the sensor; one of kind word, and an output, is fixed
    point: `low + n / 2**fraction * (high - low)`.
    """

    name: str
    kind: str
    offset: int
    bits: int
    signed: bool
    fraction: int
    low: float
    high: float


def formats_files(description: Description, digest: str, latency: int) -> dict[str, str]:
    """Both files, name to text."""
    facts = {
        "digest": digest,
        "latency": latency,
        "in_width": sum(description.in_widths),
        "out_width": sum(description.out_widths),
        "classes": None if description.classes is None else list(description.classes),
        "inputs": [vars(field) for field in input_fields(description)],
        "outputs": [vars(field) for field in output_fields(description)],
    }
    dictionary = pprint.pformat(facts, width=100, sort_dicts=False)
    title = '"""The formats of the fields of in_data and out_data."""'
    return {
        HEADER: _header(facts, input_fields(description), output_fields(description)),
        MODULE: f"{title}\n\nFORMATS = {dictionary}\n",
    }


def input_fields(description: Description) -> list[Field]:
    ports: list[Feature | Word] = [*description.features, *description.words]
    found, offset = [], 0
    for port in ports:
        if isinstance(port, Feature):
            meaning = ("adc" if port.sensor else "code", False, port.bits)
        else:
            meaning = ("word", port.least < 0, port.fraction)
        kind, signed, fraction = meaning
        found.append(
            Field(port.name, kind, offset, port.bits, signed, fraction, port.low, port.high)
        )
        offset += port.bits
    return found


def output_fields(description: Description) -> list[Field]:
    kind = "word" if description.classes is None else "class"
    found, offset = [], 0
    for port in description.outputs:
        found.append(
            Field(
                port.name, kind, offset, port.bits, port.signed, port.fraction, port.low, port.high
            )
        )
        offset += port.bits
    return found


def _header(facts: dict[str, Any], inputs: Sequence[Field], outputs: Sequence[Field]) -> str:
    return render(
        __package__,
        HEADER,
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
    """A C string of its UTF-8 bytes, whatever they are."""
    plain = [
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    ]
    return f'"{"".join(plain)}"'
