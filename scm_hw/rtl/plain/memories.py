"""Words of memories that nobody reads before they are written."""

from __future__ import annotations

from scm_hw.rtl.plain.rtlil import Cell, RtlModule

# Attribute of a memory: how many of its first words have contents from the start.
DEFINED_WORDS = "scm_defined_words"


def undefined_words(module: RtlModule) -> None:
    """Leaves out what is in the other words of such a memory.

    In Verilog each word is a line, and synthesis takes long to read tens of thousands of them.
    """
    for cell in module.cells:
        if cell.type == "$mem_v2":
            found = [line for line in cell.attributes if DEFINED_WORDS in line]
            if found:
                cell.attributes = [line for line in cell.attributes if line not in found]
                _keep(cell, int(found[0].rsplit(" ", 1)[-1]))


def _keep(cell: Cell, words: int) -> None:
    width, size = cell.number("\\WIDTH"), cell.number("\\SIZE")
    bits = cell.parameters["\\INIT"].partition("'")[2]
    # The highest first; leading zeros may be missing.
    whole = bits.rjust(width * size, "0")
    kept = width * words
    cell.parameters["\\INIT"] = f"{width * size}'{'x' * (width * size - kept)}{whole[-kept:]}"
