"""Boards with a Zynq: the block design in a stub of Vivado, the notebook on a stand-in for PYNQ."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from amaranth_boards.arty_z7 import ArtyZ720Platform

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.design import Options
from scm_hw.emit import default_bus
from scm_hw.errors import OptionError
from scm_hw.target.devices import parse_part
from scm_model import write_model
from tests.hw.commands import run, small_model
from tests.hw.test_emit_vivado import run_tcl
from tests.hw.test_records import KINDS, machine

ZYNQ = ("pynq-z2", "arty-z7-20", "zedboard")
STUB = Path(__file__).with_name("block_design.tcl").read_text()
INSTALLED = (
    "tul.com.tw:pynq-z2:part0:1.0 digilentinc.com:arty-z7-20:part0:1.1 avnet.com:zedboard:part0:1.4"
)


def built(
    folder: Path,
    interface: str = "axis",
    board: str = "pynq-z2",
    model: Path | None = None,
    **more: Any,
) -> Build:
    model = model or small_model(folder / "pump.npz", outputs=2)
    how = BuildOptions(out=folder / "pump", simulators=(), synthesis=False)
    options = Options(interface=interface, **more)
    return build(model, boards.get(board), options, how)


@pytest.fixture(scope="module")
def dma(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return built(tmp_path_factory.mktemp("dma"), tdata=32)


@pytest.fixture
def copied(dma: Build, tmp_path: Path) -> Build:
    """The same build in a folder of its own."""
    shutil.copytree(dma.folder, tmp_path / "pump")
    return replace(dma, folder=tmp_path / "pump")


def before(done: Build, progress: str = "100%", installed: str = INSTALLED) -> str:
    """What the stub has to know of the IP: its ports, as the Verilog has them."""
    name = done.design.names.wrapper(done.design.options.interface)
    text = (done.folder / f"{name}.v").read_text()
    body = re.search(rf"^module {name}\(.*?^endmodule", text, re.M | re.S)
    assert body is not None
    ports = re.findall(r"^  (input|output) (?:\[.*\] )?(\w+);", body[0], re.M)
    buses = sorted(
        {port[: port.index("axi") + 3 + (port[5:6] == "s")] for _, port in ports if "axi" in port}
    )
    single = {
        way: [p for w, p in ports if w == way and "_axi" not in p] for way in ("input", "output")
    }
    version = re.search(r"property version (\S+) ", (done.folder / "package_ip.tcl").read_text())
    assert version is not None
    words = {
        "ip_inputs": " ".join(single["input"]),
        "ip_outputs": " ".join(single["output"]),
        "ip_masters": " ".join(bus for bus in buses if bus.startswith("m_")),
        "ip_slaves": " ".join(bus for bus in buses if bus.startswith("s_")),
        "vlnv": f"scm-hw:user:{name}:{version[1]}",
        "installed": installed,
        "progress": progress,
    }
    return "".join(f"set {key} {{{value}}}\n" for key, value in words.items()) + STUB


@pytest.mark.parametrize("board", ZYNQ)
def test_boards_have_their_parts(board: str) -> None:
    found = boards.get(board)
    assert found.part == ("xc7z020clg484-1" if board == "zedboard" else "xc7z020clg400-1")
    assert found.has_processors and found.platform is None and found.clock_mhz == 100.0
    assert (found.at_clock(125.0).clock_mhz, found.at_clock(125.0).pll) == (125.0, None)


def test_a_part_is_that_of_the_board_file() -> None:
    file = ArtyZ720Platform
    named = parse_part(f"{file.device}{file.package}-{file.speed}").name
    assert boards.get("arty-z7-20").part == named


@pytest.mark.parametrize(
    ("board", "interface", "more"),
    [
        ("pynq-z2", "axis", {"tdata": 32}),
        ("arty-z7-20", "axil", {}),
        ("zedboard", "axis", {"tdata": 128, "crossing": True, "clock_mhz": 125.0}),
        ("pynq-z2", "axil", {"reload": "readout"}),
    ],
)
def test_the_block_design(board: str, interface: str, more: dict[str, Any], tmp_path: Path) -> None:
    done = built(tmp_path, interface, board, **more)
    called = run_tcl(done.folder, "build.tcl", before(done)).splitlines()[0].split()
    steps = ["ipx::save_core", "validate_bd_design", "launch_runs", "open_run", "write_hw_platform"]
    places = [called.index(step) for step in steps]
    assert places == sorted(places) and called[-1] == "quit"
    assert {f"pump.{kind}" for kind in ("bit", "hwh", "xsa")} <= {
        p.name for p in done.folder.iterdir()
    }
    assert f"-part {boards.get(board).part}\n" in (done.folder / "build.tcl").read_text()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (r"connect_bd_net .*pump_axis_0/aclk\]\n", "", "pump_axis_0/aclk is left open"),
        (r"dma/axi_resetn", "dma/aresetn", "no pin dma/aresetn"),
        (r"connect_bd_intf_net .*S_AXI_HP0\]\n", "", "is left open"),
        (
            r"FCLK_CLK0\] \[get_bd_pins memory",
            "FCLK_CLK1] [get_bd_pins memory",
            "no pin ps7/FCLK_CLK1",
        ),
        (r"axi_dma:7.1", "axi_dna:7.1", "no IP xilinx.com:ip:axi_dna:7.1"),
        (r"mm2s_data_width \{32\}", "mm2s_data_width {16}", "wider than memory"),
        (
            r"M_AXIS_MM2S\] \[get_bd_intf_pins pump_axis_0/s_axis",
            "M_AXIS_MM2S] [get_bd_intf_pins pump_axis_0/m_axis",
            "can't drive",
        ),
        (r"pump_axis:1", "pump_axis:2", "no IP scm-hw"),
    ],
)
def test_a_wrong_block_design_is_found(old: str, new: str, complaint: str, copied: Build) -> None:
    script = copied.folder / "build.tcl"
    changed, count = re.subn(old, new, script.read_text())
    assert count
    script.write_text(changed)
    with pytest.raises(Exception, match=complaint):
        run_tcl(copied.folder, "build.tcl", before(copied))


@pytest.mark.parametrize(
    ("facts", "last"),
    [
        ({"installed": "digilentinc.com:arty-z7-20:part0:1.1"}, "ipx::save_core"),
        ({"progress": "80%"}, "launch_runs"),
    ],
)
def test_a_block_design_that_fails_leaves_no_bitstream(
    facts: dict[str, str], last: str, copied: Build
) -> None:
    done = copied
    with pytest.raises(Exception, match="exit code 1 after:.* " + last):
        run_tcl(done.folder, "build.tcl", before(done, **facts))
    late = "set planted(max) -0.1\n"
    with pytest.raises(Exception, match=r"exit code 1 after:.*report_timing\b"):
        run_tcl(done.folder, "build.tcl", before(done) + late)
    assert not list(done.folder.glob("*.bit"))


# The package of that name on a board: memory, and a DMA engine in front of the model in Python.
PYNQ = '''
import numpy as np
import {name}_formats as formats, {name}_model as model

WIDTHS = [f["bits"] for f in formats.FORMATS["inputs"]]
FAULT = {fault}


class Buffer(np.ndarray):
    def freebuffer(self):
        self.fill(0)


def allocate(shape, kind):
    return np.full(shape, 77, kind).view(Buffer)


class Channel:
    waiting = None

    def transfer(self, buffer):
        self.waiting = buffer

    def wait(self):
        assert self.waiting is not None


class Machine:
    def __init__(self):
        self.memory = (model.Memory(),) if hasattr(model, "Memory") else ()

    def predict_integers(self, row):
        found = model.run(row, *self.memory)
        return [found[0] ^ FAULT, *found[1:]]


class Sender(Channel):
    """It answers packet by packet, into what the other channel holds by then."""

    def __init__(self, receiver):
        self.receiver, self.machine = receiver, Machine()

    def transfer(self, buffer):
        super().transfer(buffer)
        for sent, taken in zip(buffer, self.receiver.waiting):
            row = [int(v) for v in sent]
            assert not any(v >> w for v, w in zip(row, WIDTHS)) and not any(row[len(WIDTHS):])
            signed = [v - (1 << w) if f["signed"] and v >> w - 1 else v
                      for v, w, f in zip(row, WIDTHS, formats.FORMATS["inputs"])]
            found = self.machine.predict_integers(signed)
            taken[: len(found)] = found


class Engine:
    def __init__(self):
        self.recvchannel = Channel()
        self.sendchannel = Sender(self.recvchannel)


class DefaultIP:
    pass


class Overlay:
    def __init__(self, path):
        assert path == "{name}.bit"
        self.dma = Engine()
        self.{name}_axil_0 = Machine()
'''


def notebook(done: Build, fault: int = 0) -> subprocess.CompletedProcess[str]:
    """Its cells in one process, in the build's folder, as a board has them."""
    name = done.design.names.prefix
    (done.folder / "pynq.py").write_text(PYNQ.format(name=name, fault=fault))
    cells = json.loads((done.folder / f"{name}.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return subprocess.run(
        [sys.executable, "-c", code], cwd=done.folder, capture_output=True, text=True, timeout=120
    )


KIND = {
    "regression": {"outputs": 2},
    "classes": {"task": "classification", "outputs": 3},
    "mechanism": {"outputs": 2, "mechanism": "external"},
    "no rows": {"rows": 0},
}


@pytest.mark.parametrize(
    ("kind", "interface"),
    [(kind, "axis") for kind in KIND] + [("regression", "axil"), ("classes", "axil")],
)
def test_the_notebook_compares(kind: str, interface: str, tmp_path: Path) -> None:
    model = small_model(tmp_path / "pump.npz", **KIND[kind])
    done = built(tmp_path, interface, model=model, **({"tdata": 32} if interface == "axis" else {}))
    ran = notebook(done)
    assert ran.returncode == 0, ran.stderr
    assert ", 0 mismatches" in ran.stdout
    report = done.report
    if kind == "no rows":
        assert "RMSE" not in ran.stdout
    elif kind == "classes":
        assert f"accuracy PC: {report['accuracy_pc']:.4f}" in ran.stdout
        assert f"accuracy HW: {report['accuracy_hw']:.4f}" in ran.stdout
    else:
        for name, units in report["rmse_units"].items():
            assert f"{name}: RMSE PC {units['pc']:.6g}, HW {units['hw']:.6g}" in ran.stdout


def test_the_notebook_sees_a_wrong_board(copied: Build) -> None:
    ran = notebook(copied, fault=1)
    assert ran.returncode and "AssertionError" in ran.stderr


def test_the_notebook_of_a_machine_with_memory(tmp_path: Path) -> None:
    write_model(machine(**KINDS["open"]), tmp_path / "pump.npz")
    done = built(tmp_path, model=tmp_path / "pump.npz", tdata=32)
    ran = notebook(done)
    assert ran.returncode == 0, ran.stderr
    for name, units in done.report["rmse_units"].items():
        assert f"{name}: RMSE PC {units['pc']:.6g}, HW {units['hw']:.6g}" in ran.stdout


def test_the_notebook_of_a_processor(tmp_path: Path) -> None:
    """Inputs that its model has no use for are in the rows too."""
    model = small_model(tmp_path / "pump.npz")
    done = built(tmp_path, "axil", model=model, reload="all")
    assert len(done.design.input_ranges) > len(done.design.model.signals)
    ran = notebook(done)
    assert ran.returncode == 0 and ", 0 mismatches" in ran.stdout, ran.stderr
    for name, units in done.report["rmse_units"].items():
        assert f"{name}: RMSE PC {units['pc']:.6g}, HW {units['hw']:.6g}" in ran.stdout


def test_the_notebook_is_one(dma: Build) -> None:
    nbformat.validate(nbformat.read(dma.folder / "pump.ipynb", as_version=4))


def test_the_bus_that_suits_the_board(tmp_path: Path) -> None:
    zynq, arty = boards.get("zedboard"), boards.get("arty-a7")
    assert default_bus(zynq, None, None, "none") == ("axis", 32)
    assert default_bus(zynq, None, 64, "none") == ("axis", 64)
    assert default_bus(zynq, None, None, "readout") == ("axil", None)
    assert default_bus(zynq, "axil", None, "none") == ("axil", None)
    assert default_bus(arty, None, None, "none") == ("stream", None)
    assert default_bus(zynq, None, None, adapt=True) == ("stream", None)
    with pytest.raises(OptionError, match=r"^tdata must be given .*; add --tdata 32$"):
        built(tmp_path)
    with pytest.raises(OptionError, match=r"^interface must be axis, axil or stream on board pynq"):
        built(tmp_path, "wishbone")
    # The bare core is built as for a part.
    bare = built(tmp_path, "stream")
    assert "out_of_context" in (bare.folder / "build.tcl").read_text()
    assert not (bare.folder / "pump.ipynb").exists()


def test_the_command_line(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    made = run("build", model, "--board", "PYNQ-Z2", "--no-sim", "--no-synth", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "rtl_out" / "m"
    assert "create_bd_cell" in (folder / "build.tcl").read_text()
    page = (folder / "report.html").read_text()
    assert "block design" in page and 'href="m.ipynb"' in page
    assert all((folder / name).exists() for name in re.findall(r'href="(m[\w.]+)"', page))
    rows = np.genfromtxt(folder / "m_evaluation.csv", delimiter=",", skip_header=1)
    assert rows.shape == (10, 4)
