"""The core as a module of LiteX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from keyword import iskeyword

from scm_hw.common.templates import render
from scm_hw.design import Design
from scm_hw.emit.cocotb_bench import idle_ports
from scm_hw.emit.drivers import driver_class
from scm_hw.emit.formats import Field, input_fields, output_fields
from scm_hw.rtl.uart.description import Description

# Attributes that an endpoint has besides its fields.
_TAKEN = {"valid", "ready", "first", "last", "payload", "param", "description", "connect", "eq"}
_TAKEN |= {"layout", "name", "flatten", "iter_flat", "raw_bits", "connect_flat"}


def litex_files(design: Design, description: Description) -> dict[str, str]:
    """The module, file name to text."""
    names = design.names
    text = render(
        __package__,
        "litex.py.txt",
        core=names.core,
        module=names.litex_module.removesuffix(".py"),
        formats=names.formats_module.removesuffix(".py"),
        driver=driver_class(names),
        digest=design.digest,
        inputs=_rows(input_fields(description)),
        outputs=_rows(output_fields(description)),
        ready=design.ports.ready,
        idle=idle_ports(design),
    )
    return {names.litex_module: text}


def _rows(fields: Sequence[Field]) -> list[tuple[str, int, bool]]:
    names = identifiers([field.name for field in fields])
    return [(n, field.bits, field.signed) for n, field in zip(names, fields, strict=True)]


def identifiers(texts: Sequence[str]) -> list[str]:
    """Names of fields as Python and Verilog take them, each of them once."""
    found: list[str] = []
    for text in texts:
        name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "field"
        if name[0].isdigit() or name in _TAKEN or iskeyword(name):
            name = f"f_{name}"
        # Different names may become equal as identifiers.
        number, plain = 2, name
        while name in found:
            name, number = f"{plain}_{number}", number + 1
        found.append(name)
    return found
