"""A build's module for LiteX, in a system on chip without a processor, simulated in Icarus."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from litex.build.generic_platform import GenericPlatform, Pins
from litex.gen import LiteXModule
from litex.soc.integration.export import get_csr_json
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import wishbone
from migen import ClockDomain

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.design import Options
from scm_hw.emit.litex import identifiers
from scm_hw.tools.icarus import compile_verilog, run_program
from scm_hw.verify.rows import check_rows
from tests.hw.commands import small_model

ROWS = 12


class Platform(GenericPlatform):  # type: ignore[misc]
    """Pins of no device."""

    def __init__(self) -> None:
        super().__init__("none", [("clk", 0, Pins(1)), ("rst", 0, Pins(1))], name="plant")

    def build(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError


class Clock(LiteXModule):  # type: ignore[misc]
    def __init__(self, platform: Platform) -> None:
        self.cd_sys = ClockDomain()
        pins = [platform.request(name) for name in ("clk", "rst")]
        self.comb += [self.cd_sys.clk.eq(pins[0]), self.cd_sys.rst.eq(pins[1])]


class Plant(SoCMini):  # type: ignore[misc]
    """Registers of the machine on a bus whose master is outside."""

    def __init__(self, platform: Platform, machine: type) -> None:
        self.crg = Clock(platform)
        super().__init__(platform, 100e6, with_timer=False)
        self.pump = machine(platform)
        bus = wishbone.Interface(data_width=32, adr_width=30)
        self.bus.add_master(name="ext", master=bus)
        platform.add_extension(bus.get_ios("ext"))
        self.comb += bus.connect_to_pads(platform.request("ext"), mode="slave")


BENCH = """
`timescale 1ns / 1ps
module bench;
  reg clk = 0, rst = 1, stb = 0, we = 0;
  reg [29:0] adr = 0;
  reg [31:0] w = 0, word;
  wire ack;
  wire [31:0] r;
  always #5 clk = ~clk;
  plant dut (.clk(clk), .rst(rst), .ext_adr(adr), .ext_dat_w(w), .ext_dat_r(r), .ext_sel(4'hf),
    .ext_cyc(stb), .ext_stb(stb), .ext_we(we), .ext_ack(ack), .ext_bte(2'd0), .ext_cti(3'd0));
  task access(input [31:0] place, input [31:0] value, input write);
    begin
      @(negedge clk); adr = place >> 2; w = value; we = write; stb = 1;
      @(posedge clk); while (!ack) @(posedge clk);
      word = r;
      @(negedge clk); stb = 0;
    end
  endtask
  initial begin
    repeat (4) @(negedge clk);
    rst = 0;
{steps}
    $finish;
  end
endmodule
"""


def built(folder: Path, **options: Any) -> Build:
    model = small_model(folder / "pump.npz", outputs=2)
    how = BuildOptions(out=folder / "out", simulators=(), synthesis=False)
    return build(model, boards.get("arty-a7"), Options(**options), how)


def steps(registers: dict[str, Any], rows: list[list[int]], outputs: list[str]) -> str:
    """Write the inputs, start, wait, and print all words of the outputs."""

    def words(name: str) -> list[tuple[int, int]]:
        found = registers[f"pump_{name}"]
        size = found["size"]
        # The first word is the highest.
        return [(found["addr"] + 4 * i, 32 * (size - 1 - i)) for i in range(size)]

    lines = []
    inputs = [n.removeprefix("pump_") for n in registers if n.startswith("pump_input_")]
    for row in rows:
        for name, value in zip(inputs, row, strict=True):
            lines += [
                f"access({place}, 32'd{value >> low & 0xFFFFFFFF}, 1);"
                for place, low in words(name)
            ]
        lines.append(f"access({words('control')[0][0]}, 1, 1);")
        status = words("status")[0][0]
        lines.append(f"access({status}, 0, 0); while (!word[0]) access({status}, 0, 0);")
        for name in outputs:
            lines += [f'access({place}, 0, 0); $write("%h", word);' for place, _ in words(name)]
            lines.append('$write(" ");')
        lines.append('$display("");')
    return "\n".join(lines)


def simulated(done: Build, folder: Path, rows: list[list[int]]) -> list[list[int]]:
    sys.path.insert(0, str(done.folder))
    try:
        sys.modules.pop("pump_litex", None)
        module = importlib.import_module("pump_litex")
    finally:
        sys.path.remove(str(done.folder))
    platform = Platform()
    soc = Plant(platform, module.PumpCSR)
    soc.finalize()
    platform.get_verilog(soc, name="plant").write(str(folder / "plant.v"))
    regions = json.loads(get_csr_json(soc.csr_regions, soc.constants, soc.mem_regions))
    outputs = [f"output_{name}" for name, _ in module.OUTPUTS]
    (folder / "bench.v").write_text(
        BENCH.replace("{steps}", steps(regions["csr_registers"], rows, outputs))
    )
    how = {"cwd": folder, "log": folder / "log", "timeout": 60.0}
    sources = [folder / "bench.v", folder / "plant.v", done.folder / "pump_core.v"]
    compile_verilog(sources, folder / "run", top="bench", options=("-g2005",), **how)  # type: ignore
    code, said = run_program(folder / "run", **how)  # type: ignore[arg-type]
    assert code == 0
    lines = [line.split() for line in said.splitlines() if re.match(r"[0-9a-f]+ ", line)]
    return [
        [_integer(int(w, 16), *form) for w, (_, form) in zip(line, module.OUTPUTS, strict=True)]
        for line in lines
    ]


def _integer(word: int, bits: int, signed: bool) -> int:
    return word - (1 << bits) if signed and word >> bits - 1 else word


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"handshake": "none"},
        pytest.param({"fold": "1x1"}, marks=pytest.mark.long),
        pytest.param({"reload": "readout"}, marks=pytest.mark.long),
    ],
)
def test_the_machine_in_a_system_on_chip(options: dict[str, Any], tmp_path: Path) -> None:
    done = built(tmp_path, **options)
    rows = check_rows(done.design, done.design.model.evaluation)
    found = simulated(done, tmp_path, rows.inputs[:ROWS].tolist())
    assert found == rows.outputs[:ROWS].tolist()
    # One core for another is seen.
    core = done.folder / "pump_core.v"
    core.write_text(re.sub(r"(assign out_data = )(.*);", r"\1(\2) ^ 1;", core.read_text(), count=1))
    assert simulated(done, tmp_path, rows.inputs[:2].tolist()) != rows.outputs[:2].tolist()


def test_names_of_fields() -> None:
    assert identifiers(["Speed [m/s]", "speed_m_s", "3rd", "valid", "läuft", "", "class"]) == [
        *("speed_m_s", "speed_m_s_2", "f_3rd", "f_valid", "l_uft", "field", "f_class")
    ]


def test_it_needs_nothing_of_this_package(tmp_path: Path) -> None:
    text = (built(tmp_path).folder / "pump_litex.py").read_text()
    assert "scm_hw" not in text
