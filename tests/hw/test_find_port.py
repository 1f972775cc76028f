"""The board is found among serial ports of every kind, pseudo-terminals in the place of cables."""

from __future__ import annotations

import json
import os
import threading
import tty
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from serial.tools import list_ports

from scm_hw import boards
from scm_hw.build import load_design
from scm_hw.cli.commands import build_parser
from scm_hw.common.packing import pack, unpack
from scm_hw.design import Options
from scm_hw.emit.identity import identity
from scm_hw.errors import LinkError, OptionError
from scm_hw.host import board as host_board
from scm_hw.host.compare import find_port
from scm_hw.ir.interp import interpret
from tests.hw.commands import small_model
from tests.hw.fake_board import FakeBoard
from tests.hw.standin import standin_hello

ARTY = boards.get("arty-a7")
BAUD = 1_000_000
HELLO = standin_hello(ARTY)


@dataclass(frozen=True)
class Found:
    device: str
    vid: int | None


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_board, "HELLO_SECONDS", 0.3)


@contextmanager
def terminal(says: bytes = b"") -> Iterator[tuple[str, list[bytes]]]:
    """Something else at a port, that talks by itself; and what it was told."""
    master, slave = os.openpty()
    tty.setraw(slave)
    heard: list[bytes] = []
    stop = threading.Event()

    def talk() -> None:
        os.set_blocking(master, False)
        while not stop.wait(0.01):
            with suppress(BlockingIOError):
                heard.append(os.read(master, 4096))
            with suppress(BlockingIOError):
                os.write(master, says)

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    try:
        yield os.ttyname(slave), heard
    finally:
        stop.set()
        thread.join()
        os.close(master)
        os.close(slave)


def plug_in(monkeypatch: pytest.MonkeyPatch, ports: list[Found]) -> None:
    monkeypatch.setattr(list_ports, "comports", lambda: ports)


def test_the_board_is_found_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    other = FakeBoard(replace(HELLO, model_digest=bytes(32)), lambda word: 0)
    right = FakeBoard(HELLO, lambda word: 0)
    with ExitStack() as stack:
        silent, _ = stack.enter_context(terminal())
        noisy, _ = stack.enter_context(terminal(Random(1).randbytes(200)))
        internal, told = stack.enter_context(terminal())
        stack.enter_context(other.running())
        stack.enter_context(right.running())
        names = [silent, noisy, other.port, "/nowhere", right.port]
        plug_in(monkeypatch, [Found(internal, None), *(Found(name, 0x403) for name in names)])
        assert find_port(BAUD) == other.port
        assert find_port(BAUD, HELLO.model_digest.hex()) == right.port
        with pytest.raises(LinkError, match=r"/nowhere, \S+ \(another model\)\); connect one"):
            find_port(BAUD, "ab" * 32)
        # What is no USB cable is left alone.
        assert told == []


def test_no_port_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, [])
    with pytest.raises(LinkError, match=r"\(tried: none\); connect one, or name its port"):
        find_port(BAUD)


@pytest.mark.parametrize("port", [(), ("--port", "auto")], ids=str)
def test_run_finds_its_board(
    port: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = small_model(tmp_path / "model.npz")
    design = load_design(path, ARTY, Options())
    hello, description = identity(design)
    ports = design.ports

    def core(word: int) -> int:
        row = unpack([word], list(ports.in_widths), [False] * len(ports.in_widths))
        return pack(interpret(design.meaning, row), ports.out_widths)[0]

    other = FakeBoard(HELLO, lambda word: 0)
    board = FakeBoard(hello, core, description)
    with other.running(), board.running():
        plug_in(monkeypatch, [Found(other.port, 1), Found(board.port, 1)])
        args = build_parser().parse_args(["run", *port, "--model", str(path), "--json"])
        args.run(args)
    assert json.loads(capsys.readouterr().out)["mismatches"] == 0


def test_a_model_without_rows_needs_some(tmp_path: Path) -> None:
    path = small_model(tmp_path / "model.npz", rows=0)
    hello, description = identity(load_design(path, ARTY, Options()))
    with FakeBoard(hello, lambda word: 0, description).running() as board:
        args = build_parser().parse_args(["run", "--port", board.port, "--model", str(path)])
        with pytest.raises(OptionError, match="must have test rows, not none; name a CSV file"):
            args.run(args)
