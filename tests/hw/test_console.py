"""What the command line shows while it works and when it is done."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.build import Build
from scm_hw.cli.console import (
    Progress,
    progress_bar,
    show_boards,
    show_build,
    show_comparison,
    show_run,
    summary_lines,
)
from scm_hw.cli.text import printable
from scm_hw.common.progress import listener
from scm_hw.design import Design, compile_model
from scm_hw.host.compare import Comparison
from scm_hw.report.paper import has_papers_shape
from tests.hw.commands import SMALL
from tests.hw.reports import report_of
from tests.support import random_model


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return report_of()


@pytest.fixture(scope="module")
def design() -> Design:
    return compile_model(random_model(1, **SMALL), boards.get("arty-a7"))


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    """What stderr was told, without colours and cursor movements."""
    return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", capsys.readouterr().err)


def test_a_pipe_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(quiet=False)
    with progress.running():
        progress.log("compiling")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_is_told_each_step_with_its_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress(quiet)
    with progress.running():
        progress.log("compiling")
        progress.log("linting")
    err = shown(capsys)
    for step in ("compiling, 0.0 s", "linting, 0.0 s"):
        assert (step in err) is not quiet


def test_a_step_that_failed_is_not_told_as_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress(quiet=False)
    with pytest.raises(ValueError, match="broken"), progress.running():
        progress.log("compiling")
        progress.log("linting")
        raise ValueError("broken")
    err = shown(capsys)
    assert "compiling, 0.0 s" in err
    assert "linting, " not in err


def test_the_summary_has_the_reports_figures(report: dict[str, Any]) -> None:
    verdict = {"vectors": 2856, "mismatches": 0, "cycles": 4}
    lines = summary_lines(report | {"bit_exact": {"icarus": verdict}})
    assert lines[0].startswith(f"RMSE on 10 rows: PC {report['rmse_pc']:.6f}, hardware ")
    assert lines[1].startswith(f"latency {report['latency_cycles']} cycle")
    assert f"{report['resources']['lut']} LUT of 63,400" in lines[2]
    assert lines[2].endswith("(estimate)")
    assert lines[3].startswith(f"with the top scm_top: {report['resources']['top']['lut']:,} LUT")
    assert lines[4].startswith("power: estimate 0.")
    assert lines[5] == "icarus: 2,856 vectors, 0 mismatches, 4 cycles"


def test_the_summary_says_what_was_left_out() -> None:
    lines = summary_lines(report_of(evaluated=False))
    assert "give --data to compare" in lines[0]
    assert lines[-1] == "not simulated (--no-sim)"


def test_a_classifier_has_its_accuracy_told() -> None:
    lines = summary_lines(report_of(task="classification", outputs=3))
    assert lines[0].startswith("accuracy on 10 rows: PC 0.")


def test_a_build_names_the_files_that_are_there(
    design: Design, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("scm_core.v", "report.json"):
        (tmp_path / name).write_text("")
    show_build(Build(tmp_path, report, design))
    out = capsys.readouterr().out
    assert "small for nexys-a7 (xc7a100tcsg324-1)" in out
    assert report["digest"][:16] in out
    assert "scm_core.v" in out
    assert "report.json" in out
    assert "scm_top.v" not in out
    assert "bits, FPGA" not in out


def test_the_papers_case_stands_beside_its_shape_and_the_demo(
    design: Design, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_build(Build(tmp_path, report, design), beside_paper=True)
    assert "│ bits, FPGA" in capsys.readouterr().out
    weights = report["weights"]["hardware"] | {"count": 16_500}
    shape = report | {
        "model": report["model"] | {"layers": [{"nodes": 60, "activation": "sign"}]},
        "weights": report["weights"] | {"hardware": weights},
    }
    show_build(Build(tmp_path, shape, design))
    assert "│ bits, FPGA" in capsys.readouterr().out
    assert not has_papers_shape(report)


def test_a_sample_of_the_test_rows_is_called_one(report: dict[str, Any]) -> None:
    whole = summary_lines(report)[0]
    assert whole.startswith("RMSE on 10 rows: ") and "sample" not in whole
    sampled = summary_lines(report | {"sampled_from": 250_000})[0]
    assert sampled.startswith("RMSE on 10 rows (a sample of the 250,000 test rows): ")


def test_names_are_not_taken_for_markup(
    design: Design, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_build(Build(tmp_path / "[bold]out", report, design))
    assert "[bold]out/:" in capsys.readouterr().out.replace("\n", "")


def test_boards_are_listed_with_what_they_have(capsys: pytest.CaptureFixture[str]) -> None:
    show_boards([boards.get(name) for name in boards.names()])
    lines = capsys.readouterr().out.splitlines()
    (nexys,) = [line for line in lines if "nexys-a7" in line]
    for text in ("xc7a100tcsg324-1", "100 MHz", "63,400", "126,800", "240", "135", "Nexys"):
        assert text in nexys
    assert sum("Digilent" in line for line in lines) == 5
    (ulx3s,) = [line for line in lines if "ulx3s-85f" in line]
    for text in ("LFE5U-85F-6BG381", "25 MHz", "83,640", "208", "EBR18", "ULX3S"):
        assert text in ulx3s


def test_a_routed_design_has_its_clock_told(report: dict[str, Any]) -> None:
    routed = {
        "utilisation": {"TRELLIS_COMB": {"used": 1234, "available": 83640}},
        "fmax_mhz": 61.5,
        "clock_mhz": 25.0,
        "toolchain": "trellis",
    }
    lines = summary_lines(report | {"implementation": routed})
    expected = "routed at 61.5 MHz, the board's clock is 25 MHz (trellis): "
    assert f"{expected}1,234 TRELLIS_COMB of 83,640" in lines


FOUND = Comparison("RMSE", 300, 0.1, 0.1, 0.1, 0, None, 4, 4, 100.0, 2.0, 0, 0)


@pytest.mark.parametrize(("repeated", "returns"), [(0, 0), (3, 0), (0, 1)])
def test_what_was_sent_again_is_told(
    repeated: int, returns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    show_run(replace(FOUND, repeated=repeated, returns=returns))
    out = capsys.readouterr().out
    assert "latency 4 cycles = 40 ns at 100 MHz\n150 rows a second" in out
    told = f"{repeated} requests sent again, {returns} reconnections" in out
    assert told == bool(repeated or returns)


@pytest.mark.parametrize("quiet", [False, True])
def test_rows_of_a_run_have_a_bar_on_a_terminal(
    quiet: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(quiet, 300) as progress:
        progress(300)
    assert ("300/300" in shown(capsys)) is not quiet


def test_steps_of_unknown_length_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator may tell how far it is before the first step is named."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(quiet=False).running():
        listener()(1.0, 2.0)


@pytest.mark.parametrize("name", ["[/red]", "[bold]x", "a\x1b[2Jb", "c\x9b2Jd"])
def test_names_are_neither_markup_nor_commands_to_the_terminal(
    name: str,
    design: Design,
    report: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    doctored = report | {"name": name, "board": name, "part": name, "digest": name}
    show_build(Build(tmp_path, doctored, design))
    show_comparison([doctored, report], [name, "other"])
    out = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in out)
    assert f"{printable(name)} for {printable(name)}" in out
    assert out.count(printable(name)) >= 6
