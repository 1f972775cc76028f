"""The host against a board that keeps the protocol, and against ones that don't."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pandas
import pytest

from scm_hw import boards
from scm_hw.common.packing import pack, unpack
from scm_hw.design import compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import LinkError, OptionError, RangeWarning
from scm_hw.host import Board, exchange, link
from scm_hw.host import board as host_board
from scm_hw.host.link import LostError
from scm_hw.ir.interp import interpret
from scm_hw.rtl.uart import Fault, Kind, Packet
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.rows import hardware_inputs
from tests.hw.fake_board import FakeBoard
from tests.hw.standin import standin_hello
from tests.support import random_model

ARTY = boards.get("arty-a7")
HELLO = standin_hello(ARTY)
WORDS = [Random(4).getrandbits(24) for _ in range(3000)]


def function(word: int) -> int:
    return 3 * (word & 0xFFF) + (word >> 12)


EXPECTED = tuple(function(word) for word in WORDS)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "QUIET_SECONDS", 0.3)
    monkeypatch.setattr(host_board, "HELLO_SECONDS", 0.3)
    monkeypatch.setattr(host_board, "RETRY_SECONDS", 0.05)


def test_all_words_are_answered_in_order_and_within_the_buffer() -> None:
    done: list[int] = []
    with FakeBoard(HELLO, function).running() as fake, Board(fake.port) as board:
        answers = board.predict_words(WORDS, done.append)
        assert board.predict_words([]).words == ()
        assert board.predict_words(WORDS[:1]).words == EXPECTED[:1]
    assert (answers.words, answers.cycles, answers.repeated) == (EXPECTED, HELLO.latency, 0)
    assert not fake.overrun
    assert done == sorted(done) and done[-1] == len(WORDS)


@pytest.mark.parametrize("seed", range(4))
def test_a_line_that_spoils_replies_gives_right_answers_in_the_end(seed: int) -> None:
    random = Random(seed)

    def spoil(_: Packet, reply: Packet) -> bytes:
        data = bytearray(reply.encode())
        match random.randrange(8):
            case 0:
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            case 1:
                del data[random.randrange(len(data))]
            case 2:
                data = bytearray(random.randbytes(random.randrange(1, 9))) + data
            case 3 if random.random() < 0.2:
                data.clear()
        return bytes(data)

    with FakeBoard(HELLO, function, answer=spoil).running() as fake, Board(fake.port) as board:
        answers = board.predict_words(WORDS)
    assert answers.words == EXPECTED
    assert answers.repeated > 0
    assert not fake.overrun


def test_replies_to_nobody_are_passed_over() -> None:
    """Doubled, of another sequence number, or of a type that nobody knows."""

    def chatter(_: Packet, reply: Packet) -> bytes:
        other = replace(reply, sequence=reply.sequence ^ 0x8000)
        unknown = Packet(0x99, reply.sequence, b"?")
        return unknown.encode() + other.encode() + 2 * reply.encode()

    with FakeBoard(HELLO, function, answer=chatter).running() as fake, Board(fake.port) as board:
        assert board.predict_words(WORDS).words == EXPECTED


def test_results_of_another_design_are_not_accepted() -> None:
    """Programmed anew under an open port: the tag in its replies tells."""
    fake = FakeBoard(HELLO, function)
    with fake.running(), Board(fake.port) as board:
        fake.hello = replace(HELLO, digest=bytes(32))
        with pytest.raises(LinkError, match="results of the design 0001020304050607, not"):
            board.predict_words(WORDS[:5])


def test_a_refusal_that_is_no_accident_ends_the_run() -> None:
    def refuse(request: Packet, reply: Packet) -> bytes:
        if request.kind == Kind.PREDICT:
            return Packet(Kind.ERROR, request.sequence, bytes([Fault.PAYLOAD])).encode()
        return reply.encode()

    with (
        FakeBoard(HELLO, function, answer=refuse).running() as fake,
        Board(fake.port) as board,
        pytest.raises(LinkError, match="board refused a request whose payload"),
    ):
        board.predict_words(WORDS)


def test_a_silent_port_is_no_board() -> None:
    silent = FakeBoard(HELLO, function, answer=lambda *_: b"")
    with silent.running(), pytest.raises(LinkError, match="doesn't answer at 1000000 baud"):
        Board(silent.port, tries=2)
    assert silent.requests == 2
    with pytest.raises(LostError, match=r"can't open port /nowhere: .*; check that the board"):
        Board("/nowhere")


def test_a_hello_that_makes_no_sense_is_refused() -> None:
    wrong = FakeBoard(replace(HELLO, in_width=0), function)
    with wrong.running(), pytest.raises(LinkError, match="hello must tell widths"):
        Board(wrong.port)


def test_a_board_that_falls_silent_is_given_up_in_time() -> None:
    quiet = False

    def once(_: Packet, reply: Packet) -> bytes:
        return b"" if quiet else reply.encode()

    with (
        FakeBoard(HELLO, function, answer=once).running() as fake,
        Board(fake.port, tries=1, return_seconds=0.5) as board,
    ):
        quiet = True
        start = time.monotonic()
        with pytest.raises(LinkError, match="doesn't answer"):
            board.predict_words(WORDS)
        assert time.monotonic() - start < 10


def test_a_core_that_never_answers_ends_the_run() -> None:
    def dead(request: Packet, reply: Packet) -> bytes:
        if request.kind != Kind.PREDICT:
            return reply.encode()
        broken = Packet(reply.kind, reply.sequence, reply.payload[:4]).encode()
        return broken[:-6] + Packet(Kind.ERROR, request.sequence, bytes([Fault.CORE])).encode()

    with (
        FakeBoard(HELLO, function, answer=dead).running() as fake,
        Board(fake.port) as board,
        pytest.raises(LinkError, match="refused a request that its core did not answer"),
    ):
        board.predict_words(WORDS)


def test_a_line_that_brings_nothing_whole_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "STALL_SECONDS", 1.0)

    def spoil(request: Packet, reply: Packet) -> bytes:
        data = bytearray(reply.encode())
        data[3] ^= request.kind == Kind.PREDICT
        return bytes(data)

    with (
        FakeBoard(HELLO, function, answer=spoil).running() as fake,
        Board(fake.port) as board,
        pytest.raises(LinkError, match=r"must bring a whole reply within 1 s"),
    ):
        board.predict_words(WORDS)


def moving_link(path: Path, port: str) -> None:
    aside = path.with_suffix(".new")
    aside.symlink_to(port)
    os.replace(aside, path)


@pytest.mark.parametrize("same", [True, False])
def test_a_board_that_comes_back_must_be_the_same(tmp_path: Path, same: bool) -> None:
    link = tmp_path / "tty"
    gone = threading.Event()
    again = FakeBoard(HELLO if same else replace(HELLO, digest=bytes(32)), function)

    def vanish(request: Packet, reply: Packet) -> bytes:
        if first.requests > 6:
            gone.set()
            return b""
        return reply.encode()

    first = FakeBoard(HELLO, function, answer=vanish)
    outcome: list[object] = []

    def run() -> None:
        with Board(str(link), return_seconds=10) as board:
            try:
                outcome.append(board.predict_words(WORDS).words)
                outcome.append(board.returns)
            except LinkError as error:
                outcome.append(str(error))

    with first.running():
        moving_link(link, first.port)
        thread = threading.Thread(target=run)
        thread.start()
        assert gone.wait(10)
    with again.running():
        moving_link(link, again.port)
        thread.join(30)
    if same:
        assert outcome == [EXPECTED, 1]
    else:
        assert "must have the same design after its return, not 0000000000000000" in str(outcome)


KINDS = [
    {"layers": (5,), "features": 3},
    {"layers": (4,), "mechanism": "external", "outputs": 2},
    {"layers": (4,), "task": "classification", "outputs": 3},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_raw_rows_become_what_the_model_makes_of_them(kind: dict) -> None:
    model = random_model(2, **kind)
    design = compile_model(model, ARTY)
    meaning = Description.decode(describe(design, "demo").encode())
    assert meaning == describe(design, "demo")
    rows = model.evaluation
    assert rows is not None
    inputs = hardware_inputs(design, rows.inputs, rows.mechanism)
    np.testing.assert_array_equal(meaning.inputs(rows.inputs, rows.mechanism), inputs)
    results = interpret(design.meaning, inputs)
    units = meaning.units(results)
    if model.is_classifier:
        assert units.tolist() == [f"class {i}" for i in results[:, 0]]
    else:
        span = model.target_max - model.target_min
        expected = results / 2.0**design.fixed.grid_bits * span + model.target_min
        np.testing.assert_allclose(units, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_predict_by_the_boards_own_description(kind: dict) -> None:
    model = random_model(2, **kind)
    design = compile_model(model, ARTY)
    description = describe(design).encode()
    ports = design.ports
    hello = replace(
        HELLO,
        in_width=sum(ports.in_widths),
        out_width=sum(ports.out_widths),
        description_bytes=len(description),
    )
    meaning = describe(design)

    def core(word: int) -> int:
        row = unpack([word], meaning.in_widths, [r.signed for r in design.input_ranges])
        return pack(interpret(design.meaning, row), meaning.out_widths)[0]

    rows = model.evaluation
    assert rows is not None
    with FakeBoard(hello, core, description).running() as fake, Board(fake.port) as board:
        found = board.predict(rows.inputs, rows.mechanism)
        shuffled = pandas.DataFrame(rows.inputs, columns=model.features).assign(note="a")
        shuffled = shuffled[["note", *reversed(model.features)]]
        np.testing.assert_array_equal(board.predict(shuffled, rows.mechanism), found)
        with pytest.raises(OptionError, match=r"^rows must have a column 'x0', not only 'note', "):
            board.predict(shuffled.drop(columns="x0"), rows.mechanism)
        with pytest.warns(
            RangeWarning, match="^values outside of their range .* 'x1' in 100.00% of"
        ):
            board.predict(shuffled.assign(x1=1e6), rows.mechanism)
        with pytest.raises(OptionError, match="rows must have 3 columns"):
            board.predict(rows.inputs[:, :2], rows.mechanism)
        with pytest.raises(OptionError, match="must be finite"):
            board.predict(rows.inputs * np.inf, rows.mechanism)
    inputs = meaning.inputs(rows.inputs, rows.mechanism)
    np.testing.assert_array_equal(found, meaning.units(interpret(design.meaning, inputs)))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"name":1,"features":[],"words":[],"outputs":[],"classes":null,"frac_bits":1,"tolerance":null}',
        b'{"name":"","features":[["x",0,0,1]],"words":[],"outputs":[],"classes":null,"frac_bits":1,"tolerance":null}',
        b'{"name":"","features":[["x",9,0]],"words":[],"outputs":[],"classes":null,"frac_bits":1,"tolerance":null}',
        b'{"name":"","features":[["x",9,NaN,1]],"words":[],"outputs":[],"classes":[],"frac_bits":1,"tolerance":null}',
        b"[" * 100_000,
    ],
)
def test_descriptions_that_make_no_sense_are_refused(text: bytes) -> None:
    with pytest.raises(LinkError, match="description must be what this version writes"):
        Description.decode(text)


def test_a_board_without_a_description_takes_no_raw_rows() -> None:
    hello = replace(HELLO, description_bytes=0)
    with (
        FakeBoard(hello, function).running() as fake,
        Board(fake.port) as board,
        pytest.raises(OptionError, match="board holds no description of its formats"),
    ):
        board.predict(np.zeros((2, 2)))


def test_a_description_of_other_widths_is_refused() -> None:
    description = describe(compile_model(random_model(2, **KINDS[0]), ARTY)).encode()
    hello = replace(HELLO, description_bytes=len(description))
    for sent, complaint in (
        (description, "description must have 24 and 14 bits, not"),
        (b"x", "not end after 1 or go on after 1"),
    ):
        with (
            FakeBoard(hello, function, sent).running() as fake,
            Board(fake.port) as board,
            pytest.raises(LinkError, match=complaint),
        ):
            _ = board.description


def test_a_port_that_is_being_made_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "APPEAR_SECONDS", 0.3)
    told: list[str] = []
    port = tmp_path / "board"
    start = time.monotonic()
    link.await_port(str(port), told.append)
    assert time.monotonic() - start < 5 and told == [f"waiting for {port}"]
    with link.announced(port):
        maker = threading.Timer(1.0, lambda: port.symlink_to("/dev/null"))
        maker.start()
        link.await_port(str(port), told.append)
    assert port.exists() and len(told) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board"]
    link.await_port(str(port), told.append)
    link.await_port("/dev/ttyNOBODY", told.append)
    assert len(told) == 2


def test_a_maker_that_was_killed_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "APPEAR_SECONDS", 0.2)
    link.making(tmp_path / "board").touch()
    start = time.monotonic()
    link.await_port(str(tmp_path / "board"), lambda _: None)
    assert time.monotonic() - start < 5
