"""What a build leaves for the test benches of others: `--tb`, and a folder for cocotb."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.design import Options
from scm_hw.errors import OptionError
from scm_hw.software import build_c
from scm_hw.verify.testbench import run_testbench
from scm_model import read_model, write_model
from scm_model.adaptation import AdaptSettings
from tests.hw.commands import run, small_model, write_csv
from tests.hw.test_records import KINDS, machine

KIND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "two outputs": ({"outputs": 2}, {}),
    "folded classifier": ({"task": "classification", "outputs": 3}, {"fold": "1x1"}),
    "no handshake": ({"mechanism": "external"}, {"handshake": "none", "clock_mhz": 250.0}),
    "reload": ({}, {"reload": "readout"}),
    "records": ({}, {}),
}


def written(folder: Path, kind: str) -> Path:
    if kind == "records":
        write_model(machine(**KINDS["feedback"]), folder / "pump.npz")
        return folder / "pump.npz"
    return small_model(folder / "pump.npz", **KIND[kind][0])


def rows_of(folder: Path, path: Path) -> Path:
    """A table of raw rows without targets; of records with the column that begins one."""
    model = read_model(path)
    rows = model.evaluation
    header, columns = list(model.signals), [rows.inputs[:8]]
    if model.memory is not None:
        header.append("first")
        columns.append(np.isin(np.arange(8), (0, 5))[:, None].astype(int))
    if rows.mechanism is not None:
        header += [f"P0_{target}" for target in model.targets]
        columns.append(rows.mechanism[:8])
    return write_csv(folder / "rows.csv", header, np.hstack(columns).tolist())


def built(folder: Path, kind: str, bench: Path | None = None) -> Build:
    path = written(folder, kind)
    how = BuildOptions(out=folder / "out", bench=bench, simulators=(), synthesis=False)
    return build(path, boards.get("arty-a7"), Options(**KIND[kind][1]), how)


def under_cocotb(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """With the interpreter's own tools on the path, and none of this package's."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "ROWS")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    argv = ["make", "-C", str(folder / "cocotb"), *(f"{k}={v}" for k, v in settings.items())]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "kind",
    [
        "two outputs",
        "records",
        *(pytest.param(k, marks=pytest.mark.long) for k in list(KIND)[1:-1]),
    ],
)
def test_the_folder_runs_by_itself(kind: str, tmp_path: Path) -> None:
    done = built(tmp_path, kind)
    texts = [path.read_text() for path in (done.folder / "cocotb").iterdir()]
    assert len(texts) == 2 and not [
        text for text in texts if re.search("import scm_hw|scm_hw/", text)
    ]
    rows = rows_of(tmp_path, tmp_path / "pump.npz")
    for settings, count in ({}, None), ({"ROWS": str(rows)}, 8):
        ran = under_cocotb(done.folder, **settings)
        said = ran.stdout + ran.stderr
        assert ran.returncode == 0 and "FAIL=0" in said, said[-3000:]
        (number,) = {int(n) for n in re.findall(r"(\d+) rows are right", said)}
        assert number == count if count else number > 50


def test_it_finds_a_wrong_core(tmp_path: Path) -> None:
    done = built(tmp_path, "two outputs")
    core = done.folder / "pump_core.v"
    core.write_text(re.sub(r"(assign out_data = )(.*);", r"\1(\2) ^ 1;", core.read_text(), count=1))
    ran = under_cocotb(done.folder)
    assert re.search(r"row 0 gave \[.*\], not \[", ran.stdout) and "FAIL=2" in ran.stdout


@pytest.mark.parametrize("kind", KIND)
def test_the_bench_takes_raw_rows(kind: str, tmp_path: Path) -> None:
    """The same vectors as the machine in Python writes."""
    path = written(tmp_path, kind)
    rows = rows_of(tmp_path, path)
    done = built(tmp_path, kind, rows)
    wanted = run_testbench(done.folder, names=done.design.names, workdir=tmp_path / "work")
    assert wanted == (8, done.design.latency)
    names = ("vectors_in.hex", "vectors_out.hex")
    found = [(done.folder / name).read_text().lower() for name in names]
    argv = [sys.executable, "pump_model.py", str(rows)]
    subprocess.run(argv, cwd=done.folder, check=True, timeout=60, capture_output=True)
    again = [(done.folder / name).read_text() for name in names]
    assert [_words(a) for a in found] == [_words(b) for b in again]


def _words(text: str) -> list[int]:
    return [int(line, 16) for line in text.split("\n")[1:] if line]


def test_rows_from_the_command_line(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    write_csv(tmp_path / "rows.csv", ["x0", "x1", "note"], [[1, 0.5, "a"], [0.25, 1, "b"]])
    how = ["--no-sim", "--no-synth", "--tb", tmp_path / "rows.csv"]
    made = run("build", model, *how, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "rtl_out" / "m"
    before = (folder / "vectors_in.hex").read_text()
    assert len(_words(before)) == 2
    (tmp_path / "rows.csv").write_text("x0\n1\n")
    wrong = run("build", model, *how, cwd=tmp_path)
    assert wrong.returncode == 2 and "x1" in wrong.stderr and wrong.stderr.count("\n") == 1
    assert (folder / "vectors_in.hex").read_text() == before


def test_a_core_that_adapts_has_none(tmp_path: Path) -> None:
    rows = write_csv(tmp_path / "rows.csv", ["x0", "x1"], [[1, 0.5]])
    path = small_model(tmp_path / "pump.npz")
    how = BuildOptions(out=tmp_path / "out", bench=rows, simulators=(), synthesis=False)
    with pytest.raises(OptionError, match=r"^tb must be left out for a core that adapts"):
        build(path, boards.get("arty-a7"), Options(adapt=AdaptSettings()), how)
    assert not (tmp_path / "out").exists()
    folder = build(
        path, boards.get("arty-a7"), Options(adapt=AdaptSettings()), replace(how, bench=None)
    ).folder
    assert not (folder / "cocotb").exists() and not (folder / "pump_model.py").exists()


def test_c_has_no_bench(tmp_path: Path) -> None:
    how = BuildOptions(bench=tmp_path / "rows.csv")
    with pytest.raises(OptionError, match="not c; leave --tb out"):
        build_c(small_model(tmp_path / "m.npz"), boards.get("arty-a7"), Options(), how)
