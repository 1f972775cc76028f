"""The server behind its line, around a stand-in core."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.errors import LinkError, OptionError
from scm_hw.rtl.uart import (
    Deframer,
    Fault,
    Hello,
    Kind,
    Packet,
    Results,
    Server,
    buffer_capacity,
    predict_request,
)
from scm_hw.rtl.uart.packets import OFFSET, PAGE
from tests.hw.standin import FoldedStandIn, StandIn, standin_vectors

DESCRIPTION = bytes(Random(0).randbytes(PAGE + 50))
# Four cycles for a bit, so that simulation is quick.
HELLO = Hello(
    digest=bytes(range(32)),
    model_digest=bytes(range(32, 64)),
    in_width=24,
    out_width=14,
    capacity=256,
    latency=3,
    interval=1,
    clock_hz=12_000_000,
    baud=3_000_000,
    description_bytes=len(DESCRIPTION),
)
BIT_CYCLES = 4
VECTORS = standin_vectors(60)


class Ear:
    """A receiver of its own, fed with the level of every cycle."""

    def __init__(self) -> None:
        self.host = Deframer()
        self.packets: list[Packet] = []
        self.levels: list[int] = []

    def hear(self, level: int) -> None:
        if level and not self.levels:
            return
        self.levels.append(level)
        if len(self.levels) == BIT_CYCLES * 10:
            bits = self.levels[BIT_CYCLES // 2 :: BIT_CYCLES]
            assert (bits[0], bits[-1]) == (0, 1)
            byte = sum(bit << i for i, bit in enumerate(bits[1:-1]))
            self.packets.extend(self.host.feed(bytes([byte])))
            self.levels = []


def talk(
    core: Component,
    data: bytes,
    replies: int | None,
    hello: Hello = HELLO,
    *,
    broken: int = 0,
    patience: int = 15 * 10 * BIT_CYCLES,
) -> list[Packet]:
    """Send bytes without a pause; the replies until it falls silent, which must be so many.

    `broken` of its frames are to be passed over.
    """
    server = Server(core, hello, DESCRIPTION)
    ear = Ear()
    silent = 0

    async def send(ctx: SimulatorContext) -> None:
        nonlocal silent
        ctx.set(server.rx, 1)
        await ctx.tick().repeat(10)
        for byte in data:
            for bit in (0, *(byte >> i & 1 for i in range(8)), 1):
                ctx.set(server.rx, bit)
                await ctx.tick().repeat(BIT_CYCLES)
        silent = 0
        while silent < patience:
            await ctx.tick()

    async def receive(ctx: SimulatorContext) -> None:
        nonlocal silent
        async for _, _, level in ctx.tick().sample(server.tx):
            ear.hear(level)
            silent = silent + 1 if level else 0

    simulator = Simulator(server)
    simulator.add_clock(1 / HELLO.clock_hz)
    simulator.add_testbench(send)
    simulator.add_process(receive)
    simulator.run()
    assert replies is None or len(ear.packets) == replies
    assert ear.host.refused == broken
    return ear.packets


def samples(first: int, last: int) -> list[bytes]:
    return [word.to_bytes(3, "little") for word in VECTORS.inputs[first:last]]


def check_results(reply: Packet, sequence: int, first: int, last: int, cycles: int) -> None:
    assert (reply.kind, reply.sequence) == (Kind.RESULTS, sequence)
    results = Results.decode(reply.payload, HELLO, last - first)
    assert results == Results(VECTORS.outputs[first:last], cycles)


def error(reply: Packet) -> tuple[int, int]:
    assert reply.kind == Kind.ERROR
    return reply.sequence, reply.payload[0]


def test_hello_and_description() -> None:
    requests = [Packet(Kind.HELLO, 9)]
    offsets = (0, PAGE, len(DESCRIPTION), 0xFFFF)
    requests += [Packet(Kind.DESCRIBE, n, OFFSET.pack(n)) for n in offsets]
    replies = talk(StandIn(), b"".join(request.encode() for request in requests), 5)
    assert (replies[0].kind, replies[0].sequence) == (Kind.HELLO_REPLY, 9)
    assert Hello.decode(replies[0].payload) == HELLO
    assert {reply.kind for reply in replies[1:]} == {Kind.DESCRIPTION}
    assert [reply.sequence for reply in replies[1:]] == list(offsets)
    assert b"".join(reply.payload for reply in replies[1:]) == DESCRIPTION
    assert len(replies[1].payload) == PAGE


@pytest.mark.parametrize("core", [StandIn(), FoldedStandIn()], ids=["pipeline", "folded"])
def test_single_samples_and_batches(core: Component) -> None:
    parts = [(0, 1), (1, 2), (2, 22), (22, 60)]
    requests = [
        predict_request(0x7E00 + n, samples(first, last)) for n, (first, last) in enumerate(parts)
    ]
    assert sum(request.stored_bytes for request in requests) < HELLO.capacity
    replies = talk(core, b"".join(request.encode() for request in requests), len(parts))
    for n, (reply, part) in enumerate(zip(replies, parts, strict=True)):
        check_results(reply, 0x7E00 + n, *part, cycles=core.latency)


def test_bad_requests_are_refused_and_the_next_is_answered() -> None:
    good = predict_request(5, samples(0, 2))
    bad = [
        (Packet(0x55, 1), Fault.UNKNOWN),
        (Packet(Kind.RESULTS, 2, b"abc"), Fault.UNKNOWN),
        (Packet(Kind.HELLO, 3, b"a"), Fault.PAYLOAD),
        (Packet(Kind.DESCRIBE, 4, b"abc"), Fault.PAYLOAD),
        (Packet(Kind.PREDICT, 5), Fault.PAYLOAD),
        (Packet(Kind.PREDICT, 6, bytes([0])), Fault.PAYLOAD),
        (Packet(Kind.PREDICT, 7, bytes([2]) + bytes(5)), Fault.PAYLOAD),
        (Packet(Kind.PREDICT, 8, bytes([1]) + bytes(4)), Fault.PAYLOAD),
        (Packet(Kind.PREDICT, 9, bytes([255]) + bytes(60)), Fault.PAYLOAD),
    ]
    data = b"".join(packet.encode() + good.encode() for packet, _ in bad)
    replies = talk(StandIn(), data, 2 * len(bad), replace(HELLO, capacity=512))
    assert [error(reply) for reply in replies[::2]] == [(p.sequence, code) for p, code in bad]
    for reply in replies[1::2]:
        check_results(reply, 5, 0, 2, cycles=3)


@pytest.mark.parametrize("fault", ["deaf", "dumb"])
def test_a_core_that_never_answers_is_told_of(fault: str) -> None:
    """Sample 5 kills the core; what was asked before it and after it is answered."""
    parts = [(0, 5), (3, 9), (6, 8)]
    requests = [predict_request(n, samples(*part)) for n, part in enumerate(parts)]
    data = b"".join(request.encode() for request in requests)
    replies = talk(StandIn(fault=fault), data, 3, broken=1, patience=1500)
    check_results(replies[0], 0, *parts[0], cycles=3)
    assert error(replies[1]) == (1, Fault.CORE)
    check_results(replies[2], 2, *parts[2], cycles=3)


def test_any_whole_frame_has_one_reply() -> None:
    """Whatever its kind and its payload; a predict of the right size has results."""
    random = Random(20)
    requests = []
    for sequence in range(24):
        kind = random.choice((1, 1, 2, 2, 3, *Kind, random.randrange(256)))
        payload = random.randbytes(random.choice((0, 1, 2, 4, 7, random.randrange(30))))
        requests.append(Packet(kind, sequence, payload))
    data = b"".join(request.encode() for request in requests)
    replies = talk(StandIn(), data, 24, replace(HELLO, capacity=2048))
    for request, reply in zip(requests, replies, strict=True):
        assert reply.sequence == request.sequence
        right = {
            Kind.HELLO: request.payload == b"",
            Kind.DESCRIBE: len(request.payload) == 2,
            Kind.PREDICT: len(request.payload) == 1 + 3 * (request.payload or b"\0")[0] > 1,
        }.get(Kind(request.kind) if request.kind in set(Kind) else Kind.ERROR, False)
        assert (reply.kind != Kind.ERROR) == right
    kinds = {Kind.ERROR, Kind.HELLO_REPLY, Kind.DESCRIPTION}
    assert {reply.kind for reply in replies} >= kinds


def test_noise_is_told_of_and_passed_over() -> None:
    good = predict_request(0x1234, samples(3, 5)).encode()
    torn = bytearray(good)
    torn[8] ^= 4
    replies = talk(StandIn(), b"noise" + good + bytes(torn) + good[:7] + good, 5)
    assert [error(replies[i]) for i in (0, 2, 3)] == [
        (0, Fault.SHORT),
        (0, Fault.CRC),
        (0, Fault.SHORT),
    ]
    for i in (1, 4):
        check_results(replies[i], 0x1234, 3, 5, cycles=3)


def test_more_than_the_buffer_holds_is_refused_whole() -> None:
    """No host does this: it counts what it has sent. What was kept is still answered."""
    requests = [predict_request(n, samples(n, n + 1)) for n in range(60)]
    data = b"".join(request.encode() for request in requests)
    replies = talk(StandIn(), data, None, replace(HELLO, capacity=64))
    answered = [reply for reply in replies if reply.kind == Kind.RESULTS]
    for reply in answered:
        check_results(reply, reply.sequence, reply.sequence, reply.sequence + 1, cycles=3)
    assert [reply.sequence for reply in answered[:9]] == list(range(9))
    errors = {error(reply) for reply in replies if reply not in answered}
    assert errors == {(0, Fault.OVERRUN)}
    assert 30 < len(answered) < 60
    # Larger than the buffer itself.
    request = predict_request(1, samples(0, 40))
    (reply,) = talk(StandIn(), request.encode(), 1, replace(HELLO, capacity=64))
    assert error(reply) == (0, Fault.OVERRUN)


def test_a_hello_survives_the_wire_and_nothing_else_does() -> None:
    assert Hello.decode(HELLO.encode()) == HELLO
    for payload in (b"", HELLO.encode()[:-1], b"XXXX" + HELLO.encode()[4:]):
        with pytest.raises(LinkError, match="hello must be 92 bytes that begin with SCM1"):
            Hello.decode(payload)
    for absurd in ({"in_width": 0}, {"out_width": 0}, {"capacity": 8}):
        with pytest.raises(LinkError, match="must tell widths and a buffer"):
            Hello.decode(replace(HELLO, **absurd).encode())


def test_results_of_another_size_or_design_are_none() -> None:
    payload = HELLO.digest[:4] + b"\x01\x00\x02\x00" + b"\x03\x00\x00\x00"
    assert Results.decode(payload, HELLO, 2) == Results((1, 2), 3)
    assert Results.decode(payload, HELLO, 3) is None
    assert Results.decode(payload[:-1], HELLO, 2) is None
    assert Results.decode(b"x" + payload[1:], HELLO, 2) is None
    # Bits above a result's width.
    assert Results.decode(payload.replace(b"\x02\x00", b"\x02\x40"), HELLO, 2) is None


def test_a_batch_fits_the_buffer() -> None:
    assert HELLO.max_batch == (256 - 6) // 3
    assert replace(HELLO, capacity=4096).max_batch == 255
    assert buffer_capacity(132) == 2048
    assert buffer_capacity(8 * 1500) == 4096
    with pytest.raises(OptionError, match="sample must fit 16384 bytes"):
        buffer_capacity(8 * 16_384)
