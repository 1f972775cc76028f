"""Families with all that a build can be asked for: boards, tables, clocks, interfaces and tops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw import boards
from scm_hw.boards.top import SelfTest
from scm_hw.common.names import DEFAULT
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.emit import interface_files
from scm_hw.host import Board
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.verify import run_interface
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from scm_model import Model
from tests.hw.test_boards import watch_self_test
from tests.hw.test_families import KINDS, family_model

#: One board of each technology, with a clock that takes registers within the sums.
BOARDS = {"arty-a7": 250.0, "ulx3s-85f": 120.0, "icebreaker": 40.0}
CHOICES = [
    {"tables": "lut", "pipeline": "balanced"},
    {"tables": "block", "pipeline": "min-latency"},
    {"tables": "auto", "pipeline": "max-clock"},
    {"tables": "lut", "pipeline": "balanced", "fast": True},
]


def designed(model: Model, board: str, fast: bool = False, **options: object) -> Design:
    clock = BOARDS[board] if fast else None
    return compile_model(
        model, boards.get(board), Options(multipliers="lut", clock_mhz=clock, **options)
    )


@pytest.mark.parametrize(("outputs", "classes"), KINDS)
@pytest.mark.parametrize("board", BOARDS)
def test_every_board_tables_and_clock(
    board: str, outputs: int, classes: int, tmp_path: Path
) -> None:
    """All of them in Amaranth's simulator, and one in Icarus, of other choices for each kind."""
    verilog = (list(BOARDS).index(board) + KINDS.index((outputs, classes))) % len(CHOICES)
    for number, choice in enumerate(CHOICES):
        design = designed(family_model(10 + number, outputs, classes), board, **choice)
        rows = check_rows(design, design.model.evaluation)
        workdir = tmp_path / str(number)
        workdir.mkdir()
        simulate(design, rows, "amaranth", workdir).check()
        if number == verilog:
            simulate(design, rows, "icarus", workdir).check()


@pytest.mark.parametrize("board", BOARDS)
def test_a_fast_clock_puts_registers_between_the_families(board: str) -> None:
    slow, fast = (designed(family_model(10, 1, 0), board, fast=fast) for fast in (False, True))
    assert fast.schedule.latency >= slow.schedule.latency + 2


def wrapped(design: Design, folder: Path) -> list[Path]:
    interface = design.options.interface
    files = {f"{CORE}.v": design.verilog}
    files |= interface_files(interface, design.ports, design.digest, design.board)
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / f"{CORE}.v", folder / f"{DEFAULT.wrapper(interface)}.v"]


@pytest.mark.parametrize(("outputs", "classes"), [(2, 0), (3, 3)])
@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_every_interface(interface: str, outputs: int, classes: int, tmp_path: Path) -> None:
    design = designed(family_model(3, outputs, classes), "arty-a7", interface=interface)
    vectors = check_rows(design, design.model.evaluation).vectors(design)
    vectors = replace(vectors, inputs=vectors.inputs[:40], outputs=vectors.outputs[:40])
    assert len(set(vectors.outputs)) > 2
    sources = wrapped(design, tmp_path)
    arguments = (interface, sources, vectors, design.ports, design.digest, "icarus")
    assert run_interface(*arguments, workdir=tmp_path)


@pytest.mark.parametrize("board", BOARDS)
def test_the_self_test_top(board: str) -> None:
    design = designed(family_model(4, 3, 3), board, top="self-test")
    vectors = check_rows(design, design.model.evaluation).vectors(design)
    vectors = replace(vectors, inputs=vectors.inputs[:20], outputs=vectors.outputs[:20])
    test = SelfTest(design.new_core(), vectors, blink_cycles=10)
    assert watch_self_test(test, (test.passed, test.failed), 600)[-1] == (1, 0)
    wrong = replace(vectors, outputs=(vectors.outputs[0] ^ 1, *vectors.outputs[1:]))
    test = SelfTest(design.new_core(), wrong, blink_cycles=10)
    assert watch_self_test(test, (test.passed, test.failed), 600)[-1] == (0, 1)


@pytest.mark.long
def test_the_uart_top(tmp_path: Path) -> None:
    """In Verilator, behind a serial port; each of three classes is answered."""
    board = boards.get("cmod-a7-35")
    options = Options(baud=fastest_baud(board))
    design = compile_model(family_model(5, 3, 3), board, options, model_digest="0" * 64)
    rows = check_rows(design, design.model.evaluation)
    assert len(np.unique(rows.outputs)) == 3
    emulator = Emulator(compile_emulator(design, tmp_path, "families"))
    with emulator.running() as running, Board(running.port) as link:
        outputs, _ = link.predict_integers(rows.inputs)
    assert_array_equal(outputs, rows.outputs)
