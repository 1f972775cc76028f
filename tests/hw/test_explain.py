"""What the command line tells of passes and folds, beyond the usual."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scm_hw.__main__ import main
from scm_hw.passes import PASSES
from tests.hw.commands import small_model

QUICK = ("--no-sim", "--no-synth", "-q", "--out", "out")


@pytest.fixture(autouse=True)
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_fold_is_explained_by_its_phases(capsys: pytest.CaptureFixture[str]) -> None:
    small_model(Path("m.npz"), layers=(3, 2))
    assert main(["build", "m.npz", *QUICK, "--fold", "2x2", "--explain"]) == 0
    cycles = json.loads(Path("out/report.json").read_text())["latency_cycles"]
    told = capsys.readouterr().out
    assert f"folded 2x2, 2x2, {cycles} cycles\n" in told
    assert "layer 1: " in told and " words of " in told
    assert "passes, with what" not in told


def test_tables_in_block_ram_are_a_step_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    small_model(Path("m.npz"), layers=(9,), features=4, bits=31, input_bits=8)
    assert main(["build", "m.npz", *QUICK, "--tables", "block", "--explain", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["passes"]
    names = ["load", *(apply.__name__ for apply in PASSES), "block_tables"]
    assert [step["name"] for step in steps] == names
    assert steps[-1]["luts"] < steps[-2]["luts"]


@pytest.mark.parametrize("last", [PASSES[0].__name__, PASSES[2].__name__])
def test_the_program_after_any_pass(last: str, capsys: pytest.CaptureFixture[str]) -> None:
    small_model(Path("m.npz"))
    assert main(["show", "m.npz", "--after", last, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert main(["show", "m.npz", "--after", "load", "--json"]) == 0
    loaded = json.loads(capsys.readouterr().out)
    kinds = [{op["op"] for op in program["ops"]} for program in (shown, loaded)]
    assert "Table" not in kinds[1]
    assert ("Table" in kinds[0]) == (last != PASSES[0].__name__)


def test_a_simulation_without_waves_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    small_model(Path("m.npz"), rows=3)
    assert main(["sim", "m.npz", "--simulator", "amaranth", "-q"]) == 0
    told = capsys.readouterr().out
    assert " 0 mismatches" in told and "waveform" not in told


def test_a_board_top_that_tests_itself() -> None:
    small_model(Path("m.npz"), rows=3)
    ports = {}
    for top in ("self-test", "uart"):
        assert main(["build", "m.npz", *QUICK, "--top", top]) == 0
        ports[top] = re.findall(
            r"^  (?:input|output) .*?(\w+);", Path("out/scm_top.v").read_text(), re.M
        )
    assert any("led" in port for port in ports["self-test"])
    assert any("uart" in port for port in ports["uart"])
    assert not any("uart" in port for port in ports["self-test"])
