"""The serial line, driven in real time beside the clock: rates off by 2 %, glitches, bad frames."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator, SimulatorContext

from scm_hw import boards
from scm_hw.errors import OptionError
from scm_hw.rtl.uart import MAX_BAUD, BitRate, Receiver, Transmitter, check_baud

# As few cycles for a bit as are allowed, whole and broken; the listed boards at 3 Mbaud and at 1.
RATES = [(12, 3_000_000), (12, 1_500_000), (100, 3_000_000), (12, 1_000_000), (25, 2_999_999)]

Levels = Iterator[tuple[int, float]]
"""A level of the line, and for how many bits."""


def frame(byte: int, stop: int = 1) -> Levels:
    yield 0, 1.0
    yield from ((byte >> i & 1, 1.0) for i in range(8))
    yield stop, 1.0


def receive(clock_mhz: int, baud: int, levels: Levels, *, off: float = 0.0, phase: float = 0.0):
    """What comes of the levels: bytes, and None for an error."""
    receiver = Receiver(BitRate(clock_mhz * 1_000_000, baud))
    found: list[int | None] = []
    bit = (1 + off) / baud

    async def drive(ctx: SimulatorContext) -> None:
        ctx.set(receiver.rx, 1)
        await ctx.delay((3 + phase) / baud)
        for level, bits in levels:
            ctx.set(receiver.rx, level)
            await ctx.delay(bits * bit)
        ctx.set(receiver.rx, 1)
        await ctx.delay(4 * bit)

    async def watch(ctx: SimulatorContext) -> None:
        ticks = ctx.tick().sample(receiver.strobe, receiver.error, receiver.data)
        async for _, _, strobe, error, data in ticks:
            if strobe or error:
                assert not (strobe and error)
                found.append(data if strobe else None)

    simulator = Simulator(receiver)
    simulator.add_clock(1e-6 / clock_mhz)
    simulator.add_testbench(drive)
    simulator.add_process(watch)
    simulator.run()
    return found


@pytest.mark.parametrize("off", [-0.02, 0.0, 0.02])
@pytest.mark.parametrize(("clock_mhz", "baud"), RATES)
def test_bytes_at_a_rate_that_is_off(clock_mhz: int, baud: int, off: float) -> None:
    random = Random(f"{clock_mhz} {baud} {off}")
    for _ in range(4):
        # Bytes follow each other without a gap, at any phase of the clock.
        sent = [0x00, 0xFF, 0x55, 0x80, 0x01, *random.randbytes(12)]
        levels = (level for byte in sent for level in frame(byte))
        assert receive(clock_mhz, baud, levels, off=off, phase=random.random()) == sent


def test_a_rate_too_far_off_is_not_received() -> None:
    """So the tests above can fail."""
    sent = [0x55, 0x01, 0x80] * 4
    levels = (level for byte in sent for level in frame(byte))
    assert receive(12, 3_000_000, levels, off=0.08) != sent


@pytest.mark.parametrize(("clock_mhz", "baud"), [(100, 3_000_000), (100, 1_000_000)])
def test_glitches_are_not_seen(clock_mhz: int, baud: int) -> None:
    random = Random(1)
    sent = list(random.randbytes(30))
    # Shorter than the filter by the cycle that sampling may add.
    rate = BitRate(clock_mhz * 1_000_000, baud)
    width = (rate.glitch_cycles - 1.01) / float(rate.cycles)

    def levels() -> Levels:
        for byte in sent:
            for level, bits in frame(byte):
                place = random.uniform(0, bits - width)
                yield level, place
                yield 1 - level, width
                yield level, bits - width - place
            yield 1, 0.5
            yield 0, width
            yield 1, 0.5

    assert receive(clock_mhz, baud, levels()) == sent


def test_a_false_start_is_no_byte() -> None:
    """Longer than a glitch, and gone by the middle of the bit."""
    levels = [(0, 0.3), (1, 2.0), *frame(0xA5), (1, 0.7), (0, 0.4), (1, 1.0), *frame(0x5A)]
    assert receive(100, 1_000_000, iter(levels)) == [0xA5, 0x5A]


def test_a_missing_stop_bit_is_an_error_and_the_next_byte_is_right() -> None:
    levels = [*frame(0x12), *frame(0x34, stop=0), (1, 1.5), *frame(0x56)]
    assert receive(100, 3_000_000, iter(levels)) == [0x12, None, 0x56]


def test_a_break_is_one_error() -> None:
    levels = [*frame(0x12), (0, 50.0), (1, 1.5), *frame(0x56)]
    assert receive(100, 3_000_000, iter(levels)) == [0x12, None, 0x56]


@pytest.mark.parametrize(("clock_mhz", "baud"), RATES)
def test_what_is_sent_is_received(clock_mhz: int, baud: int) -> None:
    rate = BitRate(clock_mhz * 1_000_000, baud)
    m = Module()
    m.submodules.transmitter = transmitter = Transmitter(rate)
    m.submodules.receiver = receiver = Receiver(rate)
    m.d.comb += receiver.rx.eq(transmitter.tx)
    sent = list(Random(2).randbytes(20))
    found: list[int] = []
    edges: list[int] = []

    async def send(ctx: SimulatorContext) -> None:
        for byte in sent:
            ctx.set(transmitter.i.payload, byte)
            ctx.set(transmitter.i.valid, 1)
            await ctx.tick().until(transmitter.i.ready)
        ctx.set(transmitter.i.valid, 0)
        await ctx.tick().repeat(int(rate.cycles * 12))

    async def watch(ctx: SimulatorContext) -> None:
        cycle = 0
        ticks = ctx.tick().sample(receiver.strobe, receiver.data, receiver.error)
        async for _, _, strobe, data, error in ticks:
            cycle += 1
            assert not error
            if strobe:
                found.append(data)
                edges.append(cycle)

    simulator = Simulator(m)
    simulator.add_clock(1e-6 / clock_mhz)
    simulator.add_testbench(send)
    simulator.add_process(watch)
    simulator.run()
    assert found == sent
    # Without a gap: ten bits apart, to within the cycle that each end may be off.
    assert abs(edges[-1] - edges[0] - rate.cycles * 10 * (len(sent) - 1)) <= 2


@pytest.mark.parametrize(
    ("clock_hz", "baud", "complaint"),
    [
        (12_000_000, 2_500_000, "not 4.8 at 12 MHz; choose 3000000 or 2400000"),
        (6_000_000, 3_000_000, "not 2 at 6 MHz; choose 1500000 or 1200000"),
    ],
)
def test_rates_that_cannot_be(clock_hz: int, baud: int, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        BitRate(clock_hz, baud)


@pytest.mark.parametrize("baud", [0, 300, 3_000_001])
def test_rates_that_no_chip_has(baud: int) -> None:
    with pytest.raises(OptionError, match=rf"baud must be in \[1200, 3000000\], not {baud}"):
        check_baud(baud)


def test_listed_boards_can_have_the_fastest_rate() -> None:
    for name in boards.names():
        clock_hz = round(boards.get(name).clock_mhz * 1e6)
        assert BitRate(clock_hz, check_baud(MAX_BAUD)).cycles >= 4
