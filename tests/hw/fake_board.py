"""A board in Python behind a pseudo-terminal, that keeps the protocol or breaks it as told."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import tty
from collections.abc import Callable, Iterator

from scm_hw.rtl.uart import Deframer, Fault, Hello, Kind, Packet
from scm_hw.rtl.uart.packets import CYCLES, OFFSET, PAGE, TAG

Answer = Callable[[Packet, Packet], bytes]
"""A request and its right reply, to the bytes that go on the line."""


def honest(_: Packet, reply: Packet) -> bytes:
    return reply.encode()


class FakeBoard:
    """Answers with `function` of each sample's word.

    It counts what a real one would hold in its buffer: `overrun` is set where a host sends more
    than fits.
    """

    def __init__(
        self,
        hello: Hello,
        function: Callable[[int], int],
        description: bytes = b"",
        answer: Answer = honest,
    ) -> None:
        self.hello = hello
        self.function = function
        self.description = description
        self.answer = answer
        self.requests = 0
        self.overrun = False
        self.port = ""

    @contextlib.contextmanager
    def running(self) -> Iterator[FakeBoard]:
        master, slave = os.openpty()
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        stop, stopped = os.pipe()
        thread = threading.Thread(target=self._serve, args=(master, stop), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            os.close(stopped)
            thread.join()
            for handle in (master, slave, stop):
                with contextlib.suppress(OSError):
                    os.close(handle)

    def _serve(self, master: int, stop: int) -> None:
        deframer = Deframer()
        while True:
            ready, _, _ = select.select([master, stop], [], [])
            if stop in ready:
                return
            refused = deframer.refused
            packets = list(deframer.feed(os.read(master, 1 << 16)))
            # What came together is in the buffer together.
            held = sum(packet.stored_bytes for packet in packets)
            self.overrun |= held > self.hello.capacity
            for packet in packets:
                os.write(master, self.answer(packet, self._reply(packet)))
            if deframer.refused != refused:
                os.write(master, Packet(Kind.ERROR, 0, bytes([Fault.CRC])).encode())

    def _reply(self, packet: Packet) -> Packet:
        self.requests += 1
        match packet.kind:
            case Kind.HELLO:
                return Packet(Kind.HELLO_REPLY, packet.sequence, self.hello.encode())
            case Kind.DESCRIBE:
                (offset,) = OFFSET.unpack(packet.payload)
                page = self.description[offset : offset + PAGE]
                return Packet(Kind.DESCRIPTION, packet.sequence, page)
            case Kind.PREDICT:
                return Packet(Kind.RESULTS, packet.sequence, self._results(packet.payload))
        return Packet(Kind.ERROR, packet.sequence, bytes([Fault.UNKNOWN]))

    def _results(self, payload: bytes) -> bytes:
        size, out = self.hello.in_bytes, self.hello.out_bytes
        words = [payload[i : i + size] for i in range(1, len(payload), size)]
        assert len(words) == payload[0]
        results = [self.function(int.from_bytes(word, "little")) for word in words]
        body = b"".join(result.to_bytes(out, "little") for result in results)
        return TAG.pack(self.hello.tag) + body + CYCLES.pack(self.hello.latency)
