"""The machine in C: equal to the interpreter on all rows, for every operation and kind of model."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from scm_hw.common.names import Names
from scm_hw.design import Design
from scm_hw.emit.c import c_files
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.ir import Builder, Constant, Input, Product, Program, Sum, Table
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.load.records import Records
from scm_hw.tools import c_compilers
from scm_hw.verify.c_run import run_c
from scm_hw.verify.rows import CheckRows
from scm_model import write_model
from tests.hw import oracle
from tests.hw.commands import contents, run, small_model
from tests.hw.programs import random_program, rows_for
from tests.hw.test_records import KINDS, designed, machine
from tests.support import optimise, random_model

NAMES = Names("mill")
MODELS: dict[str, dict[str, Any]] = {
    "thermometer": {"encoder": "thermometer", "layers": (4, 3)},
    "binary": {"encoder": "binary", "outputs": 2},
    "gray": {"encoder": "gray", "inputs_per_node": 2},
    "none": {"encoder": "none", "layers": (5,)},
    "classes": {"task": "classification", "outputs": 4},
    "two classes": {"task": "classification", "outputs": 2},
    "polynomial": {"mechanism": "polynomial"},
    "table": {"mechanism": "table", "outputs": 2},
    "external": {"mechanism": "external"},
    "step": {"activation": "step"},
}


def ran(program: Program, rows: np.ndarray, folder: Path, outputs: np.ndarray | None = None) -> int:
    """The vectors that the program in C was right on."""
    found = interpret(program, rows) if outputs is None else outputs
    for name, text in c_files(program, rows, found, NAMES, "ab" * 32).items():
        (folder / name).write_text(text)
    return run_c(folder, NAMES, folder)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", ["literal", "optimised"])
def test_models(name: str, form: str, tmp_path: Path) -> None:
    options = {"features": 3, "bits": 5, "input_bits": 6, "layers": (4,)} | MODELS[name]
    model = random_model(3, **options)
    program = lower(model, quantise(model, 8))
    rows = rows_for(program, 150)
    expected = oracle.outputs(program, rows)
    assert ran(
        program if form == "literal" else optimise(program), rows, tmp_path, expected
    ) == len(rows)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """Every operation, on every kind of operand."""
    program = random_program(Random(seed))
    rows = rows_for(program, 100)
    assert ran(program, rows, tmp_path) == len(rows)


def wide_program() -> Program:
    """Values of more than 32 bits, sums that only their parts need them for, and constants."""
    b = Builder()
    x = b.add(Input(position=0, low=-(2**31), high=2**31 - 1))
    y = b.add(Input(position=1, low=0, high=2**20))
    square = b.add(Product(left=x, right=y))
    table = b.add(Table(index=b.add(Input(position=2, low=0, high=1)), contents=(-(2**31), 2**40)))
    back = b.add(Sum(operands=(square, square, y), weights=(1, -1, 1), constant=-7))
    far = b.add(Sum(operands=(square, table), weights=(-3, 5), constant=2**45))
    return b.program((0, 1, 3), (back, far, b.add(Constant(value=-(2**31)))))


def test_wide_values(tmp_path: Path) -> None:
    program = wide_program()
    rows = rows_for(program, 60)
    assert ran(program, rows, tmp_path) == len(rows)


def test_values_wider_than_c_are_refused() -> None:
    b = Builder()
    x = b.add(Input(position=0, low=0, high=2**40))
    program = b.program((x,), (b.add(Product(left=x, right=x)),))
    with pytest.raises(OptionError, match=r"^values must have at most 64 bits in C, not 81"):
        c_files(program, np.zeros((1, 1), int), np.zeros((1, 1), int), NAMES, "")


def test_a_program_without_inputs_compiles(tmp_path: Path) -> None:
    b = Builder()
    x = b.add(Input(position=0, low=0, high=3))
    program = b.program((x,), (b.add(Constant(value=5)),))
    assert ran(program, rows_for(program), tmp_path) == 4


def test_inputs_beyond_their_range_are_clipped(tmp_path: Path) -> None:
    model = random_model(1, features=2, layers=(3,), bits=3, input_bits=4)
    program = optimise(lower(model, quantise(model, 8)))
    inside, outside = np.array([[0, 15], [15, 0]]), np.array([[-5, 99], [16, -(2**31)]])
    assert ran(program, outside, tmp_path, interpret(program, inside)) == 2


def ran_records(design: Design, rows: CheckRows, folder: Path, history: Records) -> int:
    vectors = (rows.inputs, rows.outputs)
    for name, text in c_files(design.program, *vectors, NAMES, "ab" * 32, history).items():
        (folder / name).write_text(text)
    return run_c(folder, NAMES, folder)


@pytest.mark.parametrize("kind", KINDS)
def test_machines_with_memory(kind: str, tmp_path: Path) -> None:
    """Records of rows, with the past in the caller's memory."""
    design, rows = designed(kind)
    assert design.records is not None
    assert ran_records(design, rows, tmp_path, design.records) == len(rows.inputs)


