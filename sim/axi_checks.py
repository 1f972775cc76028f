"""The cocotb test benches of the AXI wrappers, with the masters and sinks of cocotbext-axi.

Set in the environment: SCM_VECTORS, the vector file; SCM_SEED; SCM_PORTS, as JSON, the widths of
the fields (`in_widths`, `out_widths`, `out_signed`), `latency` and `digest`; SCM_OUTCOMES, where to
write what was found.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, SimTimeoutError, with_timeout
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from scm_hw.rtl.axi import registers as at
from scm_hw.sim.stream_bytes import StreamBytes
from scm_hw.sim.vectors import Vectors
from scm_hw.sim.wishbone import WishboneMaster

# Enough for every state of a pipeline and its buffers; bus models are slow.
STREAM_VECTORS = 200
LITE_VECTORS = 24
MAX_FRAME = 9
CLOCK_NS = 10


def settings() -> tuple[Vectors, dict[str, Any], Random]:
    vectors = Vectors.load(Path(os.environ["SCM_VECTORS"]))
    return vectors, json.loads(os.environ["SCM_PORTS"]), Random(os.environ["SCM_SEED"])


def patience(ports: dict[str, Any]) -> int:
    """Nanoseconds after which a packet counts as lost, however it is stalled."""
    return CLOCK_NS * (2000 + 100 * int(ports["latency"]))


def record(name: str, vectors: int, failures: Sequence[str]) -> None:
    with Path(os.environ["SCM_OUTCOMES"]).open("a", encoding="utf-8") as file:
        entry = {"name": name, "vectors": vectors, "failures": list(failures)}
        file.write(json.dumps(entry) + "\n")


async def start(dut: Any, name: str = "") -> None:
    """A clock, and a reset while the pins of the bus models are at rest."""
    Clock(clock_of(dut), CLOCK_NS, "ns").start()
    if hasattr(dut, "core_clk"):
        # Any ratio, for each test another; an odd period never meets the bus' edges for long.
        period = 2 * Random(os.environ["SCM_SEED"] + name).randint(1500, 18000) + 1
        Clock(dut.core_clk, 2 * period, "ps").start()
    await reset(dut)


def clock_of(dut: Any) -> Any:
    """Of AXI or of Wishbone."""
    return dut.clk_i if hasattr(dut, "clk_i") else dut.aclk


async def reset(dut: Any) -> None:
    axi, clock = not hasattr(dut, "clk_i"), clock_of(dut)
    pin = dut.aresetn if axi else dut.rst_i
    # The core's own clock may be seven times slower, and needs some edges too.
    cycles = 20 if hasattr(dut, "core_clk") else 3
    pin.value = int(not axi)
    await ClockCycles(clock, cycles)
    pin.value = int(axi)
    await ClockCycles(clock, cycles // 3)


def pauses(random: Random, share: float) -> Iterator[bool]:
    return (random.random() < share for _ in repeat(None))


def frames_of(count: int, random: Random) -> list[range]:
    """All vectors in order, in packets of random length."""
    found, first = [], 0
    while first < count:
        last = min(first + random.randint(1, MAX_FRAME), count)
        found.append(range(first, last))
        first = last
    return found


def wrong_sample(got: bytes, expected: bytes, packet: range) -> str:
    """What is wrong first with a packet's `m_axis_tdata`."""
    if len(got) != len(expected):
        return f"of {len(packet)} samples has {len(got)} bytes for {len(expected)}"
    size = -(-len(expected) // len(packet))
    pairs = ((got[i : i + size], expected[i : i + size]) for i in range(0, len(got), size))
    vector, (found, wanted) = next(
        (vector, pair) for vector, pair in zip(packet, pairs, strict=True) if pair[0] != pair[1]
    )
    shown = [f"{int.from_bytes(word, 'little'):#x}" for word in (found, wanted)]
    return f"of {len(packet)} samples: m_axis_tdata of vector {vector} is {shown[0]} for {shown[1]}"


async def play_stream(dut: Any, offered: float, taken: float, name: str) -> list[str]:
    """Packets through the core, with pauses on both sides; what was wrong."""
    vectors, ports, random = settings()
    vectors = vectors.head(STREAM_VECTORS)
    source = AxiStreamSource(
        AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, reset_active_level=False
    )
    sink = AxiStreamSink(
        AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, reset_active_level=False
    )
    source.set_pause_generator(pauses(random, 1 - offered))
    sink.set_pause_generator(pauses(random, 1 - taken))
    await start(dut, name)
    stream = StreamBytes(vectors, ports, random)
    packets = frames_of(len(vectors), random)
    for packet in packets:
        source.send_nowait(AxiStreamFrame(stream.sent(packet)))
    failures = []
    for number, packet in enumerate(packets):
        try:
            frame = await with_timeout(sink.recv(), patience(ports), "ns")
        except SimTimeoutError:
            failures.append(f"packet {number} of {len(packet)} samples did not finish")
            break
        expected = stream.expected(packet)
        if bytes(frame.tdata) != expected:
            failures.append(f"packet {number} {wrong_sample(bytes(frame.tdata), expected, packet)}")
    # Long enough for a packet to come that nothing asked for.
    await ClockCycles(dut.aclk, 4 * ports["latency"] + 20)
    if not sink.empty():
        failures.append("a packet came that nothing asked for")
    record(name, len(vectors), failures)
    return failures


@cocotb.test()
async def axis_full_speed(dut: Any) -> None:
    assert not await play_stream(dut, 1.0, 1.0, "full_speed")


@cocotb.test()
async def axis_stalled_output(dut: Any) -> None:
    assert not await play_stream(dut, 1.0, 0.4, "stalled_output")


@cocotb.test()
async def axis_stalled_both_sides(dut: Any) -> None:
    assert not await play_stream(dut, 0.5, 0.6, "stalled_both_sides")


@cocotb.test()
async def axis_slow_input(dut: Any) -> None:
    assert not await play_stream(dut, 0.2, 1.0, "slow_input")


def fields(word: int, widths: Sequence[int], signed: Sequence[bool]) -> list[int]:
    found = []
    for width, negative in zip(widths, signed, strict=True):
        value = word & ((1 << width) - 1)
        found.append(value - (1 << width) if negative and value >> (width - 1) else value)
        word >>= width
    return found


class Registers:
    """The wrapper's registers, through a master; what was wrong is collected in `failures`."""

    def __init__(self, dut: Any, ports: dict[str, Any], random: Random, running: float) -> None:
        self.dut = dut
        self.ports = ports
        self.random = random
        self.failures: list[str] = []
        self.irq = dut.irq_o if hasattr(dut, "clk_i") else dut.irq
        if hasattr(dut, "clk_i"):
            self.master = WishboneMaster(dut, random, running)
            return
        bus = AxiLiteBus.from_prefix(dut, "s_axi")
        self.master = AxiLiteMaster(bus, dut.aclk, dut.aresetn, reset_active_level=False)
        write, read = self.master.write_if, self.master.read_if
        for channel in (
            write.aw_channel,
            write.w_channel,
            write.b_channel,
            read.ar_channel,
            read.r_channel,
        ):
            channel.set_pause_generator(pauses(random, 1 - running))

    async def read(self, address: int) -> int:
        answer = await with_timeout(self.master.read(address, 4), patience(self.ports), "ns")
        self.expect(f"response to a read of {address:#x}", answer.resp, AxiResp.OKAY)
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, data: bytes | int) -> None:
        if isinstance(data, int):
            data = data.to_bytes(4, "little")
        answer = await with_timeout(self.master.write(address, data), patience(self.ports), "ns")
        self.expect(f"response to a write of {address:#x}", answer.resp, AxiResp.OKAY)

    def expect(self, what: str, got: object, wanted: object) -> None:
        if got != wanted:
            self.failures.append(f"{what} is {got}, not {wanted}")

    async def identity(self) -> None:
        self.expect("ID", await self.read(at.ID), at.MAGIC)
        self.expect("version", await self.read(at.MAP_VERSION), at.VERSION)
        self.expect("inputs", await self.read(at.INPUTS), len(self.ports["in_widths"]))
        self.expect("outputs", await self.read(at.OUTPUTS), len(self.ports["out_widths"]))
        words = [await self.read(at.DIGEST + 4 * i) for i in range(at.DIGEST_WORDS)]
        digest = b"".join(word.to_bytes(4, "little") for word in words)
        self.expect("digest", digest.hex(), self.ports["digest"])

    async def errors(self) -> None:
        """What can't be done sets a bit, which stays until 1 is written to it, and nothing else."""
        outputs = at.OUTPUT_BASE + at.FIELD_BYTES * len(self.ports["out_widths"])
        unused = at.LOAD_DATA + 4 if self.ports["reload"] else at.LOAD_STATUS
        for address in (unused, 0xFFFC, outputs):
            self.expect(f"register {address:#x}", await self.read(address), 0)
            await self.sticky(at.NO_REGISTER)
            await self.write(address, 1)
            await self.sticky(at.NO_REGISTER)
        for address in (at.ID, at.CYCLES, at.OUTPUT_BASE, at.OUTPUT_BASE + 4):
            before = await self.read(address)
            # The complement: whichever bit could be written would change.
            await self.write(address, ~before & 0xFFFFFFFF)
            self.expect(f"register {address:#x}", await self.read(address), before)
            await self.sticky(at.READ_ONLY)

    async def sticky(self, bits: int) -> None:
        """STATUS has these bits alone, and only a 1 in their byte clears them."""
        self.expect("status", await self.read(at.STATUS), bits)
        await self.write(at.STATUS, 0)
        await self.write(at.STATUS + 1, b"\xff")
        self.expect("status after writes elsewhere", await self.read(at.STATUS), bits)
        await self.write(at.STATUS, bits)
        self.expect("status after it is cleared", await self.read(at.STATUS), 0)

    async def inputs(self) -> None:
        """Inputs read back what their bits hold; above them is zero, and writes there are lost."""
        for i, width in enumerate(self.ports["in_widths"]):
            base = at.INPUT_BASE + at.FIELD_BYTES * i
            value = self.random.getrandbits(64)
            await self.write(base, value.to_bytes(8, "little"))
            held = value & ((1 << width) - 1)
            found = await self.read(base) | await self.read(base + 4) << 32
            self.expect(f"input {i}", found, held)
            byte = self.random.randrange(-(-width // 8))
            await self.write(base + byte, b"\x5a")
            held = ((held & ~(0xFF << 8 * byte)) | 0x5A << 8 * byte) & ((1 << width) - 1)
            found = await self.read(base) | await self.read(base + 4) << 32
            self.expect(f"input {i} after a write of byte {byte}", found, held)
        self.expect("status", await self.read(at.STATUS), 0)

    async def interrupts(self, word: int, expected: int) -> None:
        """Raised by a result where it is enabled, until it is cleared."""
        self.expect("control", await self.read(at.CONTROL), 0)
        await self.predict(word, expected)
        self.expect("interrupt while disabled", int(self.irq.value), 0)
        # A write to other bytes of CONTROL neither enables it nor starts a sample.
        await self.write(at.CONTROL + 1, b"\xff")
        self.expect("control", await self.read(at.CONTROL), 0)
        await self.write(at.CONTROL, at.INTERRUPT_ENABLE)
        self.expect("control", await self.read(at.CONTROL), at.INTERRUPT_ENABLE)
        self.expect("interrupt", int(self.irq.value), 1)
        await self.write(at.STATUS, at.INTERRUPT)
        self.expect("interrupt after it is cleared", int(self.irq.value), 0)
        await self.write(at.CONTROL, at.START | at.INTERRUPT_ENABLE)
        while (status := await self.read(at.STATUS)) & at.BUSY:
            pass
        self.expect("status", status, at.DONE | at.INTERRUPT)
        self.expect("interrupt", int(self.irq.value), 1)
        await self.write(at.CONTROL, 0)
        self.expect("interrupt after it is disabled", int(self.irq.value), 0)
        await self.write(at.STATUS, at.INTERRUPT)

    async def overlaps(self, word: int, expected: int, sure: bool) -> None:
        """START and an input right after START: done, or ignored and reported.

        At full speed they come while the sample is under way (`sure`).
        """
        await self.load(word)
        before = await self.read(at.SAMPLES)
        start = at.START.to_bytes(4, "little")
        writes = [(at.CONTROL, start), (at.CONTROL, start), (at.INPUT_BASE, bytes(1))]
        events = [self.master.init_write(place, data) for place, data in writes]
        for event in events:
            await with_timeout(event.wait(), patience(self.ports), "ns")
            self.expect("response", event.data.resp, AxiResp.OKAY)
        while (status := await self.read(at.STATUS)) & at.BUSY:
            pass
        ignored = bool(status & at.START_WHILE_BUSY)
        started = (await self.read(at.SAMPLES)) - before
        self.expect("samples of two starts", started, 2 - ignored)
        if sure:
            self.expect("START while busy is reported", ignored, True)
        if status & at.INPUT_WHILE_BUSY:
            wanted = fields(expected, self.ports["out_widths"], self.ports["out_signed"])
            self.expect(f"result of {word:#x}", await self.result(), wanted)
            low = fields(word, self.ports["in_widths"], [False] * len(self.ports["in_widths"]))[0]
            self.expect("input", await self.read(at.INPUT_BASE), low & 0xFFFFFFFF)
        await self.write(at.STATUS, status)
        self.expect("status", await self.read(at.STATUS), at.DONE)

    async def load(self, word: int) -> None:
        """A sample's fields, in random order, byte by byte or in words."""
        widths = self.ports["in_widths"]
        places = []
        for i, value in enumerate(fields(word, widths, [False] * len(widths))):
            size = 8 if widths[i] > 32 else 4
            data = value.to_bytes(8, "little")[:size]
            step = self.random.choice((1, 2, 4))
            base = at.INPUT_BASE + at.FIELD_BYTES * i
            used = -(-widths[i] // 8)
            places += [(base + k, data[k : k + step]) for k in range(0, used, step)]
        self.random.shuffle(places)
        for address, data in places:
            await self.write(address, data)

    async def result(self) -> list[int]:
        found = []
        for i in range(len(self.ports["out_widths"])):
            base = at.OUTPUT_BASE + at.FIELD_BYTES * i
            low, high = await self.read(base), await self.read(base + 4)
            value = low | high << 32
            found.append(value - (1 << 64) if value >> 63 else value)
        return found

    async def predict(self, word: int, expected: int) -> None:
        await self.load(word)
        await self.write(at.CONTROL, at.START)
        while not (await self.read(at.STATUS)) & at.DONE:
            pass
        wanted = fields(expected, self.ports["out_widths"], self.ports["out_signed"])
        self.expect(f"result of {word:#x}", await self.result(), wanted)
        self.expect("cycles", await self.read(at.CYCLES), self.ports["latency"])


async def play_lite(dut: Any, running: float, name: str) -> list[str]:
    vectors, ports, random = settings()
    vectors = vectors.head(LITE_VECTORS)
    bus = Registers(dut, ports, random, running)
    await start(dut)
    await bus.identity()
    bus.expect("status", await bus.read(at.STATUS), 0)
    await bus.errors()
    await bus.inputs()
    for word, expected in zip(vectors.inputs, vectors.outputs, strict=True):
        await bus.predict(word, expected)
    bus.expect("samples", await bus.read(at.SAMPLES), len(vectors))
    # CONTROL without START begins nothing, and reset forgets the result.
    await bus.write(at.CONTROL, 0)
    bus.expect("status", await bus.read(at.STATUS), at.DONE | at.INTERRUPT)
    await reset(dut)
    bus.expect("status", await bus.read(at.STATUS), 0)
    await bus.interrupts(vectors.inputs[0], vectors.outputs[0])
    # On Wishbone the next access may come after a short pipeline's result.
    sure = running == 1.0 and not hasattr(dut, "clk_i")
    await bus.overlaps(vectors.inputs[0], vectors.outputs[0], sure)
    record(name, len(vectors), bus.failures)
    return bus.failures


@cocotb.test()
async def axil_full_speed(dut: Any) -> None:
    assert not await play_lite(dut, 1.0, "full_speed")


@cocotb.test()
async def axil_stalled(dut: Any) -> None:
    assert not await play_lite(dut, 0.5, "stalled")


@cocotb.test()
async def wishbone_full_speed(dut: Any) -> None:
    assert not await play_lite(dut, 1.0, "full_speed")


@cocotb.test()
async def wishbone_stalled(dut: Any) -> None:
    assert not await play_lite(dut, 0.5, "stalled")
