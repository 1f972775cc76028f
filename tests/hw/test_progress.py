"""Progress as a person sees it: every step with its time and what is left, or nothing at all."""

from __future__ import annotations

import re
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.cli.console import Progress
from scm_hw.common import progress
from scm_hw.design import compile_model
from scm_hw.passes import PASSES
from scm_hw.tools import synthesis
from scm_hw.tools.synthesis import expected_seconds, synthesise
from scm_hw.verify import run_amaranth, run_icarus
from scm_hw.verify.rows import check_rows
from tests.hw.commands import SMALL, command, small_model
from tests.support import random_model
from tests.terminal import on_terminal

STEPS = ("compiling", "writing Verilog", "simulating in icarus", "linting")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_build_on_a_terminal(tmp_path: Path, quiet: bool) -> None:
    model = small_model(tmp_path / "model.npz")
    words = [
        "build",
        model,
        "--no-synth",
        "--out",
        tmp_path / "out",
        *(["-q", "--no-sim"] if quiet else []),
    ]
    code, shown = on_terminal(command(*words), tmp_path)
    assert code == 0 and "files in" in shown
    for step in STEPS:
        assert bool(re.search(rf"  {step}, \d+\.\d s", shown)) is not quiet, shown


def told_by(run) -> list[tuple[float, float]]:
    told: list[tuple[float, float]] = []
    with progress.heard_by(lambda done, total: told.append((done, total))):
        run()
    for (before, _), (after, total) in pairwise(told):
        assert before <= after <= total
    return told


def test_passes_tell_how_far_they_are() -> None:
    model = random_model(1, **SMALL)
    told = told_by(lambda: compile_model(model, boards.get("nexys-a7")))
    assert told == [(number, len(PASSES)) for number in range(len(PASSES))]


def test_simulators_tell_how_far_they_are(tmp_path: Path) -> None:
    design = compile_model(random_model(1, **SMALL), boards.get("nexys-a7"))
    vectors = check_rows(design, design.model.evaluation).vectors(design)
    latency = design.schedule.latency
    told = told_by(lambda: run_amaranth(design.new_core, vectors.head(8), latency))
    assert told[0][0] == 0 and told[-1][0] == told[-1][1]
    many = type(vectors)(
        vectors.inputs * 240, vectors.outputs * 240, vectors.in_width, vectors.out_width
    )
    source = tmp_path / "scm_core.v"
    source.write_text(design.verilog)
    told = told_by(lambda: run_icarus(source, many, latency, workdir=tmp_path))
    assert told and told[0][1] > len(many) and 0 < told[-1][0] <= told[-1][1]


def test_a_synthesis_is_expected_to_take_as_long_as_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: object) -> tuple[dict[str, int], str]:
        time.sleep(0.2)
        return {"LUT6": 100}, ""

    monkeypatch.setattr(synthesis, "_run_yosys", slowly)
    synthesise({"a.v": ""}, cache_dir=tmp_path)
    expected = expected_seconds(100, tmp_path)
    assert 0.2 <= expected < 2
    fixed = synthesis.FIXED_CELLS
    assert expected_seconds(200 + fixed, tmp_path) == pytest.approx(2 * expected)
    (tmp_path / synthesis.PACE).write_text("torn")
    first = synthesis.FIRST_PACE * (100 + fixed)
    assert expected_seconds(100, tmp_path) == pytest.approx(first)


def test_an_expected_time_is_told_and_never_quite_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "CLOCK_SECONDS", 0.05)

    def run() -> None:
        with progress.expecting(0.5):
            time.sleep(1.3)

    told = told_by(run)
    assert {total for _, total in told} == {1.0}
    assert told[0][0] < 0.5 and told[-1][0] == 0.95


def test_the_time_left_follows_from_the_pace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    shown = Progress(quiet=False)
    with shown.running():
        shown.log("simulating")
        time.sleep(1.2)
        progress.advance(10, 100)
        time.sleep(0.3)
    err = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"simulating 0:00:01 about 0:1[1-4] left", err), err
