"""Frames in hardware beside frames in Python, on good, bad and random bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from random import Random

import pytest
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.rtl.uart import Deframer, Fault, FrameBuffer, Framer, Packet
from scm_hw.rtl.uart.packets import ESCAPE, FLAG, HEADER, MAX_CONTENT

SPECIAL = bytes([FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20])
# Where the line reports a byte without its stop bit.
BROKEN = -1


def random_packet(random: Random, most: int = 40) -> Packet:
    """With more bytes that need escaping than chance would have it."""
    size = random.choice((0, 1, random.randrange(most)))
    pool = random.choice((SPECIAL, bytes(range(256))))
    payload = bytes(random.choice(pool) for _ in range(size))
    return Packet(random.choice((1, 2, 3, FLAG, 255)), random.getrandbits(16), payload)


def damaged(frame: bytes, random: Random) -> bytes:
    """One thing wrong: a bit, a byte lost, doubled or between, the end missing, or pure noise."""
    place = random.randrange(len(frame))
    match random.randrange(6):
        case 0:
            changed = bytearray(frame)
            changed[place] ^= 1 << random.randrange(8)
            return bytes(changed)
        case 1:
            return frame[:place] + frame[place + 1 :]
        case 2:
            return frame[:place] + frame[place : place + 1] + frame[place:]
        case 3:
            return frame[:place] + random.randbytes(random.randrange(1, 4)) + frame[place:]
        case 4:
            return frame[:place]
        case _:
            return bytes(random.choice(SPECIAL) for _ in range(random.randrange(1, 30)))


def line(random: Random, frames: int) -> bytes:
    """Good frames and damaged ones."""
    found = b""
    for _ in range(frames):
        frame = random_packet(random).encode()
        found += damaged(frame, random) if random.random() < 0.5 else frame
    return found


def run_buffer(
    data: Sequence[int],
    *,
    capacity: int = 256,
    patience: int = 1000,
    reading: float = 1.0,
    until: int | None = None,
    idle: int = 300,
) -> tuple[list[bytes], list[int]]:
    """The frames that come out, and the codes of those that don't."""
    buffer = FrameBuffer(capacity=capacity, patience=patience)
    frames: list[bytes] = []
    faults: list[int] = []
    random = Random(5)
    started = until is None

    async def drive(ctx: SimulatorContext) -> None:
        nonlocal started
        for number, byte in enumerate(data):
            ctx.set(buffer.line_error, byte == BROKEN)
            ctx.set(buffer.strobe, byte != BROKEN)
            ctx.set(buffer.data, byte & 0xFF)
            await ctx.tick()
            started = started or number == until
        ctx.set(buffer.strobe, 0)
        ctx.set(buffer.line_error, 0)
        started = True
        await ctx.tick().repeat(idle)

    async def read(ctx: SimulatorContext) -> None:
        content = bytearray()
        ready = False
        signals = (buffer.o.valid, buffer.o.payload, buffer.fault, buffer.code)
        async for _, _, valid, payload, fault, code in ctx.tick().sample(*signals):
            if fault:
                faults.append(code)
            if valid and ready:
                content.append(payload.data)
                if payload.last:
                    frames.append(bytes(content))
                    content.clear()
            ready = started and random.random() < reading
            ctx.set(buffer.o.ready, ready)

    simulator = Simulator(buffer)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.add_process(read)
    simulator.run()
    return frames, faults


def content(packet: Packet) -> bytes:
    """What the buffer keeps of it."""
    return HEADER.pack(packet.kind, packet.sequence, len(packet.payload)) + packet.payload


@pytest.mark.parametrize("seed", range(6))
def test_the_buffer_keeps_what_the_host_would(seed: int) -> None:
    data = line(Random(seed), 60) + bytes([FLAG])
    host = Deframer()
    expected = [content(packet) for packet in host.feed(data)]
    frames, faults = run_buffer(data, capacity=1024)
    assert frames == expected
    assert len(expected) > 15
    assert len(faults) == host.refused > 15
    assert set(faults) <= {Fault.CRC, Fault.SHORT}


def test_each_fault_has_its_code_and_the_next_frame_is_right() -> None:
    good = Packet(3, 7, b"abc")
    wrong_length = bytearray(content(good))
    wrong_length[3] += 1
    cases = {
        Fault.LINE: [*good.encode()[:5], BROKEN, *good.encode()[5:]],
        Fault.CRC: [FLAG, *b"0123456789", FLAG],
        Fault.SHORT: [FLAG, *b"01234567", FLAG],
        Fault.LENGTH: list(_framed(bytes(wrong_length))),
        Fault.OVERRUN: list(Packet(3, 1, bytes(70)).encode()),
    }
    for code, data in cases.items():
        frames, faults = run_buffer([*data, *good.encode()], capacity=64)
        assert (frames, faults) == ([content(good)], [code]), code


