"""Names from `--name`: two models in one design, from Verilog to netlist and in one program."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.common.names import Names, identifier
from scm_hw.design import Options
from scm_hw.errors import ToolError
from scm_hw.sim.vectors import Vectors
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import run_icarus, run_verilator
from scm_hw.verify.rows import check_rows
from tests.hw.commands import run, small_model

TOP = """
module plant(
  input clk, input rst,
  input in_valid, output in_ready, input [{in_width}:0] in_data,
  output out_valid, input out_ready, output [{out_width}:0] out_data
);
  wire [1:0] ready, valid;
  assign in_ready = &ready;
  assign out_valid = &valid;
  {first}_core first (
    .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(ready[0]),
    .in_data(in_data[{in_split}-1:0]), .out_valid(valid[0]), .out_ready(out_ready),
    .out_data(out_data[{out_split}-1:0]));
  {second}_core second (
    .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(ready[1]),
    .in_data(in_data[{in_width}:{in_split}]), .out_valid(valid[1]), .out_ready(out_ready),
    .out_data(out_data[{out_width}:{out_split}]));
endmodule
"""


def built(folder: Path, name: str, seed: int, **options: str) -> Build:
    """A build that is only checked as a part of the whole."""
    folder.mkdir(exist_ok=True)
    model = small_model(folder / f"{name}_{seed}.npz", seed, layers=(2 + seed,))
    how = BuildOptions(out=folder / f"{name}_{seed}", name=name, simulators=(), synthesis=False)
    return build(model, boards.by_part("xc7a100tcsg324-1", 100.0), Options(**options), how)


def vectors_of(done: Build) -> Vectors:
    return check_rows(done.design, done.design.model.evaluation).vectors(done.design)


def plant(folder: Path, first: Build, second: Build) -> tuple[list[Path], Vectors]:
    """Both cores side by side, on the same handshake, and what they give together."""
    one, two = vectors_of(first), vectors_of(second)
    pairs = [
        [a | b << width for a, b in zip(x, y, strict=False)]
        for x, y, width in (
            (one.inputs, two.inputs, one.in_width),
            (one.outputs, two.outputs, one.out_width),
        )
    ]
    in_width, out_width = one.in_width + two.in_width, one.out_width + two.out_width
    text = TOP.format(
        first=first.design.names.prefix,
        second=second.design.names.prefix,
        in_width=in_width - 1,
        out_width=out_width - 1,
        in_split=one.in_width,
        out_split=one.out_width,
    )
    (folder / "plant.v").write_text(text)
    cores = [done.folder / f"{done.design.names.core}.v" for done in (first, second)]
    together = Vectors(tuple(pairs[0]), tuple(pairs[1]), in_width, out_width)
    return [*cores, folder / "plant.v"], together


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Build]:
    folder = tmp_path_factory.mktemp("two")
    return built(folder, "Pump-7", 1), built(folder, "valve", 2)


def test_two_models_in_one_top(two: tuple[Build, Build], tmp_path: Path) -> None:
    sources, vectors = plant(tmp_path, *two)
    latency = {done.design.schedule.latency for done in two}
    assert len(latency) == 1
    for simulate in (run_icarus, run_verilator):
        found = simulate(sources, vectors, *latency, workdir=tmp_path / "work", top="plant")
        assert (found.failures, found.vectors) == ((), len(vectors))
    # A result of one core in the place of the other's is seen.
    highest = 1 << vectors.out_width - 1
    wrong = replace(vectors, outputs=tuple(word ^ highest for word in vectors.outputs))
    found = run_icarus(sources, wrong, *latency, workdir=tmp_path / "wrong", top="plant")
    assert found.failures


def test_two_models_in_one_netlist(two: tuple[Build, Build], tmp_path: Path) -> None:
    sources, _ = plant(tmp_path, *two)
    texts = {path.name: path.read_text() for path in sources}
    whole = synthesise(texts, "plant")
    cores = [done.design.names.core for done in two]
    alone = [synthesise({f"{core}.v": texts[f"{core}.v"]}, core) for core in cores]
    assert whole.ff == sum(part.ff for part in alone) > 0
    assert max(part.lut for part in alone) < whole.lut <= sum(part.lut for part in alone) + 2


def test_two_models_of_one_name_meet(two: tuple[Build, Build], tmp_path: Path) -> None:
    """So the tests above would notice a module that is called the same in every build."""
    sources, vectors = plant(tmp_path, two[0], built(tmp_path, "pump_7", 3))
    with pytest.raises(ToolError, match="pump_7_core"):
        run_icarus(sources, vectors, 1, workdir=tmp_path / "work", top="plant")


def test_both_headers_in_one_program(tmp_path: Path) -> None:
    done = [built(tmp_path, name, 1, interface="axil") for name in ("pump", "valve")]
    lines = []
    for name, build_ in zip(("pump", "valve"), done, strict=True):
        lines += [f'#include "{build_.folder}/{name}_{kind}.h"' for kind in ("formats", "regs")]
    lines += [
        "int main(void) {",
        "  return pump_inputs[0].bits == PUMP_INPUT_0_BITS && VALVE_REG_OUTPUT(0) == 0x20000u",
        "    && valve_outputs[0].bits == VALVE_OUTPUT_0_BITS ? 0 : 1;",
        "}",
    ]
    source = tmp_path / "main.c"
    source.write_text("\n".join(lines) + "\n")
    argv = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", tmp_path / "main"]
    subprocess.run([*argv, source], check=True, timeout=60)
    subprocess.run([tmp_path / "main"], check=True, timeout=60)


def test_the_ip_carries_name_and_digest(tmp_path: Path) -> None:
    one, two = (built(tmp_path, "pump", seed, interface="axis") for seed in (1, 2))
    scripts = [(done.folder / "package_ip.tcl").read_text() for done in (one, two)]
    versions = []
    for script in scripts:
        assert "set_property name pump_axis $core" in script
        assert "{pump_core.v pump_axis.v}" in script
        (version,) = [x for x in script.splitlines() if "version" in x]
        versions.append(version)
    assert versions[0] != versions[1]


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("servo", "servo"),
        ("Servo-1.b", "servo_1_b"),
        ("3tank", "m3tank"),
        ("_", "m"),
        ("a" * 60, "a" * 40),
        ("x--", "x"),
    ],
)
def test_identifier(name: str, prefix: str) -> None:
    assert identifier(name) == prefix
    assert Names(prefix).core.isidentifier()


def test_the_command_line_names(tmp_path: Path) -> None:
    model = small_model(tmp_path / "file.npz")
    done = run("build", model, "--no-sim", "--no-synth", "--name", "Mill", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "rtl_out" / "Mill").iterdir()}
    assert {"mill_core.v", "tb_mill_core.v", "mill_formats.h", "mill_formats.py"} <= names
    assert not {name for name in names if "scm_core" in name}
