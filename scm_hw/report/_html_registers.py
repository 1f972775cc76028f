"""The registers of a core behind AXI4-Lite or Wishbone on the page."""

from __future__ import annotations

from collections.abc import Iterator

from scm_hw.design import Design
from scm_hw.emit.interface import MAPPED, PROTOCOLS, register_words
from scm_hw.report._html_elements import Section, el, section, shortened, table
from scm_hw.rtl.axi import registers


def registers_sections(design: Design) -> Iterator[Section]:
    """The memory map with its fields, and the bits of control and status; else nothing."""
    interface = design.options.interface
    if interface not in MAPPED:
        return
    words = list(register_words(design.ports))
    names = {f"INPUT_{i}": port for i, port in enumerate(design.model.signals)}
    shown, remark = shortened(words)
    rows = [
        (w["name"], w["address"], w["access"], names.get(w["name"], w["meaning"])) for w in shown
    ]
    bits = [
        (f"{register}.{bit.name}", f"{bit.mask:#x}", bit.meaning)
        for register, listed in (
            ("CONTROL", registers.CONTROL_BITS),
            ("STATUS", registers.STATUS_BITS),
        )
        for bit in listed
    ]
    yield section(
        "registers",
        f"Registers, {PROTOCOLS[interface]}",
        el(
            "p",
            "Words of 32 bits at byte addresses; a wider field has its high word 4 bytes on. "
            f"{design.names.registers_header} has all of it for C.",
        ),
        table(
            "Registers", ("Name", "Address", "Access", "What it is"), rows, text_columns=(1, 2, 3)
        ),
        remark,
        table("Bits", ("Bit", "Mask", "What it is"), bits, text_columns=(1, 2)),
    )
