"""The example that goes from tables as they are to checked designs, and what it prints."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.explore.searches import plant_csv
from tests.support import REPOSITORY

PATH = REPOSITORY / "examples" / "design_tables.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("design_tables", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "design_tables", module)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    return module


def run(example: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["design_tables.py", *words])
    return example.main()


REPORT = {
    "model": {"data": {"train_rows": 1500, "test_rows": 500}},
    "bit_exact": {
        "icarus": {"vectors": 740, "mismatches": 0},
        "amaranth": {"vectors": 24, "mismatches": 1},
    },
    "rmse_units": {"force": {"hw": 1.25, "r2_hw": 0.91}, "heat": {"hw": 2.5, "r2_hw": 0.5}},
}
BUILT = {"lut": 1234, "ff": 56, "dsp": 1, "latency_cycles": 3, "latency_ns": 30.0}


def test_a_line_has_the_figures_of_a_design(example) -> None:
    case = example.Case("a plant", "plant.csv", ())
    line = example.row(case, {"built": BUILT, "report": REPORT}, (12.4, 20.6))
    assert line == [
        *("a plant", "2,000", "500", "force RMSE 1.25, R² 0.910; heat RMSE 2.5, R² 0.500"),
        *("1,234", "56", "1", "3 cycles, 30 ns", "740 vectors, 1 mismatches", "12 s", "21 s"),
    ]
    assert example.error({"accuracy_hw": 0.75}) == "accuracy 75.00%"
    head, rule, shown = example.markdown([line]).splitlines()
    assert head.count("|") == rule.count("|") == shown.count("|")


@pytest.mark.long
def test_a_table_of_its_own(example, monkeypatch, tmp_path: Path, capsys) -> None:
    plant_csv(tmp_path / "plant.csv", rows=200)
    case = example.Case("a plant", "plant.csv", ("--target", "force"))
    monkeypatch.setattr(example, "CASES", {"plant": case})
    more = ("--", "--luts", "60", "--no-sim", "--jobs", "1")
    assert run(example, monkeypatch, "--data", str(tmp_path), *more) == 0
    head, rule, line = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == line.count("|")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["a plant", "200", "50"]
    assert re.fullmatch(r"force RMSE [\d.]+, R² 0\.\d+", cells[3])
    assert int(cells[4]) <= 60 and re.fullmatch(r"\d cycles, \d+ ns", cells[7])
    assert (tmp_path / "design_out" / "plant" / "build" / "report.html").exists()
    assert (tmp_path / "design_out" / "plant" / "model.npz").exists()


def test_a_table_that_is_not_there(example, monkeypatch, tmp_path: Path, capsys) -> None:
    assert run(example, monkeypatch, "abalone", "--data", str(tmp_path)) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    with pytest.raises(SystemExit):
        run(example, monkeypatch, "abalon")
    assert "not abalon" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif("SCM_DATA" not in os.environ, reason="needs the public tables")
def test_all_five_tables(example, monkeypatch, capsys) -> None:
    assert run(example, monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(example.CASES)
    assert all(" 0 mismatches" in line for line in lines)
