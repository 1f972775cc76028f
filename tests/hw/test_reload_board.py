"""Another readout for an emulated board: loaded, checked, refused, and taken back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import BuildOptions, build, load_design
from scm_hw.design import Design, Options
from scm_hw.errors import LinkError, MismatchError, OptionError
from scm_hw.host import Board, loading
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.host.loading import load, upload_of
from scm_hw.ir.interp import interpret
from scm_hw.load import Model, read_model
from scm_hw.load.upload import HEADER_BYTES
from scm_hw.rtl.uart import Kind
from scm_hw.rtl.uart.packets import PLACE
from scm_hw.verify.rows import check_rows
from scm_model import write_model
from tests.hw.commands import small_model
from tests.hw.reloading import refitted

BOARD = boards.get("cmod-a7-35")
OPTIONS = Options(reload="readout", baud=fastest_baud(BOARD))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reloaded")


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return small_model(folder / "model.npz", outputs=2, layers=(6,), rows=40)


@pytest.fixture(scope="module")
def later(folder: Path, model: Path) -> Path:
    """The same hidden layer with another readout."""
    write_model(refitted(read_model(model), 5), folder / "later.npz")
    return folder / "later.npz"


@pytest.fixture(scope="module")
def design(model: Path) -> Design:
    return load_design(model, BOARD, OPTIONS)


@pytest.fixture(scope="module")
def program(design: Design, folder: Path) -> Path:
    return compile_emulator(design, folder, "small")


@pytest.fixture
def port(program: Path) -> Iterator[str]:
    with Emulator(program).running() as emulator:
        yield emulator.port


def answers_as(board: Board, design: Design, other: Model | None = None) -> bool:
    """Whether all rows have the integers of the built-in model, or of another."""
    rows = check_rows(design, design.model.evaluation).inputs
    found, _ = board.predict_integers(rows)
    meaning = design.meaning if other is None else upload_of(board.description, other).meaning
    return np.array_equal(found, interpret(meaning, rows))


def test_a_board_is_loaded_and_goes_back(port: str, design: Design, later: Path) -> None:
    other = read_model(later)
    with Board(port) as board:
        assert answers_as(board, design) and not answers_as(board, design, other)
        assert not board.holds_loaded
        told: list[int] = []
        found = load(board, other, progress=told.append)
        assert found.comparison.mismatches == 0 and found.comparison.rows == 40
        assert told[-1] == found.upload_bytes
        assert board.holds_loaded and answers_as(board, design, other)
        board.load(replace(other, readout=-other.readout))
        board.revert()
        assert answers_as(board, design, other)


def test_the_command_loads_and_run_compares(
    port: str, later: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", str(later), "--port", port, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["mismatches"], found["rows"]) == (0, 40)
    assert main(["run", "--port", port, "--model", str(later), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mismatches"] == 0
    # The model that was built in is no longer what answers.
    assert main(["run", "--port", port, "--model", str(model), "--json"])
    assert "differs from the interpreter" in capsys.readouterr().err
    assert main(["run", "--port", port])
    assert "model must be named with --model" in capsys.readouterr().err


def test_a_host_that_is_gone_in_mid_upload_leaves_the_old_model(
    port: str, design: Design, later: Path
) -> None:
    for share in (0, 0.5, 1):
        with Board(port) as board:
            data = upload_of(board.description, read_model(later)).data
            end = HEADER_BYTES + int(share * (len(data) - 1 - HEADER_BYTES))
            board._load(Kind.LOAD, PLACE.pack(0) + data[:HEADER_BYTES])
            board._load(Kind.LOAD, PLACE.pack(HEADER_BYTES) + data[HEADER_BYTES:end])
        with Board(port) as board:
            assert answers_as(board, design)
    with Board(port) as board:
        # Parts that come again or too early are not taken.
        _, taken = board._load(Kind.LOAD, PLACE.pack(HEADER_BYTES) + data[HEADER_BYTES:])
        assert taken == end
        load(board, read_model(later))
        assert answers_as(board, design, read_model(later))


def test_uploads_that_are_wrong_are_refused(port: str, design: Design, later: Path) -> None:
    with Board(port) as board:
        data = upload_of(board.description, read_model(later)).data
        for place, reason in ((0, "another hidden layer"), (17, "length"), (-9, "wrong CRC")):
            torn = bytearray(data)
            torn[place] ^= 0x10
            with pytest.raises(LinkError, match=f"board refused an upload that .*{reason}"):
                board.send_upload(bytes(torn), lambda _: None)
            assert answers_as(board, design)
        with pytest.raises(LinkError, match="must take a whole upload"):
            board.send_upload(data[:-2], lambda _: None)
        assert answers_as(board, design)
        # The bank of the model before is not whole.
        with pytest.raises(LinkError, match="must hold a model to go back to"):
            board.revert()


def test_a_board_that_differs_goes_back(
    port: str, design: Design, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a fault on the board: an entry is another, and all the checks of an upload hold."""
    with Board(port) as board:
        right = upload_of(board.description, read_model(later))
        torn = bytearray(right.data[:-4])
        torn[HEADER_BYTES :: design.loadable.plan.entry_bytes] = bytes(
            byte ^ 4 for byte in torn[HEADER_BYTES :: design.loadable.plan.entry_bytes]
        )
        wrong = bytes(torn) + zlib.crc32(torn).to_bytes(4, "little")
        monkeypatch.setattr(loading, "upload_of", lambda *_: replace(right, data=wrong))
        with pytest.raises(MismatchError, match="the board is back at the model before"):
            load(board, read_model(later))
        assert answers_as(board, design)


def test_a_load_survives_noise(program: Path, design: Design, later: Path) -> None:
    with (
        Emulator(program, noise=0.002, seed=3).running() as noisy,
        Board(noisy.port, tries=20) as board,
    ):
        load(board, read_model(later))
        assert answers_as(board, design, read_model(later))
        board.revert()
        assert answers_as(board, design)


def test_another_machine_is_not_sent(port: str, design: Design, folder: Path) -> None:
    other = read_model(small_model(folder / "other.npz", 9, outputs=2, layers=(6,), rows=40))
    with Board(port) as board:
        with pytest.raises(OptionError, match="model must have the hidden layers"):
            load(board, other)
        assert answers_as(board, design)


def test_a_build_is_enough_for_the_bytes(
    model: Path, later: Path, design: Design, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = BuildOptions(out=tmp_path / "built", simulators=(), synthesis=False)
    build(model, BOARD, OPTIONS, how)
    out = tmp_path / "upload.bin"
    arguments = ["load", str(later), "--build", str(how.out), "--out", str(out)]
    assert main(arguments) == 0 and main(arguments) == 0
    assert out.read_bytes()[: HEADER_BYTES - 4] == design.loadable.plan.digest
    assert zlib.crc32(out.read_bytes()[:-4]).to_bytes(4, "little") == out.read_bytes()[-4:]
    capsys.readouterr()
    out.write_text("mine")
    assert main(arguments)
    assert out.read_text() == "mine"
    assert main(["load", str(later), "--out", str(out)])
    assert "build and out must be given together" in capsys.readouterr().err
    (how.out / "reload.json").unlink()
    assert main([*arguments, "--force"])
    assert "must be the folder of a build with --reload readout" in capsys.readouterr().err
