"""The core as others see it: its ports, and the emitted Verilog as an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Value
from amaranth.lib.wiring import Component, In, Out

from scm_hw.ir import Range

# How a core waits: all of it at once, not at all with the results in a queue, or not at all.
HANDSHAKES = ("global", "skid", "none")
# How a readout is loaded, where it can be: name, direction, bits, and what it is for.
LOAD_PINS = (
    ("load_start", "in", 1, "an upload begins; one under way is dropped"),
    ("load_valid", "in", 1, "a byte of the upload is on load_data"),
    ("load_data", "in", 8, "a byte of the upload"),
    ("load_revert", "in", 1, "back to the model that was used before"),
    ("load_status", "out", 8, "what became of the upload"),
)
# The name of the core's instance in what is around it.
INSTANCE = "scm_core"


def core_members(in_width: int, out_width: int, *, ready: bool = True) -> dict[str, Any]:
    """The members of every component with the core's interface; a free-running one has no ready."""
    members = {
        "in_valid": In(1),
        "in_ready": Out(1),
        "in_data": In(in_width),
        "out_valid": Out(1),
        "out_ready": In(1),
        "out_data": Out(out_width),
    }
    return {name: m for name, m in members.items() if ready or not name.endswith("_ready")}


def load_members(reload: bool = True) -> dict[str, Any]:
    """Those of a core whose readout can be loaded; none for another."""
    return {n: In(w) if way == "in" else Out(w) for n, way, w, _ in LOAD_PINS if reload}


def fields(word: Value, ranges: list[Range]) -> list[Value]:
    """The values that are packed in a word, the first in its lowest bits."""
    found, start = [], 0
    for reach in ranges:
        field = word[start : start + reach.width]
        found.append(field.as_signed() if reach.signed else field)
        start += reach.width
    return found


@dataclass(frozen=True)
class CorePorts:
    """What a wrapper has to know of the core: the bits of its fields, in order, and its cycles."""

    in_widths: tuple[int, ...]
    out_widths: tuple[int, ...]
    out_signed: tuple[bool, ...]
    latency: int
    handshake: str = "global"
    tdata: int | None = None
    """Bits of an AXI4-Stream of rows as in C; None for packed words."""
    crossing: bool = False
    """Whether AXI4-Stream has a clock of its own."""
    reload: bool = False
    """Whether there are pins to load a readout."""

    @property
    def ready(self) -> bool:
        """Whether there is a ready on both sides."""
        return self.handshake != "none"


class VerilogCore(Component):
    """The core as the emitted Verilog module `name`: what was checked is what is built.

    One without a handshake is always ready, and its results can't wait: `out_ready` is not used.
    With `reload` it has the pins to load a readout.
    """

    def __init__(
        self,
        in_width: int,
        out_width: int,
        name: str = "scm_core",
        handshake: str = "global",
        *,
        reload: bool = False,
    ) -> None:
        self.in_width = in_width
        self.out_width = out_width
        self.name = name
        self.handshake = handshake
        self.reload = reload
        super().__init__(core_members(in_width, out_width) | load_members(reload))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pins: dict[str, Value] = {
            "i_in_valid": self.in_valid,
            "i_in_data": self.in_data,
            "o_out_valid": self.out_valid,
            "o_out_data": self.out_data,
        }
        if self.handshake == "none":
            m.d.comb += self.in_ready.eq(1)
        else:
            pins |= {"o_in_ready": self.in_ready, "i_out_ready": self.out_ready}
        if self.reload:
            # Amaranth tells the pins of an instance apart by `i_` and `o_`.
            pins |= {f"{way[0]}_{pin}": getattr(self, pin) for pin, way, _, _ in LOAD_PINS}
        m.submodules[INSTANCE] = Instance(
            self.name,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(allow_reset_less=True),
            **pins,
        )
        return m
