# amaranth: UnusedElaboratable=no
"""The AXI wrappers around right and wrong cores, under cocotb with cocotbext-axi."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.lib.wiring import Component

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.common.names import DEFAULT
from scm_hw.emit import interface_files
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.rtl.axi import AxiLiteCore
from scm_hw.rtl.ports import CorePorts, VerilogCore
from scm_hw.verify import lint, run_interface
from tests.hw.commands import contents, small_model
from tests.hw.standin import FoldedStandIn, StandIn, standin_vectors

DIGEST = "0123456789abcdef" * 4
# The stand-in's two halves, and its sum.
PORTS = CorePorts((12, 12), (14,), (True,), 3)


def write_wrapped(
    folder: Path, interface: str, core: Component, ports: CorePorts = PORTS
) -> list[Path]:
    files = {"scm_core.v": to_verilog(core, "scm_core")}
    files |= interface_files(interface, ports, DIGEST, boards.get("arty-a7"))
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / "scm_core.v", folder / f"{DEFAULT.wrapper(interface)}.v"]


@pytest.mark.parametrize("interface", ["axis", "axil", "wishbone"])
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_wrapped_cores_give_what_the_core_gives(
    interface: str, simulator: str, tmp_path: Path
) -> None:
    sources = write_wrapped(tmp_path, interface, StandIn())
    lint(sources, DEFAULT.wrapper(interface))
    vectors = standin_vectors(60)
    right = run_interface(interface, sources, vectors, PORTS, DIGEST, simulator, workdir=tmp_path)
    assert right == (4 * 60 if interface == "axis" else 2 * 24)


@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_a_folded_core_with_wide_fields(interface: str, tmp_path: Path) -> None:
    ports = CorePorts((40, 40), (42,), (True,), FoldedStandIn.latency)
    sources = write_wrapped(tmp_path, interface, FoldedStandIn(80), ports)
    vectors = standin_vectors(40, 80)
    run_interface(interface, sources, vectors, ports, DIGEST, "icarus", workdir=tmp_path)


@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_a_wrong_core_shows_through_its_wrapper(interface: str, tmp_path: Path) -> None:
    sources = write_wrapped(tmp_path, interface, StandIn(fault="value"))
    wave = tmp_path / f"{interface}_icarus_failed" / f"scm_{interface}.fst"
    low, high = (standin_vectors(40).inputs[5] >> place & 0xFFF for place in (0, 12))
    detail = {
        "axis": rf"m_axis_tdata of vector 5 is {high:#x} for {3 * low + high:#x}",
        "axil": rf"result of .* is \[{high}\], not \[{3 * low + high}\]",
    }
    complaint = (
        rf"scm_{interface} in icarus differs from the core \(full_speed: .*{detail[interface]}"
    )
    with pytest.raises(MismatchError, match=rf"{complaint}\); see the waveform {wave}$"):
        run_interface(
            interface, sources, standin_vectors(40), PORTS, DIGEST, "icarus", workdir=tmp_path
        )
    assert wave.stat().st_size > 300


# What is changed in the wrapper's Verilog, and what the bus models make of it.
FAULTS = [
    ("axis", "assign s_axis_tready = ", "assign s_axis_tready = 1'h1 | ", r"packet \d+ of|finish"),
    ("axis", "full ? held_last", "full ? s_axis_tlast", r"packet \d+ of"),
    ("axil", "32'd827147091", "32'd827147090", "ID is 827147090, not 827147091"),
    ("axil", "assign s_axi_rresp = 2'h0", "assign s_axi_rresp = 2'h2", "response to a read of"),
    ("axil", "assign s_axi_bresp = 2'h0", "assign s_axi_bresp = 2'h2", "response to a write of"),
    ("wishbone", ".s_axi_wstrb(sel_i)", ".s_axi_wstrb(4'hf)", " is .*, not "),
    ("wishbone", "else if (stale_t1) stale <= 1'h1", "else stale <= 1'h0", " is .*, not "),
    ("axil", "assign irq = ", "assign irq = 1'h1 | ", "interrupt while disabled is 1, not 0"),
]


@pytest.mark.parametrize(("interface", "old", "new", "complaint"), FAULTS)
def test_a_wrong_wrapper_is_found(
    interface: str, old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    sources = write_wrapped(tmp_path, interface, StandIn())
    text = sources[1].read_text()
    assert old in text
    sources[1].write_text(text.replace(old, new))
    with pytest.raises((MismatchError, ToolError), match=complaint):
        run_interface(
            interface, sources, standin_vectors(40), PORTS, DIGEST, "icarus", workdir=tmp_path
        )


def test_a_wrapper_that_does_not_compile_is_one_line(tmp_path: Path) -> None:
    sources = write_wrapped(tmp_path, "axis", StandIn())
    sources[1].write_text("module scm_axis(\n")
    with pytest.raises(ToolError, match=r"^can't simulate scm_axis in icarus: it ended") as e:
        run_interface(
            "axis", sources, standin_vectors(4), PORTS, DIGEST, "icarus", workdir=tmp_path
        )
    assert "\n" not in str(e.value)


def test_a_digest_of_another_design_is_found(tmp_path: Path) -> None:
    sources = write_wrapped(tmp_path, "axil", StandIn())
    with pytest.raises(MismatchError, match="digest is 0123456789abcdef"):
        run_interface(
            "axil", sources, standin_vectors(40), PORTS, "0" * 64, "icarus", workdir=tmp_path
        )


def test_outputs_too_wide_for_axi_lite_are_refused() -> None:
    with pytest.raises(OptionError, match=r"outputs must be .* not 1 of up to 65; choose --inter"):
        AxiLiteCore(
            VerilogCore(8, 65), in_widths=[8], out_widths=[65], out_signed=[True], digest=DIGEST
        )


@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_build_proves_the_wrapper_it_hands_out(
    interface: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(tmp_path / "model.npz", outputs=2)
    arguments = ["build", str(model), "--out", str(tmp_path / "out"), "-q", "--sim", "icarus"]
    arguments += ["--no-synth", "--interface", interface]
    assert main(arguments) == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"model_{interface}.v", "package_ip.tcl"} <= written
    assert ("model_regs.h" in written) == (interface == "axil")
    before = contents(tmp_path / "out")
    monkeypatch.setattr("scm_hw.verify.check.run_interface", _fails)
    assert main(arguments) == 1
    assert contents(tmp_path / "out") == before


def _fails(*_: object, **__: object) -> int:
    raise MismatchError("planted")
