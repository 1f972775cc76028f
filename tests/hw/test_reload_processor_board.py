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
from scm_hw.errors import LinkError, OptionError
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.host.loading import load
from scm_hw.load.siphash import LoadKey
from scm_model import Model, write_model
from tests.hw.processors import ROOM, machine
from tests.support import random_model

BOARD = boards.get("cmod-a7-35")
KEY = LoadKey(bytes(range(16)))
OPTIONS = Options(reload="all", capacity=ROOM, banks=2, load_key=KEY, baud=fastest_baud(BOARD))


def too_large() -> Model:
    return random_model(3, input_bits=12, layers=(80,))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    design = compile_model(machine("one output"), BOARD, OPTIONS, model_digest="00" * 32)
    program = compile_emulator(design, tmp_path_factory.mktemp("processor"), "small")
    with Emulator(program).running() as emulator:
        yield emulator.port


def test_a_board_runs_one_model_after_the_other(port: str, tmp_path: Path) -> None:
    """In both of its banks, and for nobody without the key."""
    built_in = machine("one output")
    with Board(port) as board:
        assert compare(board, built_in, built_in.evaluation).mismatches == 0
        for bank, kind in enumerate(("families", "two layers")):
            model = machine(kind)
            found = load(board, model, bank=bank, key=KEY).comparison
            assert found.mismatches == 0 and found.rows == len(model.evaluation)
            assert found.cycles == found.promised_cycles
            rows = model.evaluation.inputs
            expected = model.predict(rows)
            span = model.target_max - model.target_min
            found = board.predict(rows, bank=bank)
            assert np.abs(found - expected).max() < 1e-2 * span.max()
        with pytest.raises(OptionError, match="must fit a processor"):
            load(board, too_large(), key=KEY)
        with pytest.raises(OptionError, match="load key must be given"):
            load(board, built_in)
        with pytest.raises(LinkError, match="was made with another key"):
            load(board, built_in, bank=1, key=LoadKey(bytes(16)))
        for bank, kind in enumerate(("families", "two layers")):
            model = machine(kind)
            assert compare(board, model, model.evaluation, bank=bank).mismatches == 0
    with Board(port) as board:
        model = machine("two layers")
        # Of what columns the loaded models are the board doesn't say.
        with pytest.raises(OptionError, match="model must be named before raw rows"):
            board.predict(model.evaluation.inputs, bank=1)
        board.adopt(model, bank=1)
        assert board.predict(model.evaluation.inputs, bank=1).shape == (20, 2)
        load(board, built_in, bank=1, key=KEY)
        with pytest.raises(OptionError, match="load key must be given"):
            board.revert()
        board.revert(KEY)
        assert compare(board, model, model.evaluation, bank=1).mismatches == 0
    path, key = tmp_path / "model.npz", tmp_path / "key"
    write_model(built_in, path)
    key.write_text(KEY.value.hex())
    command = ["load", str(path), "--port", port, "--baud", str(OPTIONS.baud), "-q"]
    assert main([*command, "--bank", "1"]) != 0
    assert main([*command, "--bank", "1", "--load-key", str(key)]) == 0
    with Board(port) as board:
        assert compare(board, built_in, built_in.evaluation, bank=1).mismatches == 0


def test_a_build_is_enough_for_the_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built, other = tmp_path / "built.npz", tmp_path / "other.npz"
    write_model(machine("one output"), built)
    write_model(machine("families"), other)
    how = BuildOptions(out=tmp_path / "built", simulators=(), synthesis=False)
    done = build(built, BOARD, Options(reload="all", capacity=ROOM), how)
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
