"""Takes bytes of a request and sends those of its reply, for all kinds of requests."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib.wiring import Component

from scm_hw.rtl.uart.framing import FrameBuffer, Framer
from scm_hw.rtl.uart.packets import (
    CYCLES,
    HEADER,
    PAGE,
    Hello,
    Kind,
)


class Exchange:
    """A request and its reply, byte by byte: the signals that all kinds of requests share."""

    def __init__(
        self, m: Module, server: Component, frames: FrameBuffer, framer: Framer, dead: Signal
    ) -> None:
        self.m = m
        self.server = server
        self.dead = dead
        self.hello = server.hello
        self.core = server.core
        self.loads = "load_start" in server.core.signature.members
        self.frames = frames
        self.request = frames.o
        self.reply = framer.i
        longest = max(self.hello.in_bytes, self.hello.out_bytes, HEADER.size, 256)
        self.place = Signal(range(longest + 1))
        # The request's header; of its length, what is still to be taken.
        self.kind = Signal(8)
        self.sequence = Signal(16)
        self.length = Signal(16)
        self.reply_kind = Signal(8)
        self.reply_length = Signal(16)
        self.code = Signal(8)
        self.samples = Signal(8)
        # An offset of 16 bits, plus the hello in front of the description.
        self.index = Signal(range(1 << 17))
        self.left = Signal(range(max(PAGE, Hello.LAYOUT.size) + 1))
        self.worst = Signal(8 * CYCLES.size)
        # A frame that could not be read: its code, and when its error has been reported.
        self.pending_code = Signal(8)
        self.reported = Signal()

    def take(self) -> Value:
        """Ask for a byte of the request; high in the cycle that has it."""
        self.m.d.comb += self.request.ready.eq(1)
        with self.m.If(self.request.valid):
            self.m.d.sync += self.length.eq(self.length - 1)
        return self.request.valid

    def send(self, byte: Value, last: Value | int) -> Value:
        """Offer a byte of the reply; high in the cycle that takes it."""
        self.m.d.comb += [
            self.reply.valid.eq(1),
            self.reply.payload.data.eq(byte),
            self.reply.payload.last.eq(last),
        ]
        return self.reply.ready

    def send_word(self, word: Value, size: int, *, last: bool = False) -> Value:
        """Offer a word's bytes, the lowest first; high in the cycle that takes the last of them."""
        m = self.m
        ending = self.place == size - 1
        taken = self.send(self.byte(word), ending if last else 0)
        with m.If(taken):
            m.d.sync += self.place.eq(Mux(ending, 0, self.place + 1))
        return taken & ending

    def byte(self, word: Value) -> Value:
        """The byte of a word that `place` points to."""
        return Array(word[i : i + 8] for i in range(0, len(word), 8))[self.place]

    def begin_reply(self, kind: Kind, length: Value | int) -> None:
        self.m.d.sync += [
            self.place.eq(0),
            self.reply_kind.eq(kind),
            self.reply_length.eq(length),
        ]
        self.m.next = "REPLY"
