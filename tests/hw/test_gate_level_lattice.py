"""Netlists of iCE40 and ECP5 against the interpreter, and how near the cost model comes to them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.boards.toolchains import synthesis_family
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.errors import ToolError
from scm_hw.target.resources import Resources
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import SimResult, run_netlist
from scm_hw.verify.check import select_vectors
from scm_hw.verify.primitives import primitive_models
from scm_hw.verify.rows import check_rows
from tests.support import random_model

MODEL: dict[str, Any] = {"features": 3, "layers": (8, 6), "bits": 7, "input_bits": 6, "rows": 4}
VECTORS = 40


def designed(board: str, fold: str, **options: Any) -> Design:
    return compile_model(
        random_model(5, **(MODEL | options)), boards.get(board), Options(fold=fold)
    )


def synthesised(design: Design, netlist: Path) -> Resources:
    family = synthesis_family(design.board)
    assert family is not None
    return synthesise({f"{CORE}.v": design.verilog}, CORE, family, netlist=netlist)


def simulated(design: Design, netlist: Path, folder: Path) -> SimResult:
    vectors = select_vectors(design, check_rows(design, design.model.evaluation)).head(VECTORS)
    plan = design.schedule
    return run_netlist(
        netlist,
        vectors,
        plan.latency,
        plan.initiation_interval,
        workdir=folder / "work",
        family=design.board.family,
    )


@pytest.mark.parametrize(
    ("board", "fold", "cells"),
    [
        ("icebreaker", "none", {"SB_LUT4", "SB_CARRY", "SB_MAC16"}),
        pytest.param("icebreaker", "4x4", {"SB_LUT4", "SB_MAC16"}, marks=pytest.mark.long),
        pytest.param("icebreaker", "1x1", {"SB_RAM40_4K"}, marks=pytest.mark.long),
        ("ulx3s-85f", "none", {"LUT4", "CCU2C", "MULT18X18D", "TRELLIS_FF"}),
        ("ulx3s-85f", "4x4", {"LUT4", "MULT18X18D"}),
        ("tang-nano-9k", "none", {"LUT4", "ALU", "MUX2_LUT5", "DFFE"}),
    ],
)
def test_netlists_give_the_same_integers(
    board: str, fold: str, cells: set[str], tmp_path: Path
) -> None:
    design = designed(board, fold)
    resources = synthesised(design, tmp_path / "netlist.v")
    assert cells <= resources.by_cell.keys()
    result = simulated(design, tmp_path / "netlist.v", tmp_path)
    assert (result.failures, result.vectors) == ((), VECTORS)
    assert result.cycles == design.schedule.latency
    # What decides whether a design fits: the multipliers and memories just so, LUTs about.
    guess = design.estimate
    assert (guess.dsp, guess.bram) == (resources.dsp, resources.bram)
    assert 0.6 < resources.lut / guess.lut < 1.2


# The contents of a LUT with what it drives, and what is registered: with one cycle of latency, the
# registers without reset hold the bits of the result.
LUT = re.compile(r"\.LUT_INIT\(16'h([0-9a-f]{4})\)\s*\) \S+\s+\([^;]*?\.O\((.*?)\)\s*\);")
RESULT = re.compile(r"SB_DFFE \S+  \([^;]*?\.D\((.*?)\),")


def test_wrong_luts_are_found(tmp_path: Path) -> None:
    """Four of those that drive a bit of the result, each inverted: none is without effect."""
    design = designed("icebreaker", "none")
    netlist = tmp_path / "netlist.v"
    synthesised(design, netlist)
    text = netlist.read_text()
    results = RESULT.findall(text)
    luts = [lut for lut in LUT.finditer(text) if lut[2] in results]
    for found in Random(0).sample(luts, 4):
        inverted = f"{int(found[1], 16) ^ 0xFFFF:04x}"
        netlist.write_text(text[: found.start(1)] + inverted + text[found.end(1) :])
        assert not simulated(design, netlist, tmp_path).ok


def test_block_memories_of_ecp5_are_refused() -> None:
    with pytest.raises(ToolError, match=r"no model of its block memories \(DP16KD\)"):
        primitive_models("module scm_core;\n  DP16KD #(\n", "ecp5")
    with pytest.raises(ToolError, match=r"no model of its block memories \(SDPX9B\)"):
        primitive_models("module scm_core;\n  SDPX9B #(\n", "gowin")


SIGNED = """
module scm_core(input signed [9:0] a, b, input [9:0] u, output signed [19:0] both, one);
  assign both = a * b;
  assign one = a * $signed({1'b0, u[8:0]});
endmodule
"""
READER = """
module reader;
  reg signed [9:0] a = -512, b = 511;
  reg [9:0] u = 300;
  wire signed [19:0] both, one;
  scm_core dut(.a(a), .b(b), .u(u), .both(both), .one(one));
  initial repeat (200) begin
    #1 if (both !== a * b || one !== a * $signed({1'b0, u[8:0]})) $display("wrong");
    a = a + 37; b = b - 101; u = u + 53;
  end
  initial #1000 $display("done");
endmodule
"""


def test_multipliers_of_ecp5_know_signs(tmp_path: Path) -> None:
    netlist = tmp_path / "netlist.v"
    resources = synthesise({"scm_core.v": SIGNED}, CORE, "ecp5", netlist=netlist)
    assert resources.dsp == 2
    models = primitive_models(netlist.read_text(), "ecp5")
    (tmp_path / "models.v").write_text(models)
    (tmp_path / "reader.v").write_text(READER)
    sources = ["reader.v", "netlist.v", "models.v"]
    command = ["iverilog", "-g2012", "-s", "reader", "-o", "reader.vvp", *sources]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = ["vvp", "-n", "reader.vvp"]
    done = subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["done"]
