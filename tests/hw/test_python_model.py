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
from scm_hw.common.packing import pack
from scm_hw.emit import python_model_files
from scm_hw.ir.interp import interpret
from scm_hw.verify.rows import record_inputs
from scm_model import write_model
from tests.hw.commands import small_model, write_csv
from tests.hw.programs import random_program
from tests.hw.test_records import KINDS, machine


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


def used(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "pump_model.py", path]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("kind", ["open", "feedback", "recurrent"])
def test_records_through_the_bench(kind: str, tmp_path: Path) -> None:
    """Of a machine with memory: the column `first` begins a record, and so does the first row."""
    write_model(machine(**KINDS[kind]), tmp_path / "pump.npz")
    how = BuildOptions(out=tmp_path / "pump", simulators=(), synthesis=False)
    made = build(tmp_path / "pump.npz", boards.get("arty-a7"), None, how)
    evaluation = made.design.model.evaluation
    names = made.design.model.signals
    begins = np.isin(np.arange(len(evaluation.inputs)), (4, 9, 30)).astype(int)
    rows = [[*row, first] for row, first in zip(evaluation.inputs.tolist(), begins, strict=True)]
    for header in ([*names, "first"], names):
        write_csv(made.folder / "rows.csv", header, [row[: len(header)] for row in rows])
        assert used(made.folder, "rows.csv").stdout == f"{len(rows)} rows\n"
        found = (made.folder / "vectors_out.hex").read_text().splitlines()
        first = begins if "first" in header else begins * 0
        first[0] = 1
        inputs = record_inputs(made.design, evaluation.inputs, first.astype(bool))
        widths = [reach.width for reach in made.design.output_ranges]
        wanted = pack(made.design.records.interpret(made.design.meaning, inputs), widths)
        assert [int(word, 16) for word in found[1:]] == list(wanted)
        assert bench(made.folder, len(rows)).startswith(f"PASS: {len(rows)} vectors")


def test_raw_rows_through_the_bench(tmp_path: Path) -> None:
    model = small_model(tmp_path / "pump.npz", outputs=2)
    how = BuildOptions(out=tmp_path / "pump", simulators=(), synthesis=False)
    made = build(model, boards.get("arty-a7"), None, how)
    evaluation = made.design.model.evaluation
    rows = [*evaluation.inputs[:5].tolist(), [1e6, -1e6]]
    write_csv(made.folder / "rows.csv", made.design.model.features, rows)
    assert used(made.folder, "rows.csv").stdout == "6 rows\n"
    assert bench(made.folder, 6).startswith("PASS: 6 vectors")
    wrong = made.folder / "vectors_out.hex"
    header, first, *lines = wrong.read_text().splitlines()
    wrong.write_text("\n".join([header, f"{int(first, 16) ^ 1:x}", *lines]) + "\n")
    assert bench(made.folder, 6).startswith("FAIL")
    for text, message in (
        ("x0\n1\n", "error: rows.csv must have rows and the columns x0, x1\n"),
        ("x0,x1\n1,2\n1,much\n", "error: line 3 of rows.csv: could not convert string to float"),
        ("x0,x1\n1\n", "error: line 2 of rows.csv: "),
    ):
        (made.folder / "rows.csv").write_text(text)
        done = used(made.folder, "rows.csv")
        assert done.returncode and done.stderr.startswith(message), done.stderr
        assert done.stderr.count("\n") == 1
