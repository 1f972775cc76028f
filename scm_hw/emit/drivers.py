"""Drivers of the core behind AXI4-Lite: C for bare metal and for Linux, Python for PYNQ."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.emit.formats import Field, input_fields, output_fields
from scm_hw.emit.interface import MAPPED, PROTOCOLS, ip_version
from scm_hw.rtl.axi import registers
from scm_hw.rtl.uart.description import Description

# Bytes of a constant on a line.
_PER_LINE = 8


def driver_files(
    interface: str, description: Description, digest: str, names: Names = DEFAULT
) -> dict[str, str]:
    """The drivers, file name to text; nothing where there are no registers."""
    if interface not in MAPPED:
        return {}
    words: dict[str, Any] = {
        "names": names,
        "wrapper": names.wrapper(interface),
        "bus": PROTOCOLS[interface],
        "digest": digest,
        "digest_bytes": _rows([f"{byte:#04x}" for byte in bytes.fromhex(digest)]),
        "version": version("scm-hw"),
        "ip_version": ip_version(digest),
        "inputs": input_fields(description),
        "outputs": output_fields(description),
        "bits": _bits,
        "at": registers,
        "hex": hex,
        "module": names.pynq_module.removesuffix(".py"),
        "formats": names.formats_module.removesuffix(".py"),
        "driver": driver_class(names),
    }
    templates = {
        "driver.h": names.driver_header,
        "driver.c": names.driver_source,
        "uio.h": names.uio_header,
        "uio.c": names.uio_source,
    }
    if interface == "axil":
        # An overlay is made of Vivado's IP, and its catalogue has no Wishbone.
        templates["pynq.py.txt"] = names.pynq_module
    return {name: render(__package__, template, **words) for template, name in templates.items()}


def driver_class(names: Names) -> str:
    """The class for PYNQ: its name begins with a capital letter."""
    return "".join(part.title() for part in names.prefix.split("_"))


def _bits(fields: Sequence[Field]) -> list[str]:
    return _rows([str(field.bits) for field in fields])


def _rows(words: list[str]) -> list[str]:
    starts = range(0, len(words), _PER_LINE)
    return [", ".join(words[start : start + _PER_LINE]) for start in starts]
