"""The command line: its commands, and one line for everything that can go wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import load_design
from scm_hw.design import Options
from scm_hw.passes import NAMES
from tests.hw import oracle
from tests.hw.bad_commands import BAD, QUICK
from tests.hw.commands import command, contents, run, small_arrays, small_model, write_csv
from tests.support import meta_array, write_model


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, tables and other files, good and bad."""
    folder = tmp_path_factory.mktemp("workshop")
    good = small_model(folder / "good.npz")
    (folder / "truncated.npz").write_bytes(good.read_bytes()[:-100])
    arrays = small_arrays()
    newer = oracle.meta_of(arrays) | {"version": 5}
    write_model(folder / "newer.npz", arrays | {"meta": meta_array(newer)})
    small_model(folder / "tanh.npz", activation="tanh")
    small_model(folder / "large.npz", features=8, layers=(90,), encoder="none", input_bits=10)
    write_csv(folder / "no_target.csv", ["x0", "x1"], [[1, 2]])
    write_csv(folder / "text.csv", ["x0", "x1", "y0"], [[1, 2, 3], [1, "high", 3]])
    (folder / "file").write_text("not a folder\n")
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("not a build\n")
    return folder


@pytest.fixture
def at_work(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The workshop as the current folder, with the handlers of signals as they were after it."""
    monkeypatch.chdir(workshop)
    handler = signal.getsignal(signal.SIGTERM)
    yield workshop
    signal.signal(signal.SIGTERM, handler)


def assert_one_line(text: str, message: str) -> None:
    assert text.count("\n") == 1
    assert re.match(f"error: {message}".replace("?", r"\?"), text), text


def test_names_in_a_model_never_reach_the_terminal_as_they_are(
    at_work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = small_arrays()
    meta = oracle.meta_of(arrays) | {"features": ["a\x1b[2J", "[/red]"], "name": "[/red]\x1b[2J"}
    write_model(at_work / "evil.npz", arrays | {"meta": meta_array(meta)})
    build = ["build", "evil.npz", "--out", "evil", *QUICK]
    for arguments in (["show", "evil.npz"], [*build, "--explain"], ["report", "evil"]):
        assert main(arguments) in (0, 2)
        out, err = capsys.readouterr()
        assert all(c.isprintable() or c == "\n" for c in out + err), arguments


def test_data_outside_the_training_range_is_one_line(
    at_work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(at_work / "far.csv", ["y0", "x1", "x0"], [[0, 1e9, 1e9], [0, -1e9, 1e9]])
    build = ["build", "good.npz", "--data", "far.csv", "--out", "far", *QUICK, "--json"]
    assert main(build) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(r"note: data file far\.csv: values outside .* 'x0' in 100\.00% of rows", line)


@pytest.mark.parametrize("name", BAD)
def test_what_goes_wrong_is_one_line(
    name: str,
    at_work: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    case = BAD[name]
    if case.path:
        monkeypatch.setenv("PATH", case.path)
    before = contents(at_work)
    assert main(case.arguments) == case.code
    out, err = capsys.readouterr()
    assert out == ""
    assert_one_line(err, case.message)
    assert left_behind(at_work, before) == {}


# A process of its own for each way to go wrong; `make test-all` has one for every case.
WAYS = ("no command", "unknown board", "below a file", "no model", "small device", "no icarus")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in WAYS else pytest.mark.long) for n in BAD]
)
def test_what_goes_wrong_is_one_line_of_a_process(name: str, workshop: Path) -> None:
    case = BAD[name]
    before = contents(workshop)
    done = run(*case.arguments, cwd=workshop, env={"PATH": case.path} if case.path else None)
    assert (done.returncode, done.stdout) == (case.code, "")
    assert_one_line(done.stderr, case.message)
    assert left_behind(workshop, before) == {}


def left_behind(folder: Path, before: dict[str, bytes]) -> dict[str, bytes]:
    """What is there now and was not; a work folder, and the parent of builds, may be."""
    now = contents(folder)
    assert before.items() <= now.items()
    new = now.keys() - before.keys() - {"rtl_out"}
    return {name: now[name] for name in new if not name.startswith("work/")}


def test_a_build_prints_its_figures_and_nothing_else(
    at_work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for quiet in ((), ("-q",)):
        assert main(["build", "good.npz", *QUICK, "--out", str(tmp_path / "out"), *quiet]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        report = json.loads((tmp_path / "out" / "report.json").read_text())
        assert out.startswith("good for arty-a7 (xc7a100tcsg324-1)\n")
        assert f"PC {report['rmse_pc']:.6f}, hardware {report['rmse_hw']:.6f}" in out
        assert f"latency {report['latency_cycles']} cycle" in out
        assert "LUT of 63,400" in out
        assert f"{tmp_path / 'out'}/" in out.replace("\n", "")


def test_a_build_as_json(at_work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["build", "good.npz", *QUICK, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("folder") == str(out)
    assert told == json.loads((out / "report.json").read_text())


def test_a_build_explains_its_passes(
    at_work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["build", "good.npz", *QUICK, "--out", str(out), "--explain"]) == 0
    table = capsys.readouterr().out.split("passes, with what")[1]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines()]
    rows = [row for row in rows if row]
    assert [row[0] for row in rows] == list(NAMES)
    luts = [int(row[2]) for row in rows]
    saved = [int(row[3]) if row[3] else 0 for row in rows]
    assert saved == [0, *(before - after for before, after in pairwise(luts))]
    # No block RAM was asked for, and nodes of few features have nothing to share.
    assert [row[0] for row in rows if row[5]] == ["block_tables", "share_bits"]
    assert luts[-1] == json.loads((out / "report.json").read_text())["resources"]["lut"]


def test_options_reach_the_design(
    at_work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--part", "xc7z020clg484-1", "--clock", "50", "--frac-bits", "9", "--name", "demo"]
    argv = ["build", "good.npz", *QUICK, "--json", "--out", str(tmp_path / "out")]
    assert main([*argv, *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["part"], told["clock_mhz"], told["name"]) == ("xc7z020clg484-1", 50.0, "demo")
    assert told["formats"]["coefficient_fraction_bits"] == 9
    assert told["device"]["lut"] == 53_200


def test_boards_are_listed(capsys: pytest.CaptureFixture[str], at_work: Path) -> None:
    assert main(["boards"]) == 0
    table = capsys.readouterr().out
    assert main(["boards", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [board["name"] for board in facts] == list(boards.names())
    assert facts[0] == {
        "name": "arty-a7",
        "part": "xc7a100tcsg324-1",
        "clock_mhz": 100.0,
        "lut": 63_400,
        "ff": 126_800,
        "dsp": 240,
        "bram": 135,
        "block": "BRAM36",
    }
    for board in facts:
        for figure in (board["name"], board["part"], f"{board['lut']:,}", f"{board['bram']}"):
            assert figure in table


def test_show_prints_the_program_of_each_stage(
    capsys: pytest.CaptureFixture[str], at_work: Path
) -> None:
    design = load_design(Path("good.npz"), boards.get("arty-a7"), Options())
    programs = {
        ("--after", "load"): design.meaning,
        ("--after", "level_tables"): next(
            stage.program for stage in design.stages if stage.name == "level_tables"
        ),
        (): design.program,
    }
    for stage, program in programs.items():
        assert main(["show", "good.npz", *stage]) == 0
        assert capsys.readouterr() == (f"{program}\n", "")
    assert len({str(program) for program in programs.values()}) == 3


@pytest.mark.parametrize(
    ("simulator", "vectors", "waveform"),
    [("icarus", 216, "icarus/good_core.fst"), ("amaranth", 24, "amaranth.vcd")],
)
def test_sim_runs_one_simulator_and_leaves_a_waveform(
    at_work: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    simulator: str,
    vectors: int,
    waveform: str,
) -> None:
    argv = ["sim", "good.npz", "--simulator", simulator, "--workdir", str(tmp_path / "w")]
    assert main([*argv, "--waves"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert re.match(rf"{simulator} [\d.]+: {vectors} vectors, 0 mismatches, latency \d+ cyc", first)
    assert second == f"waveform: {tmp_path / 'w' / waveform}"
    assert (tmp_path / "w" / waveform).stat().st_size > 300
    assert main([*argv, "--json", "--seed", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["simulator"], told["vectors"], told["mismatches"]) == (simulator, vectors, 0)
    assert (told["failures"], told["waveform"]) == ([], None)


def test_sim_takes_rows_of_ones_own(
    at_work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_csv(tmp_path / "d.csv", ["x0", "x1", "y0"], np.zeros((4, 3)).tolist())
    argv = ["sim", "good.npz", "--simulator", "amaranth", "--data", str(data), "--json"]
    assert main([*argv, "--workdir", str(tmp_path / "w")]) == 0
    assert json.loads(capsys.readouterr().out)["vectors"] == 24


def test_help_says_how(capsys: pytest.CaptureFixture[str], at_work: Path) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["build", "--help"])
    out = capsys.readouterr().out
    for option in (
        "--board",
        "--part",
        "--tolerance",
        "--frac-bits",
        "--data",
        "--out",
        "--no-sim",
    ):
        assert option in out


def run_into(stdout: IO[str], *arguments: str, cwd: Path) -> tuple[int, str]:
    """Exit code and stderr, with stdout as buffered as Python has it by itself."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", [("boards",), ("boards", "--json"), ("show", "good.npz")])
def test_a_reader_that_has_gone_is_no_error(workshop: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        assert run_into(stdout, *arguments, cwd=workshop) == (141, "")


@pytest.mark.parametrize("arguments", ["boards", "boards --json", "show good.npz", "show none.npz"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_outputs_are_no_traceback(workshop: Path, arguments: str, closed: str) -> None:
    line = f"{sys.executable} -m scm_hw {arguments} {closed}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=workshop, capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if "none" in arguments else 0)
    assert done.stderr.count("\n") == ("none" in arguments and "2>" not in closed)


@pytest.mark.parametrize("arguments", [("boards",), ("boards", "--json")])
def test_a_full_disk_is_one_line(workshop: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as stdout:
        code, err = run_into(stdout, *arguments, cwd=workshop)
    assert code == 1
    assert err == (
        "error: [Errno 28] No space left on device; make room, or choose another folder\n"
    )
