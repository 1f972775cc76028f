"""Whole models for an emulated board: loaded in turn, compared, refused, and taken back."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import BuildOptions, build
from scm_hw.design import Options, compile_model
from scm_hw.errors import OptionError
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.host.loading import load
from scm_model import Model, write_model
from tests.hw.processors import ROOM, machine
from tests.support import random_model

BOARD = boards.get("cmod-a7-35")
OPTIONS = Options(reload="all", capacity=ROOM, baud=fastest_baud(BOARD))


def too_large() -> Model:
    return random_model(3, input_bits=12, layers=(80,))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    design = compile_model(machine("one output"), BOARD, OPTIONS, model_digest="00" * 32)
    program = compile_emulator(design, tmp_path_factory.mktemp("processor"), "small")
    with Emulator(program).running() as emulator:
        yield emulator.port


def test_a_board_runs_one_model_after_the_other(port: str, tmp_path: Path) -> None:
    built_in = machine("one output")
    with Board(port) as board:
        assert compare(board, built_in, built_in.evaluation).mismatches == 0
        for kind in ("families", "two layers"):
            model = machine(kind)
            found = load(board, model).comparison
            assert found.mismatches == 0 and found.rows == len(model.evaluation)
            assert found.cycles == found.promised_cycles
            rows = model.evaluation.inputs
            expected = model.predict(rows)
            span = model.target_max - model.target_min
            assert np.abs(board.predict(rows) - expected).max() < 1e-2 * span.max()
        with pytest.raises(OptionError, match="must fit a processor"):
            load(board, too_large())
        assert compare(board, model, model.evaluation).mismatches == 0
    with Board(port) as board:
        # Of what columns the loaded model is the board doesn't say.
        with pytest.raises(OptionError, match="model must be named before raw rows"):
            board.predict(machine("two layers").evaluation.inputs)
        board.adopt(machine("two layers"))
        assert board.predict(machine("two layers").evaluation.inputs).shape == (20, 2)
        board.revert()
        families = machine("families")
        assert compare(board, families, families.evaluation).mismatches == 0
    path = tmp_path / "model.npz"
    write_model(built_in, path)
    assert main(["load", str(path), "--port", port, "--baud", str(OPTIONS.baud), "-q"]) == 0
    with Board(port) as board:
        assert compare(board, built_in, built_in.evaluation).mismatches == 0


def test_a_build_is_enough_for_the_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built, other = tmp_path / "built.npz", tmp_path / "other.npz"
    write_model(machine("one output"), built)
    write_model(machine("families"), other)
    how = BuildOptions(out=tmp_path / "built", simulators=(), synthesis=False)
    done = build(built, BOARD, OPTIONS, how)
    plan = done.design.processor
    assert done.report["latency_cycles"] == plan.latency
    assert done.report["processor"]["capacity"]["steps"] == 90
    out = tmp_path / "upload.bin"
    assert main(["load", str(other), "--build", str(how.out), "--out", str(out)]) == 0
    data = out.read_bytes()
    assert data[:16] == plan.capacity.digest
    assert zlib.crc32(data[:-4]).to_bytes(4, "little") == data[-4:]
    assert main(["load", str(built), "--build", str(how.out), "--out", str(out)]) == 0
    capsys.readouterr()
    large = tmp_path / "large.npz"
    write_model(too_large(), large)
    assert main(["load", str(large), "--build", str(how.out), "--out", str(out)])
    assert "must fit a processor" in capsys.readouterr().err
    assert out.read_bytes() != data