def _framed(body: bytes) -> bytes:
    """A frame with a right CRC around any body."""
    whole = body + zlib.crc32(body).to_bytes(4, "little")
    return bytes([FLAG]) + whole + bytes([FLAG])


def test_a_frame_that_stays_open_is_dropped() -> None:
    good = Packet(3, 7, b"abc")
    frames, faults = run_buffer(good.encode()[:-1], patience=50, idle=200)
    assert (frames, faults) == ([], [Fault.TIMEOUT])
    # Nothing is open between frames, however long that takes.
    assert run_buffer(good.encode(), patience=50, idle=200) == ([content(good)], [])


def test_what_does_not_fit_is_refused_and_what_does_is_kept() -> None:
    """Nothing is read until all is sent: the first frames fill the buffer to its last byte."""
    frames = [Packet(3, n, bytes(11)) for n in range(6)]
    data = b"".join(packet.encode() for packet in frames)
    assert frames[0].stored_bytes == 16
    kept, faults = run_buffer(data, capacity=64, until=len(data) - 1)
    assert kept == [content(packet) for packet in frames[:4]]
    assert faults == [Fault.OVERRUN] * 2


def test_a_frame_that_lacks_room_for_its_last_byte_is_refused() -> None:
    frames = [Packet(3, n, bytes(11)) for n in range(3)]
    data = b"".join(packet.encode() for packet in frames)
    for size, fits in ((11, True), (12, False)):
        last = Packet(3, 9, bytes(size))
        kept, faults = run_buffer(
            data + last.encode(), capacity=64, until=len(data + last.encode()) - 1
        )
        assert kept == [content(packet) for packet in (frames + [last] if fits else frames)]
        assert faults == ([] if fits else [Fault.OVERRUN])


@pytest.mark.parametrize("reading", [0.9, 0.2])
def test_a_reader_that_stalls_misses_nothing(reading: float) -> None:
    packets = [random_packet(Random(n)) for n in range(20)]
    data = b"".join(packet.encode() for packet in packets)
    frames, faults = run_buffer(data, capacity=1024, reading=reading, idle=4000)
    assert frames == [content(packet) for packet in packets]
    assert faults == []


@pytest.mark.parametrize("taking", [1.0, 0.4])
def test_the_framer_writes_what_the_host_would(taking: float) -> None:
    framer = Framer()
    random = Random(3)
    packets = [random_packet(random) for _ in range(40)]
    expected = b"".join(packet.encode() for packet in packets)
    found = bytearray()

    async def send(ctx: SimulatorContext) -> None:
        for packet in packets:
            body = content(packet)
            for i, byte in enumerate(body):
                ctx.set(framer.i.payload, {"data": byte, "last": i == len(body) - 1})
                ctx.set(framer.i.valid, 1)
                await ctx.tick().until(framer.i.ready)
                if random.random() < 0.3:
                    ctx.set(framer.i.valid, 0)
                    await ctx.tick()
        ctx.set(framer.i.valid, 0)
        await ctx.tick().repeat(100)

    async def take(ctx: SimulatorContext) -> None:
        ready = False
        async for _, _, valid, byte in ctx.tick().sample(framer.o.valid, framer.o.payload):
            if valid and ready:
                found.append(byte)
            ready = random.random() < taking
            ctx.set(framer.o.ready, ready)

    simulator = Simulator(framer)
    simulator.add_clock(1e-8)
    simulator.add_testbench(send)
    simulator.add_process(take)
    simulator.run()
    assert bytes(found) == expected


def chunks(data: bytes, random: Random) -> Iterable[bytes]:
    while data:
        size = random.randrange(1, 20)
        yield data[:size]
        data = data[size:]


@pytest.mark.parametrize("seed", range(20))
def test_the_host_accepts_only_frames_that_were_sent(seed: int) -> None:
    random = Random(seed)
    sent = [random_packet(random) for _ in range(200)]
    data = b""
    for packet in sent:
        data += damaged(packet.encode(), random) if random.random() < 0.5 else packet.encode()
    host = Deframer()
    found = [packet for chunk in chunks(data, random) for packet in host.feed(chunk)]
    # In order, and no others; a damaged frame may still be whole, as one with a flag doubled is.
    remaining = iter(sent)
    assert all(packet in remaining for packet in found)
    assert len(found) > 60


def test_the_host_forgets_a_frame_without_end() -> None:
    host = Deframer()
    assert list(host.feed(bytes([FLAG]) + bytes(2 * MAX_CONTENT))) == []
    good = Packet(1, 2, b"x")
    assert list(host.feed(good.encode())) == [good]
    assert host.refused == 1
    assert len(host._content) == 0
