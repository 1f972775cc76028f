"""A core that is never reset and sees zeros from time 0, in an event-driven simulator.

A process in Verilog waits for one of its inputs to change, so one that computes something from
inputs that were there from the start would leave its output undefined.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.lib import wiring

from scm_hw.ir import Program
from scm_hw.ir.interp import interpret
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.rtl.fold import FoldedCore
from tests.hw.test_fold import folded
from tests.support import compiled, random_model

BENCH = """
module bench;
  reg clk = 0, rst = 0, in_valid = 1, out_ready = 1;
  reg [{inputs}-1:0] in_data = 0;
  wire in_ready, out_valid;
  wire [{outputs}-1:0] out_data;
  scm_core dut (.clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready),
    .in_data(in_data), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data));
  always #5 clk = ~clk;
  always @(posedge clk) if (out_valid !== 0) begin
    $display("%b %b", out_valid, out_data);
    $finish;
  end
  initial #{patience} $finish;
endmodule
"""

MODELS: list[dict[str, Any]] = [
    {"layers": (6,), "bits": 7, "mechanism": "external"},
    {"layers": (4, 3), "encoder": "binary", "bits": 4, "outputs": 2},
    {"layers": (5,), "encoder": "gray", "bits": 4, "task": "classification", "outputs": 3},
]


def first_words(core: wiring.Component, widths: tuple[int, int], folder: Path) -> set[str]:
    """`out_valid` and `out_data` when a first result comes, by old and new rules of Verilog."""
    text = to_verilog(core, "scm_core")
    bench = BENCH.format(inputs=widths[0], outputs=widths[1], patience=100_000)
    (folder / "bench.v").write_text(text + bench)
    return {_run(folder, generation) for generation in ("-g2001", "-g2012")}


def _run(folder: Path, generation: str) -> str:
    program = str(folder / "bench.vvp")
    build = ["iverilog", generation, "-s", "bench", "-o", program, str(folder / "bench.v")]
    subprocess.run(build, check=True)
    run = subprocess.run(["vvp", "-n", program], check=True, capture_output=True, text=True)
    return run.stdout.strip()


def word_for_zeros(program: Program, widths: list[int]) -> str:
    row = np.zeros((1, len(program.inputs)), dtype=np.int64)
    values = interpret(program, row)[0]
    bits = [format(int(v) & (1 << w) - 1, f"0{w}b") for v, w in zip(values, widths, strict=True)]
    return "1 " + "".join(reversed(bits))


@pytest.mark.parametrize("options", MODELS, ids=str)
@pytest.mark.parametrize("clock_mhz", [20, 150])
def test_unrolled(options: dict[str, Any], clock_mhz: float, tmp_path: Path) -> None:
    layout = compiled(random_model(5, **options), clock_mhz=clock_mhz)
    core = ScmCore(layout.program, layout.schedule)
    sizes = sum(core.in_widths), sum(core.out_widths)
    expected = word_for_zeros(layout.program, core.out_widths)
    assert first_words(core, sizes, tmp_path) == {expected}


@pytest.mark.parametrize("options", MODELS, ids=str)
def test_folded(options: dict[str, Any], tmp_path: Path) -> None:
    meaning, plan = folded("2x3", seed=5, **options)
    core = FoldedCore(plan)
    sizes = sum(core.in_widths), sum(core.out_widths)
    expected = word_for_zeros(meaning, core.out_widths)
    assert first_words(core, sizes, tmp_path) == {expected}
