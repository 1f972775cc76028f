"""The register map of the AXI4-Lite interface for software: a C header."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.emit.formats import Field, c_string, input_fields, output_fields
from scm_hw.emit.interface import MAPPED, PROTOCOLS
from scm_hw.rtl.axi import registers
from scm_hw.rtl.uart.description import Description

_HEADER = "scm_regs.h"


def register_files(
    interface: str, description: Description, digest: str, names: Names = DEFAULT
) -> dict[str, str]:
    """The header, file name to text; nothing where there are no registers."""
    if interface not in MAPPED:
        return {}
    listed, bits = registers.REGISTERS, [("CONTROL", registers.CONTROL_BITS)]
    bits.append(("STATUS", registers.STATUS_BITS))
    if description.loads:
        listed += registers.RELOAD_REGISTERS
        bits.append(("LOAD_CONTROL", registers.LOAD_CONTROL_BITS))
        bits.append(("LOAD_STATUS", registers.LOAD_STATUS_BITS))
    text = render(
        __package__,
        _HEADER,
        names=names,
        wrapper=names.wrapper(interface),
        bus=PROTOCOLS[interface],
        digest=digest,
        at=registers,
        registers=listed,
        bits=bits,
        inputs=list(_ports(input_fields(description), registers.INPUT_BASE)),
        outputs=list(_ports(output_fields(description), registers.OUTPUT_BASE)),
        hex=lambda number: f"{number:#x}u",
        comment=_comment,
    )
    return {names.registers_header: text}


def _ports(fields: Iterable[Field], base: int) -> Iterable[dict[str, Any]]:
    for i, field in enumerate(fields):
        yield vars(field) | {"address": base + registers.FIELD_BYTES * i}


def _comment(name: str) -> str:
    """As a C string that can't end the comment it stands in."""
    return c_string(name).replace("/", "\\057")
