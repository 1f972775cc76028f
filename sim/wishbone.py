"""A Wishbone classic master with the methods that the checks use of cocotbext-axi's."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import Event, RisingEdge
from cocotbext.axi import AxiResp


@dataclass
class Answer:
    """Of one access, as those of AXI4-Lite; `data` of a read."""

    data: bytes = b""
    resp: AxiResp = AxiResp.OKAY


class Access:
    """One that is waited for; `data` is its answer."""

    def __init__(self) -> None:
        self.data = Answer()
        self._done = Event()

    def finish(self, answer: Answer) -> None:
        self.data = answer
        self._done.set()

    async def wait(self) -> None:
        await self._done.wait()


class WishboneMaster:
    """Accesses one after the other, with pauses, and now and then one that is given up first."""

    def __init__(self, dut: Any, random: Random, running: float) -> None:
        self.dut, self.random, self.running = dut, random, running
        self.waiting: Queue[tuple[int, bytes | None, Access]] = Queue()
        for signal in (dut.cyc_i, dut.stb_i, dut.we_i, dut.adr_i, dut.sel_i, dut.dat_i):
            signal.value = 0
        cocotb.start_soon(self._work())

    async def read(self, address: int, length: int) -> Answer:
        assert length == 4
        access = self._queue(address, None)
        await access.wait()
        return access.data

    async def write(self, address: int, data: bytes) -> Answer:
        access = self.init_write(address, data)
        await access.wait()
        return access.data

    def init_write(self, address: int, data: bytes) -> Access:
        return self._queue(address, bytes(data))

    def _queue(self, address: int, data: bytes | None) -> Access:
        access = Access()
        self.waiting.put_nowait((address, data, access))
        return access

    async def _work(self) -> None:
        while True:
            address, data, access = await self.waiting.get()
            if data is None:
                access.finish(Answer(await self._read(address)))
            else:
                await self._write(address, data)
                access.finish(Answer())

    async def _read(self, address: int) -> bytes:
        word = await self._access(address, 0, 0xF, we=0)
        return word.to_bytes(4, "little")

    async def _write(self, address: int, data: bytes) -> None:
        """Word by word, with the bytes that are written selected."""
        end = address + len(data)
        # The bus has words of 4 bytes: an access that begins inside one writes the rest of it
        # first.
        for word in range(address & ~3, end, 4):
            first, last = max(address, word), min(end, word + 4)
            value = int.from_bytes(data[first - address : last - address], "little")
            select = ((1 << last - first) - 1) << (first - word)
            await self._access(word, value << 8 * (first - word), select, we=1)

    async def _access(self, address: int, value: int, select: int, *, we: int) -> int:
        dut = self.dut
        while self.random.random() >= self.running:
            # A read of nothing that changes, given up before or as it is answered.
            if self.random.random() < 0.3:
                await self._give_up(self.random.randint(1, 4))
            await RisingEdge(dut.clk_i)
        self._begin(address, value, select, we)
        await RisingEdge(dut.clk_i)
        while not int(dut.ack_o.value):
            await RisingEdge(dut.clk_i)
        found = int(dut.dat_o.value)
        dut.cyc_i.value = dut.stb_i.value = 0
        return found

    def _begin(self, address: int, value: int, select: int, we: int) -> None:
        dut = self.dut
        dut.adr_i.value, dut.dat_i.value = address, value
        dut.sel_i.value, dut.we_i.value = select, we
        dut.cyc_i.value = dut.stb_i.value = 1

    async def _give_up(self, cycles: int) -> None:
        """A read of CYCLES that doesn't wait for its answer."""
        dut = self.dut
        self._begin(0x10, 0, 0xF, 0)
        for _ in range(cycles):
            await RisingEdge(dut.clk_i)
            if int(dut.ack_o.value):
                break
        dut.cyc_i.value = dut.stb_i.value = 0
