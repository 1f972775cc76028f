"""Answers requests from the serial port with what the core says."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out, connect

from scm_hw.errors import OptionError
from scm_hw.rtl.uart.framing import FrameBuffer, Framer
from scm_hw.rtl.uart.line import BitRate, Receiver, Transmitter
from scm_hw.rtl.uart.packets import (
    BATCH_BYTES,
    CYCLES,
    HEADER,
    LOAD_STATE,
    OFFSET,
    PAGE,
    PLACE,
    TAG,
    Fault,
    Hello,
    Kind,
)

# A block RAM; more where a sample is larger.
MIN_CAPACITY = 2048
MAX_CAPACITY = 32768
# How long a frame may stay open, in seconds: longer than any driver holds back bytes.
PATIENCE_S = 0.25
# A core that takes so many times its latency and interval, and these cycles, is dead.
LATE = 4
LATE_CYCLES = 1000
# Cycles after which a core has accepted or refused an upload.
SETTLED = 4


def buffer_capacity(in_width: int) -> int:
    """Room for two requests of a sample, so that one can be sent while another is answered."""
    need = 2 * (HEADER.size + BATCH_BYTES + -(-in_width // 8))
    capacity = max(MIN_CAPACITY, 1 << (need - 1).bit_length())
    if capacity > MAX_CAPACITY:
        raise OptionError(
            f"sample must fit {MAX_CAPACITY // 2} bytes to go over the serial port, not "
            f"{in_width} bits; choose --top self-test"
        )
    return capacity


def late_cycles(hello: Hello) -> int:
    """After so many cycles without a result the core is taken to be dead."""
    return LATE * (hello.latency + hello.interval) + LATE_CYCLES


class Server(Component):
    """A core behind a serial line, as `docs/uart.md` says.

    `served` is high for a cycle with each request that is answered, `refused` with each frame that
    is not, and `greeted` with each hello.

    Parameters
    ----------
    core : Component
        With the core's interface; the pins to load a readout are used where it has them.
    hello : Hello
        What it says of itself; its widths, capacity and rate are those of the design.
    description : bytes
        What there is to read beside the hello.
    """

    def __init__(self, core: Component, hello: Hello, description: bytes = b"") -> None:
        assert len(description) == hello.description_bytes
        self.core = core
        self.hello = hello
        self.description = description
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1, init=1),
                "served": Out(1),
                "refused": Out(1),
                "greeted": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rate = BitRate(self.hello.clock_hz, self.hello.baud)
        m.submodules.receiver = receiver = Receiver(rate)
        m.submodules.transmitter = transmitter = Transmitter(rate)
        m.submodules.framer = framer = Framer()
        m.submodules.frames = frames = FrameBuffer(
            capacity=self.hello.capacity, patience=int(PATIENCE_S * self.hello.clock_hz)
        )
        dead = Signal()
        # What a dead core still says must not pass for a later sample's result.
        m.submodules.core = ResetInserter(dead)(self.core)
        connect(m, framer.o, transmitter.i)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            self.tx.eq(transmitter.tx),
            frames.data.eq(receiver.data),
            frames.strobe.eq(receiver.strobe),
            frames.line_error.eq(receiver.error),
        ]
        _Clerk(m, self, frames, framer, dead).work()
        return m


class _Clerk:
    """Takes a request from the buffer, and writes the reply, byte by byte."""

    def __init__(
        self, m: Module, server: Server, frames: FrameBuffer, framer: Framer, dead: Signal
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
        self.index = Signal(range(1 << 17))
        self.left = Signal(range(max(PAGE, Hello.LAYOUT.size) + 1))
        self.worst = Signal(8 * CYCLES.size)

    def work(self) -> None:
        pending = self._faults()
        with self.m.FSM():
            self._requests(pending)
            self._reply_header()
            self._pages()
            self._predictions()
            if self.loads:
                self._uploads()

    def _faults(self) -> Signal:
        """A frame that could not be read is told of; more of them before that are not."""
        m, frames = self.m, self.frames
        pending = Signal()
        self.pending_code = Signal(8)
        self.told = Signal()
        with m.If(frames.fault & ~pending):
            m.d.sync += [pending.eq(1), self.pending_code.eq(frames.code)]
        with m.Elif(self.told):
            m.d.sync += pending.eq(0)
        with m.If(frames.fault):
            m.d.comb += self.server.refused.eq(1)
        return pending

    # Bytes

    def _take(self) -> Value:
        """Ask for a byte of the request; high in the cycle that has it."""
        self.m.d.comb += self.request.ready.eq(1)
        with self.m.If(self.request.valid):
            self.m.d.sync += self.length.eq(self.length - 1)
        return self.request.valid

    def _send(self, byte: Value, last: Value | int) -> Value:
        """Offer a byte of the reply; high in the cycle that takes it."""
        self.m.d.comb += [
            self.reply.valid.eq(1),
            self.reply.payload.data.eq(byte),
            self.reply.payload.last.eq(last),
        ]
        return self.reply.ready

    def _send_word(self, word: Value, size: int, *, last: bool = False) -> Value:
        """Offer a word's bytes, the lowest first; high in the cycle that takes the last of them."""
        m = self.m
        ending = self.place == size - 1
        taken = self._send(self._byte(word), ending if last else 0)
        with m.If(taken):
            m.d.sync += self.place.eq(Mux(ending, 0, self.place + 1))
        return taken & ending

    def _byte(self, word: Value) -> Value:
        """The byte of a word that `place` points to."""
        return Array(word[i : i + 8] for i in range(0, len(word), 8))[self.place]

    def _begin_reply(self, kind: Kind, length: Value | int) -> None:
        self.m.d.sync += [
            self.place.eq(0),
            self.reply_kind.eq(kind),
            self.reply_length.eq(length),
        ]
        self.m.next = "REPLY"

    # Requests

    def _requests(self, pending: Signal) -> None:
        m = self.m
        with m.State("IDLE"):
            m.d.sync += self.place.eq(0)
            with m.If(pending):
                m.d.comb += self.told.eq(1)
                m.d.sync += [self.sequence.eq(0), self.code.eq(self.pending_code)]
                self._begin_reply(Kind.ERROR, 1)
            with m.Elif(self.request.valid):
                m.next = "HEADER"
        with m.State("HEADER"):
            header = Cat(self.kind, self.sequence, self.length)
            with m.If(self._take()):
                m.d.sync += [
                    header.eq(Cat(header[8:], self.request.payload.data)),
                    self.place.eq(self.place + 1),
                ]
                with m.If(self.place == HEADER.size - 1):
                    m.next = "DISPATCH"
        with m.State("DISPATCH"):
            self._dispatch()
        with m.State("REFUSE"):
            # What is left of the request goes unread.
            with m.If(self.length == 0):
                m.d.comb += self.server.refused.eq(1)
                self._begin_reply(Kind.ERROR, 1)
            with m.Else():
                self._take()

    def _dispatch(self) -> None:
        m = self.m
        m.d.sync += [self.place.eq(0), self.code.eq(Fault.UNKNOWN)]
        m.next = "REFUSE"
        with m.Switch(self.kind):
            with m.Case(Kind.HELLO):
                m.d.sync += self.code.eq(Fault.PAYLOAD)
                with m.If(self.length == 0):
                    m.d.comb += self.server.greeted.eq(1)
                    m.d.sync += [self.index.eq(0), self.left.eq(Hello.LAYOUT.size)]
                    self._begin_reply(Kind.HELLO_REPLY, Hello.LAYOUT.size)
            with m.Case(Kind.DESCRIBE):
                m.d.sync += self.code.eq(Fault.PAYLOAD)
                with m.If(self.length == OFFSET.size):
                    m.next = "OFFSET"
            with m.Case(Kind.PREDICT):
                m.d.sync += self.code.eq(Fault.PAYLOAD)
                with m.If(self.length != 0):
                    m.next = "COUNT"
            if self.loads:
                with m.Case(Kind.LOAD):
                    m.d.sync += self.code.eq(Fault.PAYLOAD)
                    with m.If(self.length >= PLACE.size):
                        m.next = "LOAD PLACE"
                with m.Case(Kind.REVERT):
                    m.d.sync += self.code.eq(Fault.PAYLOAD)
                    with m.If(self.length == 0):
                        m.d.comb += self.core.load_revert.eq(1)
                        m.next = "LOAD SETTLE"

    def _reply_header(self) -> None:
        m = self.m
        header = Cat(self.reply_kind, self.sequence, self.reply_length)
        empty = self.reply_length == 0
        with m.State("REPLY"):
            ending = self.place == HEADER.size - 1
            with m.If(self._send(self._byte(header), ending & empty)):
                m.d.sync += self.place.eq(Mux(ending, 0, self.place + 1))
                with m.If(ending):
                    m.next = "PAGE"
                    with m.If(self.reply_kind == Kind.RESULTS):
                        m.next = "TAG"
                    with m.If(self.reply_kind == Kind.ERROR):
                        m.next = "ERROR"
                    if self.loads:
                        with m.If(self.reply_kind == Kind.LOADED):
                            m.next = "LOAD STATE"
                    with m.If(empty):
                        m.next = "IDLE"
        with m.State("ERROR"), m.If(self._send(self.code, 1)):
            m.next = "IDLE"

    # Hello and description

    def _pages(self) -> None:
        """Both stand in one memory; the description is given from an offset on, a page at most."""
        m = self.m
        contents = self.hello.encode() + self.server.description
        m.submodules.identity = memory = Memory(shape=8, depth=len(contents), init=contents)
        port = memory.read_port()
        rest = Signal(range(-(1 << 17), 1 << 17))
        m.d.comb += [port.addr.eq(self.index), rest.eq(len(contents) - self.index)]
        with m.State("OFFSET"), m.If(self._take()):
            m.d.sync += [
                self.index.eq(Cat(self.index[8:16], self.request.payload.data)),
                self.place.eq(self.place + 1),
            ]
            with m.If(self.place == OFFSET.size - 1):
                m.next = "SEEK"
        with m.State("SEEK"):
            m.d.sync += self.index.eq(self.index + Hello.LAYOUT.size)
            m.next = "MEASURE"
        with m.State("MEASURE"):
            length = Mux(rest < 0, 0, Mux(rest < PAGE, rest, PAGE))
            m.d.sync += self.left.eq(length)
            self._begin_reply(Kind.DESCRIPTION, length)
        with m.State("PAGE"), m.If(self._send(port.data, self.left == 1)):
            m.d.sync += [self.index.eq(self.index + 1), self.left.eq(self.left - 1)]
            # The memory answers a cycle late.
            m.next = "TURN"
            with m.If(self.left == 1):
                m.d.comb += self.server.served.eq(1)
                m.next = "IDLE"
        with m.State("TURN"):
            m.next = "PAGE"

    # Samples

    def _predictions(self) -> None:
        self._count()
        self._compute()
        m = self.m
        with m.State("TAG"), m.If(self._send_word(Const(self.hello.tag, 32), TAG.size)):
            m.d.sync += self.worst.eq(0)
            m.next = "SAMPLE"
        with m.State("CYCLES"), m.If(self._send_word(self.worst, CYCLES.size, last=True)):
            m.d.comb += self.server.served.eq(1)
            m.next = "IDLE"

    def _count(self) -> None:
        """How many samples there are; their bytes are counted, which needs no multiplier."""
        m = self.m
        counted = Signal(8)
        size = Signal(range(256 * self.hello.in_bytes))
        with m.State("COUNT"), m.If(self._take()):
            m.d.sync += [
                self.samples.eq(self.request.payload.data),
                counted.eq(0),
                size.eq(0),
                self.reply_length.eq(TAG.size + CYCLES.size),
            ]
            m.next = "MULTIPLY"
        with m.State("MULTIPLY"):
            m.d.sync += [
                counted.eq(counted + 1),
                size.eq(size + self.hello.in_bytes),
                self.reply_length.eq(self.reply_length + self.hello.out_bytes),
            ]
            with m.If(counted == self.samples):
                m.next = "REFUSE"
                with m.If((size == self.length) & (self.samples != 0)):
                    self._begin_reply(Kind.RESULTS, self.reply_length)

    def _compute(self) -> None:
        m, core, hello = self.m, self.core, self.hello
        sample = Signal(8 * hello.in_bytes)
        result = Signal(8 * hello.out_bytes)
        cycles = Signal(8 * CYCLES.size)
        limit = late_cycles(hello)
        waited = Signal(range(limit + 1))
        m.d.comb += core.in_data.eq(sample)
        m.d.sync += [cycles.eq(cycles + 1), waited.eq(waited + 1)]
        with m.State("SAMPLE"), m.If(self._take()):
            m.d.sync += [
                sample.eq(Cat(sample[8:], self.request.payload.data)),
                self.place.eq(self.place + 1),
            ]
            with m.If(self.place == hello.in_bytes - 1):
                m.d.sync += [self.place.eq(0), waited.eq(0)]
                m.next = "OFFER"
        with m.State("OFFER"):
            m.d.comb += core.in_valid.eq(1)
            with m.If(waited == limit):
                m.next = "DEAD"
            with m.If(core.in_ready):
                m.d.sync += cycles.eq(1)
                m.next = "WAIT"
        with m.State("WAIT"):
            m.d.comb += core.out_ready.eq(1)
            with m.If(waited == limit):
                m.next = "DEAD"
            with m.If(core.out_valid):
                m.d.sync += [
                    result.eq(core.out_data.as_unsigned()),
                    self.worst.eq(Mux(cycles > self.worst, cycles, self.worst)),
                    self.samples.eq(self.samples - 1),
                ]
                m.next = "RESULT"
        # The reply ends before its length, so that no host takes it; an error follows it.
        with m.State("DEAD"), m.If(self._send(Const(0, 8), 1)):
            m.d.comb += self.dead.eq(1)
            m.d.sync += self.code.eq(Fault.CORE)
            m.next = "REFUSE"
        with m.State("RESULT"), m.If(self._send_word(result, hello.out_bytes)):
            m.next = "SAMPLE"
            with m.If(self.samples == 0):
                m.next = "CYCLES"

    # Uploads

    def _uploads(self) -> None:
        """Parts of an upload in order; one that comes again, or too early, is only answered."""
        m, core = self.m, self.core
        place, taken = Signal(8 * PLACE.size), Signal(8 * PLACE.size)
        follows = Signal()
        settled = Signal(range(SETTLED))
        m.d.comb += core.load_data.eq(self.request.payload.data)
        with m.State("LOAD PLACE"), m.If(self._take()):
            m.d.sync += [
                place.eq(Cat(place[8:], self.request.payload.data)),
                self.place.eq(self.place + 1),
            ]
            with m.If(self.place == PLACE.size - 1):
                m.next = "LOAD BEGIN"
        with m.State("LOAD BEGIN"):
            m.d.sync += follows.eq((place == taken) & (taken != 0))
            with m.If((place == 0) & (self.length != 0)):
                m.d.comb += core.load_start.eq(1)
                m.d.sync += [follows.eq(1), taken.eq(0)]
            m.next = "LOAD BYTES"
        with m.State("LOAD BYTES"):
            with m.If(self.length == 0):
                m.next = "LOAD SETTLE"
            with m.Else(), m.If(self._take() & follows):
                m.d.comb += core.load_valid.eq(1)
                m.d.sync += taken.eq(taken + 1)
        with m.State("LOAD SETTLE"):
            m.d.sync += settled.eq(settled + 1)
            with m.If(settled == SETTLED - 1):
                m.d.sync += settled.eq(0)
                self._begin_reply(Kind.LOADED, LOAD_STATE.size)
        state = Cat(core.load_status, taken)
        with m.State("LOAD STATE"), m.If(self._send_word(state, LOAD_STATE.size, last=True)):
            m.d.comb += self.server.served.eq(1)
            m.next = "IDLE"
