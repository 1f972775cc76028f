"""A small board in Verilator behind a pseudo-terminal, and the command lines that talk to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import file_digest, load_design
from scm_hw.design import Design, Options
from scm_hw.errors import LinkError, OptionError, ToolError
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.ir.interp import interpret
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.rows import check_rows
from tests.hw.commands import command, small_model

# The cheapest board to simulate: its clock is slow.
BOARD = boards.get("cmod-a7-35")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulated")


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return small_model(folder / "model.npz", outputs=2, rows=300)


@pytest.fixture(scope="module")
def design(model: Path) -> Design:
    return load_design(model, BOARD, Options(baud=fastest_baud(BOARD)))


@pytest.fixture(scope="module")
def program(design: Design, folder: Path) -> Path:
    return compile_emulator(design, folder, "small")


@pytest.fixture(scope="module")
def emulator(program: Path) -> Iterator[Emulator]:
    with Emulator(program).running() as running:
        yield running


def test_the_board_says_who_it_is(emulator: Emulator, design: Design, model: Path) -> None:
    with Board(emulator.port) as board:
        hello = board.hello
        assert hello.digest.hex() == design.digest
        assert hello.model_digest.hex() == design.model_digest == file_digest(model)
        assert (hello.latency, hello.clock_hz) == (design.schedule.latency, 12_000_000)
        assert isinstance(board.description, Description)
        assert board.description.name == "small"
        with pytest.raises(LinkError, match="board must hold the model ffff, not "):
            board.require_model("ffff")


def test_every_row_is_right(emulator: Emulator, design: Design) -> None:
    rows = check_rows(design, design.model.evaluation)
    with Board(emulator.port) as board:
        outputs, answers = board.predict_integers(rows.inputs)
        single, _ = board.predict_integers(rows.inputs[-1:])
    np.testing.assert_array_equal(outputs, rows.outputs)
    np.testing.assert_array_equal(single, rows.outputs[-1:])
    assert (answers.cycles, answers.repeated) == (design.schedule.latency, 0)


def test_the_comparison_is_the_models_own(emulator: Emulator, design: Design) -> None:
    rows = design.model.evaluation
    assert rows is not None
    with Board(emulator.port) as board:
        found = compare(board, design.model, rows)
    found.check()
    assert (found.rows, found.mismatches) == (300, 0)
    assert found.board == found.interpreter
    assert found.board == pytest.approx(found.pc, rel=1e-3)


def test_rows_survive_noise(program: Path, design: Design) -> None:
    rows = check_rows(design, design.model.evaluation)
    with (
        Emulator(program, noise=0.003, seed=1).running() as noisy,
        Board(noisy.port, tries=20) as board,
    ):
        outputs, answers = board.predict_integers(np.tile(rows.inputs, (4, 1)))
    np.testing.assert_array_equal(outputs, np.tile(rows.outputs, (4, 1)))
    assert answers.repeated > 0


def test_rows_survive_a_board_that_is_unplugged(
    program: Path, design: Design, tmp_path: Path
) -> None:
    rows = check_rows(design, design.model.evaluation)
    link = tmp_path / "tty"
    emulators = [Emulator(program, link=link) for _ in range(3)]
    emulators[0].start()
    started = [0]

    def unplug(done: int) -> None:
        """Twice in mid-run: the board goes, and is there again under the same name."""
        current = len(started)
        if current < 3 and done > 500 * current:
            emulators[current - 1].stop()
            emulators[current].start()
            started.append(done)

    try:
        with Board(str(link)) as board:
            outputs, answers = board.predict_integers(np.tile(rows.inputs, (4, 1)), unplug)
            assert board.returns == 2
    finally:
        emulators[len(started) - 1].stop()
    np.testing.assert_array_equal(outputs, np.tile(rows.outputs, (4, 1)))
    assert len(started) == 3 and answers.repeated > 0
    assert not link.is_symlink()


@pytest.mark.parametrize(
    "units",
    [
        pytest.param((), marks=pytest.mark.long),
        ("--input-format", "x1=adc:9:-3:5", "--output-units"),
    ],
)
def test_the_commands(units: tuple[str, ...], model: Path, tmp_path: Path) -> None:
    """`emulate` says where it is; `run` finds nothing to complain of; a signal ends all."""
    link = tmp_path / "tty"
    argv = command("emulate", model, "--board", BOARD.name, "--link", link, *units)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as board:
        # At once, while the board is compiled, as in the README.
        run = ["run", "--port", str(link), "--model", str(model), "--json"]
        done = subprocess.run(command(*run), capture_output=True, text=True, check=False)
        assert board.stdout is not None
        assert board.stdout.readline() == f"{link}\n"
        other = small_model(tmp_path / "other.npz", seed=9, outputs=2)
        refused = subprocess.run(
            command("run", "--port", link, "--model", other),
            capture_output=True,
            text=True,
            check=False,
        )
        children = Path(f"/proc/{board.pid}/task/{board.pid}/children").read_text().split()
        board.send_signal(signal.SIGTERM)
        _, err = board.communicate(timeout=30)
    assert (done.returncode, done.stderr) == (0, f"waiting for {link}\n")
    record = json.loads(done.stdout)
    assert (record["rows"], record["mismatches"]) == (300, 0)
    assert record["rmse_board"] == record["rmse_interp"]
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: board must hold the model ")
    assert refused.stderr.count("\n") == 1
    assert (board.returncode, err) == (130, "interrupted: the emulator has ended\n")
    assert not link.is_symlink()
    assert len(children) == 1 and not Path(f"/proc/{children[0]}").exists()


def test_run_finds_the_model_that_the_board_holds(
    emulator: Emulator,
    design: Design,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--port", emulator.port]) == 2
    assert f"model {design.model_digest[:16]} of the board must be in" in capsys.readouterr().err
    small_model(tmp_path / "another.npz", seed=9)
    (tmp_path / "rtl_out").mkdir()
    (tmp_path / "rtl_out" / "small.npz").write_bytes(model.read_bytes())
    assert main(["run", "--port", emulator.port]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("RMSE on 300 rows: board ")
    assert lines[1] == "mismatches with the interpreter: 0"


def test_a_wrong_board_is_found_out(
    emulator: Emulator, model: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """A planted fault: the interpreter that it is compared with says something else."""

    def wrong(*arguments: object) -> np.ndarray:
        outputs = interpret(*arguments)  # type: ignore[arg-type]
        outputs[7, 1] += 1
        return outputs

    monkeypatch.setattr("scm_hw.host.compare.interpret", wrong)
    assert main(["run", "--port", emulator.port, "--model", str(model)]) == 1
    assert (
        "differs from the interpreter in 1 of 300 rows (the first is row 7)"
        in capsys.readouterr().err
    )


def test_the_program_dies_with_its_parent(program: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from scm_hw.host.emulator import Emulator\n"
        "e = Emulator(Path(sys.argv[1])); e.start(); print(e.process.pid, flush=True)\n"
        "time.sleep(60)"
    )
    argv = [*command()[:1], "-c", script, str(program)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 20
    while _alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_what_cannot_be_emulated(model: Path, tmp_path: Path) -> None:
    bare = load_design(model, boards.by_part("xc7a35tcpg236-1"), Options())
    with pytest.raises(OptionError, match="board must have a top with a serial port"):
        compile_emulator(bare, tmp_path)
    with pytest.raises(OptionError, match=r"noise must be a share of bytes in \[0, 1\), not 1"):
        Emulator(tmp_path / "x", noise=1.0)
    taken = tmp_path / "taken"
    taken.write_text("mine")
    emulator = Emulator(Path(os.devnull), link=taken)
    with pytest.raises(OptionError, match=r"output .* must be a link, not a file"):
        emulator.start()
    assert taken.read_text() == "mine"


def test_a_link_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    emulator = Emulator(Path(os.devnull), link=tmp_path / "none" / "tty")
    with pytest.raises(OptionError, match=r"link .* can't be made \(No such file or directory\)"):
        emulator.start()


def test_a_board_that_does_not_compile_is_one_line(
    design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scm_hw.host.emulator.run_tool", lambda *_, **__: 1)
    monkeypatch.setattr("scm_hw.host.emulator.telling_line", lambda _: "Error: no compiler")
    message = r"^can't compile the board in verilator: Error: no compiler$"
    with pytest.raises(ToolError, match=message):
        compile_emulator(design, tmp_path)


def test_a_baud_that_was_told_is_kept(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def compiling(design: Design, *_: object) -> Path:
        asked.append(design.options.baud)
        raise OptionError("enough")

    monkeypatch.setattr("scm_hw.cli.board.compile_emulator", compiling)
    for baud in ((), ("--baud", "115200")):
        assert main(["emulate", str(model), "--board", BOARD.name, *baud, "-q"]) == 2
    assert asked == [fastest_baud(BOARD), 115200]