@pytest.mark.parametrize("fault", ["rest", "lag", "source"])
def test_a_wrong_past_is_seen(fault: str, tmp_path: Path) -> None:
    design, rows = designed("feedback")
    history = design.records
    assert history is not None
    if fault == "rest":
        wrong = replace(history, rest=tuple(code ^ 64 for code in history.rest))
    elif fault == "lag":
        taps = tuple(tap._replace(lag=tap.lag + (tap.lag == 1)) for tap in history.taps)
        wrong = replace(history, taps=taps)
    else:
        taps = tuple(tap._replace(source={2: 3, 3: 2}.get(tap[0], tap[0])) for tap in history.taps)
        wrong = replace(history, taps=taps)
    with pytest.raises(MismatchError):
        ran_records(design, rows, tmp_path, wrong)


def test_the_build_of_a_machine_with_memory(tmp_path: Path) -> None:
    """Two plants, each with a memory of its own, on the same machine."""
    write_model(machine(**KINDS["feedback"]), tmp_path / "mill.npz")
    done = run("build", tmp_path / "mill.npz", "--target", "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "rtl_out" / "mill"
    report = json.loads((folder / "report.json").read_text())
    assert report["vectors"] > 100 and report["rmse_hw"] > 0
    assert all(size["ram"] == 0 for size in report["sizes"])
    source = tmp_path / "main.c"
    source.write_text(
        '#include "mill_model.h"\n#include <string.h>\n'
        "static mill_memory one, two;\n"
        "int main(void) {\n  int row;\n"
        "  for (row = 0; row < 9; row++) {\n"
        "    mill_input in[MILL_MODEL_INPUTS] = {10 * row, 255 - row, 0}; mill_output a[3], b[3];\n"
        "    mill_run(&one, in, a);\n"
        "    mill_run(&two, in, b);\n"
        "    if (memcmp(a, b, sizeof a) != 0) { return 1; }\n  }\n"
        "  { mill_input in[MILL_MODEL_INPUTS] = {0, 0, 1}; mill_output a[3];\n"
        "    mill_run(&one, in, a); return a[2]; }\n}\n"
    )
    argv = ["cc", *c_compilers.STRICT, "-I", str(folder), str(source), str(folder / "mill_model.c")]
    subprocess.run([*argv, "-o", str(tmp_path / "main")], check=True, timeout=60)
    subprocess.run([str(tmp_path / "main")], check=True, timeout=60)


def test_one_wrong_output_is_seen(tmp_path: Path) -> None:
    model = random_model(1, layers=(3,))
    program = optimise(lower(model, quantise(model, 8)))
    rows = rows_for(program, 20)
    wrong = interpret(program, rows)
    wrong[-1, 0] ^= 1
    with pytest.raises(
        MismatchError, match=r"mill_model\.c differs from the interpreter.*output 0 gave"
    ):
        ran(program, rows, tmp_path, wrong)


def test_a_warning_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(int x);\nint f(int x) { int y; return x; }\n")
    with pytest.raises(ToolError, match=r"^can't compile a\.c: "):
        c_compilers.compile_c([tmp_path / "a.c"], tmp_path / "a")


def test_the_build(tmp_path: Path) -> None:
    model = small_model(tmp_path / "mill.npz")
    done = run("build", model, "--target", "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "vectors, 0 mismatches" in done.stdout and "cortex-m4: " in done.stdout
    folder = tmp_path / "rtl_out" / "mill"
    report = json.loads((folder / "report.json").read_text())
    assert report["vectors"] == 216 and report["rmse_hw"] > 0
    assert [size["core"] for size in report["sizes"]] == ["cortex-m0plus", "cortex-m4"]
    assert all(0 < size["text"] < 2000 and size["ram"] == 0 for size in report["sizes"])
    # A C++ program takes it as well.
    source = tmp_path / "main.cpp"
    source.write_text(
        '#include "mill_model.h"\n#include "mill_formats.h"\n'
        "int main() { mill_input in[MILL_INPUTS] = {}; mill_output out[MILL_OUTPUTS];\n"
        "  mill_run(in, out); return mill_outputs[0].bits < 1; }\n"
    )
    made = ["-c", str(folder / "mill_model.c"), "-o", str(tmp_path / "model.o")]
    subprocess.run(["cc", "-std=c99", *made], check=True, timeout=60)
    flags = [
        "-I",
        str(folder),
        str(source),
        str(tmp_path / "model.o"),
        "-o",
        str(tmp_path / "main"),
    ]
    subprocess.run(["c++", "-Wall", "-Werror", *flags], check=True, timeout=60)
    subprocess.run([str(tmp_path / "main")], check=True, timeout=60)


def test_an_earlier_build_stays_where_c_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scm_hw import boards, software
    from scm_hw.build import BuildOptions
    from scm_hw.design import Options

    model, out = small_model(tmp_path / "mill.npz"), tmp_path / "out"
    how = BuildOptions(out=out)
    software.build_c(model, boards.get("arty-a7"), Options(), how)
    before = contents(out)

    def spoilt(*arguments: Any) -> dict[str, str]:
        files = c_files(*arguments)
        return {name: text.replace("? 1 : 0", "? 0 : 1") for name, text in files.items()}

    monkeypatch.setattr(software, "c_files", spoilt)
    with pytest.raises(MismatchError):
        software.build_c(model, boards.get("arty-a7"), Options(), replace(how))
    assert contents(out) == before


def test_without_the_compiler_for_cortex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_compilers, "ARM", "no-such-compiler")
    assert c_compilers.cortex_sizes(tmp_path / "a.c", tmp_path) == []
