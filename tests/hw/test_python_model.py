"""A build's Python model: the interpreter's integers, and vectors that the bench takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.common.names import Names
from scm_hw.emit import python_model_files
from scm_hw.ir.interp import interpret
from tests.hw.commands import small_model, write_csv
from tests.hw.programs import random_program


@pytest.mark.parametrize("seed", range(8))
def test_every_operation_gives_the_integers_of_the_interpreter(seed: int) -> None:
    program = random_program(Random(seed), 30)
    (text,) = python_model_files(program, "ab" * 32, Names("m")).values()
    space: dict[str, object] = {"__name__": "m_model"}
    exec(text.replace("from m_formats import FORMATS, encode, pack", ""), space)
    random = np.random.default_rng(seed)
    lows = [op.low for op in program.input_ops()]
    highs = [op.high for op in program.input_ops()]
    rows = random.integers(lows, highs, (20, len(lows)), endpoint=True)
    found = [space["run"](row.tolist()) for row in rows]
    assert_array_equal(np.array(found), interpret(program, rows))


def bench(folder: Path, count: int) -> str:
    """The build's bench in Icarus on the vectors that are there."""
    argv = ["iverilog", "-g2001", f"-Ptb_pump_core.COUNT={count}", "-o", "bench"]
    argv += ["tb_pump_core.v", "pump_core.v"]
    subprocess.run(argv, cwd=folder, check=True, timeout=60)
    done = subprocess.run(["vvp", "-n", "bench"], cwd=folder, capture_output=True, text=True)
    return done.stdout.splitlines()[-1]


def test_raw_rows_through_the_bench(tmp_path: Path) -> None:
    model = small_model(tmp_path / "pump.npz", outputs=2)
    how = BuildOptions(out=tmp_path / "pump", simulators=(), synthesis=False)
    made = build(model, boards.get("arty-a7"), None, how)
    evaluation = made.design.model.evaluation
    rows = [*evaluation.inputs[:5].tolist(), [1e6, -1e6]]
    write_csv(made.folder / "rows.csv", made.design.model.features, rows)
    argv = [sys.executable, "pump_model.py", "rows.csv"]
    subprocess.run(argv, cwd=made.folder, check=True, timeout=60)
    assert bench(made.folder, 6).startswith("PASS: 6 vectors")
    wrong = made.folder / "vectors_out.hex"
    lines = wrong.read_text().splitlines()
    wrong.write_text("\n".join([f"{int(lines[0], 16) ^ 1:x}", *lines[1:]]) + "\n")
    assert bench(made.folder, 6).startswith("FAIL")
    (made.folder / "rows.csv").write_text("x0\n1\n")
    done = subprocess.run(argv, cwd=made.folder, capture_output=True, text=True, timeout=60)
    assert done.returncode and done.stderr == (
        "error: rows.csv must have rows and the columns x0, x1\n"
    )
