"""The core as others see it: its ports, and the emitted Verilog as an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Value
from amaranth.lib.wiring import Component, In, Out

from scm_hw.ir import Range

# Of the core in whatever is around it.
INSTANCE = "scm_core"


def core_members(in_width: int, out_width: int) -> dict[str, Any]:
    """The members of every component with the core's interface."""
    return {
        "in_valid": In(1),
        "in_ready": Out(1),
        "in_data": In(in_width),
        "out_valid": Out(1),
        "out_ready": In(1),
        "out_data": Out(out_width),
    }


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


class VerilogCore(Component):
    """The core as the emitted Verilog module `name`: what was checked is what is built."""

    def __init__(self, in_width: int, out_width: int, name: str = "scm_core") -> None:
        self.in_width = in_width
        self.out_width = out_width
        self.name = name
        super().__init__(core_members(in_width, out_width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules[INSTANCE] = Instance(
            self.name,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(allow_reset_less=True),
            i_in_valid=self.in_valid,
            o_in_ready=self.in_ready,
            i_in_data=self.in_data,
            o_out_valid=self.out_valid,
            i_out_ready=self.out_ready,
            o_out_data=self.out_data,
        )
        return m
