"""Many samples over a line that may lose some: a window of requests, each answered once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scm_hw.errors import LinkError
from scm_hw.host.link import Link, LostError
from scm_hw.rtl.uart import Fault, Hello, Kind, Packet, Results, predict_request
from scm_hw.rtl.uart.packets import BATCH_BYTES, FAULTS, HEADER, OFFSET

# Requests in a buffer's worth, so that the line never waits for a reply.
WINDOW = 8
# A reply that is overdue by this much was lost, and so was the sign of it.
QUIET_SECONDS = 2.0
# In a row; then the board is gone, even if its port is not.
QUIET_TIMES = 3
# A line that brings no result for so long, whatever else it brings, will bring none.
STALL_SECONDS = 30.0
# From here on nothing is told but its own end.
NOWHERE = OFFSET.pack(0xFFFF)


@dataclass(frozen=True)
class Answers:
    """A word for each sample; the most cycles of any; requests that had to be sent again."""

    words: tuple[int, ...]
    cycles: int
    repeated: int


@dataclass(frozen=True)
class _Sent:
    """A request that is not answered yet, and which samples it is for; none for a probe."""

    packet: Packet
    batch: range | None


class Exchange:
    """Asks for every sample until all are answered; answers survive a lost port.

    The board answers in order. A request is sent again only when it is certain that the board is
    done with it: a reply to a later one has come, or nothing at all for long. So no more is ever in
    the board's buffer than it said it holds. Where there is a sign of loss, an empty request is
    sent after the others as a probe: its reply tells that all before it were answered or lost.
    """

    def __init__(
        self, words: Sequence[int], hello: Hello, next_sequence: Callable[[], int]
    ) -> None:
        self.hello = hello
        self.next_sequence = next_sequence
        self.samples = [word.to_bytes(hello.in_bytes, "little") for word in words]
        self.results: list[int] = [0] * len(words)
        self.cycles = 0
        self.repeated = 0
        self.done = 0
        self.waiting = deque(self._batches())
        self.sent: dict[int, _Sent] = {}

    def _batches(self) -> Iterator[range]:
        overhead = HEADER.size + BATCH_BYTES
        room = self.hello.capacity // WINDOW - overhead
        # A reply is no longer than a request may be: what is long is seldom whole.
        largest = max(self.hello.in_bytes, self.hello.out_bytes)
        size = max(1, min(room // largest, self.hello.max_batch))
        for first in range(0, len(self.samples), size):
            yield range(first, min(first + size, len(self.samples)))

    def start_over(self) -> None:
        """Nothing that was sent is under way any more."""
        self._repeat(list(self.sent))

    def run(self, link: Link, progress: Callable[[int], None]) -> Answers:
        """Until all is answered; LostError where the board falls silent, and `run` may go on."""
        heard, quiet, refused = time.monotonic(), 0, link.refused
        advanced, done = heard, self.done
        while self.waiting or self.sent:
            self._fill(link)
            if self.done != done:
                advanced, done = time.monotonic(), self.done
            if time.monotonic() - advanced > STALL_SECONDS:
                raise LinkError(
                    f"port {link.port} must bring a whole reply within {STALL_SECONDS:g} s, not "
                    "only corrupt ones; check the cable, or build with a lower --baud"
                )
            for packet in link.receive():
                heard, quiet = time.monotonic(), 0
                self._handle(link, packet)
                progress(self.done)
            if link.refused != refused:
                refused = link.refused
                self._probe(link)
            if time.monotonic() - heard > QUIET_SECONDS:
                heard, quiet = time.monotonic(), quiet + 1
                if quiet == QUIET_TIMES:
                    raise LostError(f"port {link.port} doesn't answer")
                self.start_over()
        return Answers(tuple(self.results), self.cycles, self.repeated)

    # Requests

    def _fill(self, link: Link) -> None:
        """Send as much as the board surely has room for, a probe's worth left over."""
        while self.waiting:
            batch = self.waiting[0]
            samples = self.samples[batch.start : batch.stop]
            packet = predict_request(self.next_sequence(), samples)
            probe = HEADER.size + len(NOWHERE)
            needed = self._outstanding + packet.stored_bytes + probe
            # A large sample may leave no room for a probe; alone it always fits.
            if self.sent and needed > self.hello.capacity:
                return
            self.waiting.popleft()
            self._send(link, packet, batch)

    @property
    def _outstanding(self) -> int:
        return sum(sent.packet.stored_bytes for sent in self.sent.values())

    def _send(self, link: Link, packet: Packet, batch: range | None) -> None:
        self.sent[packet.sequence] = _Sent(packet, batch)
        link.send(packet)

    def _probe(self, link: Link) -> None:
        if any(sent.batch is None for sent in self.sent.values()):
            return
        self._send(link, Packet(Kind.DESCRIBE, self.next_sequence(), NOWHERE), None)

    def _repeat(self, sequences: list[int]) -> None:
        """Back into the queue, in order, before what was never sent; in halves, so that on a bad
        line they become short enough."""
        for sequence in reversed(sequences):
            batch = self.sent.pop(sequence).batch
            if batch is not None:
                self.repeated += 1
                middle = batch.start + (len(batch) + 1) // 2
                halves = (range(batch.start, middle), range(middle, batch.stop))
                self.waiting.extendleft(half for half in reversed(halves) if half)

    # Replies

    def _handle(self, link: Link, packet: Packet) -> None:
        if packet.kind == Kind.ERROR:
            self._handle_error(link, packet)
        elif packet.kind in (Kind.RESULTS, Kind.DESCRIPTION) and packet.sequence in self.sent:
            # Whatever was sent before it and is still open was lost.
            order = list(self.sent)
            self._accept(packet)
            self._repeat(order[: order.index(packet.sequence)])

    def _accept(self, packet: Packet) -> None:
        sent = self.sent.pop(packet.sequence)
        if sent.batch is None:
            return
        results = Results.decode(packet.payload, self.hello, len(sent.batch))
        if packet.kind != Kind.RESULTS or results is None:
            raise LinkError(
                f"reply must be {len(sent.batch)} results of the design "
                f"{self.hello.digest.hex()[:16]}, not {len(packet.payload)} bytes of another kind; "
                "the board was programmed again, repeat the run"
            )
        self.results[sent.batch.start : sent.batch.stop] = results.words
        self.cycles = max(self.cycles, results.cycles)
        self.done += len(sent.batch)

    def _handle_error(self, link: Link, packet: Packet) -> None:
        code = packet.payload[0] if packet.payload else 0
        if code == Fault.CORE and packet.sequence in self.sent:
            raise LinkError(
                f"board refused {FAULTS[Fault.CORE]}; see the timing report of its build, and "
                "program it again"
            )
        if code in (Fault.UNKNOWN, Fault.PAYLOAD) and packet.sequence in self.sent:
            raise LinkError(
                f"board refused {FAULTS[Fault(code)]}; it was built by another version, build and "
                "program it again"
            )
        self._probe(link)
