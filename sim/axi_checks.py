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
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from scm_hw.interface import registers as at
from scm_hw.sim.vectors import Vectors

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


async def start(dut: Any) -> None:
    """A clock, and a reset while the pins of the bus models are at rest."""
    cocotb.start_soon(Clock(dut.aclk, CLOCK_NS, "ns").start())
    await reset(dut)


async def reset(dut: Any) -> None:
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 3)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 1)


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


def extended(word: int, width: int, signed: bool) -> bytes:
    """A packed output in whole bytes, as `m_axis_tdata` has it."""
    negative = signed and word >> (width - 1)
    value = word - (1 << width) if negative else word
    return value.to_bytes(-(-width // 8), "little", signed=bool(negative))


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
    await start(dut)
    in_bytes = -(-vectors.in_width // 8)
    spare = 8 * in_bytes - vectors.in_width
    packets = frames_of(len(vectors), random)
    for packet in packets:
        # Noise above the word, which the wrapper must not mind.
        words = [vectors.inputs[i] | random.getrandbits(spare) << vectors.in_width for i in packet]
        data = b"".join(word.to_bytes(in_bytes, "little") for word in words)
        source.send_nowait(AxiStreamFrame(data))
    failures = []
    for number, packet in enumerate(packets):
        frame = await with_timeout(sink.recv(), patience(ports), "ns")
        expected = b"".join(
            extended(vectors.outputs[i], vectors.out_width, ports["out_signed"][-1]) for i in packet
        )
        if bytes(frame.tdata) != expected:
            failures.append(
                f"packet {number} of {len(packet)} samples gave {bytes(frame.tdata).hex()} for "
                f"{expected.hex()}"
            )
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

    async def read(self, address: int, resp: AxiResp = AxiResp.OKAY) -> int:
        answer = await with_timeout(self.master.read(address, 4), patience(self.ports), "ns")
        self.expect(f"response to a read of {address:#x}", int(answer.resp), int(resp))
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, data: bytes, resp: AxiResp = AxiResp.OKAY) -> None:
        answer = await with_timeout(self.master.write(address, data), patience(self.ports), "ns")
        self.expect(f"response to a write of {address:#x}", int(answer.resp), int(resp))

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

    async def refusals(self) -> None:
        """Addresses that hold nothing, or hold what can't be written or read."""
        for address in (0x40, 0xFFFC, at.OUTPUT_BASE + 8 * len(self.ports["out_widths"])):
            await self.read(address, AxiResp.SLVERR)
            await self.write(address, bytes(4), AxiResp.SLVERR)
        await self.write(at.STATUS, bytes(4), AxiResp.SLVERR)
        await self.write(at.OUTPUT_BASE, bytes(4), AxiResp.SLVERR)
        await self.read(at.INPUT_BASE, AxiResp.SLVERR)

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
        await self.write(at.CONTROL, at.START.to_bytes(4, "little"))
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
    await bus.refusals()
    bus.expect("status", await bus.read(at.STATUS), 0)
    for word, expected in zip(vectors.inputs, vectors.outputs, strict=True):
        await bus.predict(word, expected)
    bus.expect("samples", await bus.read(at.SAMPLES), len(vectors))
    # CONTROL without START begins nothing, and reset forgets the result.
    await bus.write(at.CONTROL, bytes(4))
    bus.expect("status", await bus.read(at.STATUS), at.DONE)
    await reset(dut)
    bus.expect("status", await bus.read(at.STATUS), 0)
    await bus.predict(vectors.inputs[0], vectors.outputs[0])
    record(name, len(vectors), bus.failures)
    return bus.failures


@cocotb.test()
async def axil_full_speed(dut: Any) -> None:
    assert not await play_lite(dut, 1.0, "full_speed")


@cocotb.test()
async def axil_stalled(dut: Any) -> None:
    assert not await play_lite(dut, 0.5, "stalled")
