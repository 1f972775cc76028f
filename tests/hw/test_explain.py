"""What the command line tells of passes and folds, beyond the usual."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import load_design
from scm_hw.design import Design, Options, compile_model
from scm_hw.passes import NAMES
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
    assert [step["name"] for step in steps] == list(NAMES)
    luts = {step["name"]: step["luts"] for step in steps}
    assert luts["block_tables"] < luts["lower_argmax"]
    left_out = [step["name"] for step in steps if step["left_out"]]
    assert "block_tables" not in left_out and "share_bits" in left_out


def shown_after(name: str, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["show", "m.npz", "--after", name, "--json", *options]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("fold", ["auto", "2x2"])
def test_the_program_after_any_pass(fold: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A fold has no part in the passes, but they can be shown all the same."""
    small_model(Path("m.npz"))
    kinds = {
        name: {op["op"] for op in shown_after(name, capsys, "--fold", fold)["ops"]}
        for name in NAMES[:-1]
    }
    assert "Table" not in kinds["load"] | kinds["simplify"] and "Table" in kinds["level_tables"]


def test_the_last_pass_makes_the_design(capsys: pytest.CaptureFixture[str]) -> None:
    small_model(Path("m.npz"))
    design = load_design(Path("m.npz"), boards.get("arty-a7"), Options())
    assert main(["show", "m.npz", "--after", "lower_sums"]) == 0
    assert capsys.readouterr().out == f"{design.program}\n"


def test_a_build_that_explains_compiles_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_model(Path("m.npz"))
    compiled = []

    def counting(*args: Any, **options: Any) -> Design:
        compiled.append(args)
        return compile_model(*args, **options)

    monkeypatch.setattr("scm_hw.build.compile_model", counting)
    assert main(["build", "m.npz", *QUICK, "--explain"]) == 0
    assert len(compiled) == 1
    assert "passes, with what" in capsys.readouterr().out


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
