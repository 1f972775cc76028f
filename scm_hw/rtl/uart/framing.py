"""Frames on a stream of bytes, in hardware: what `packets.Packet` does on the host."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.data import StructLayout
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from scm_hw.rtl.uart.packets import CRC, ESCAPE, FLAG, FLIP, HEADER, Fault

# A byte of a frame, and whether it is the last.
BYTE = StructLayout({"data": 8, "last": 1})
COUNT_BITS = 17


class FrameBuffer(Component):
    """Keeps whole, right frames, without their CRC, until they are read.

    A frame that is wrong in any way leaves no trace but `fault`, which is high for a cycle with its
    `code`. `o` gives the bytes of the frames in order. `capacity` bytes of frames fit; one that
    doesn't is refused as a whole. A frame that stays open for `patience` cycles is dropped.
    """

    def __init__(self, *, capacity: int, patience: int) -> None:
        assert capacity & (capacity - 1) == 0, "pointers wrap by themselves"
        self.capacity = capacity
        self.patience = patience
        super().__init__(
            {
                "data": In(8),
                "strobe": In(1),
                "line_error": In(1),
                "o": Out(stream.Signature(BYTE)),
                "fault": Out(1),
                "code": Out(8),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A byte, and whether it is the last of its frame.
        m.submodules.memory = memory = Memory(shape=9, depth=self.capacity, init=[])
        # One bit more than an address, so that full and empty differ.
        self.written = Signal(range(2 * self.capacity))
        self.committed = Signal.like(self.written)
        self.read = Signal.like(self.written)
        self.write_port = memory.write_port()
        self._receive(m)
        self._give(m, memory)
        return m

    def _receive(self, m: Module) -> None:
        """Unescape, check and store."""
        frame = _OpenFrame(m)
        byte = Signal(8)
        room = Signal()
        m.d.comb += [
            byte.eq(Mux(frame.escaped, self.data ^ FLIP, self.data)),
            frame.crc.data.eq(byte),
            room.eq((self.written - self.read)[: len(self.written)] != self.capacity),
            self.write_port.addr.eq(self.written),
            self.write_port.data.eq(frame.waiting[:8]),
        ]
        with m.If(self.line_error):
            # The frame is lost, but the next one only begins after its end.
            m.d.sync += frame.bad.eq(1)
        with m.If(self.strobe & (self.data == FLAG)):
            self._end(m, frame, room)
            frame.clear(m)
        with m.Elif(self.strobe & (self.data == ESCAPE)):
            m.d.sync += frame.escaped.eq(1)
        with m.Elif(self.strobe):
            frame.take(m, byte)
            with m.If(frame.count > CRC.size):
                with m.If(room & ~frame.overrun):
                    m.d.comb += self.write_port.en.eq(1)
                    m.d.sync += self.written.eq(self.written + 1)
                with m.Else():
                    m.d.sync += frame.overrun.eq(1)
        self._time_out(m, frame)

    def _end(self, m: Module, frame: _OpenFrame, room: Value) -> None:
        """Keep a frame that is right, and say what is wrong with one that isn't."""
        # Bytes are stored as they come; unless the frame is right, the writer goes back to its
        # start.
        smallest = HEADER.size + CRC.size
        m.d.sync += self.written.eq(self.committed)
        with m.If(~frame.begun):
            # Flags alone, as between frames.
            pass
        with m.Elif(frame.bad):
            self._refuse(m, Fault.LINE)
        with m.Elif(frame.count < smallest):
            self._refuse(m, Fault.SHORT)
        with m.Elif(frame.escaped | ~frame.crc.match_detected):
            self._refuse(m, Fault.CRC)
        with m.Elif(frame.overrun | ~room):
            self._refuse(m, Fault.OVERRUN)
        with m.Elif(frame.length != frame.count - smallest):
            self._refuse(m, Fault.LENGTH)
        with m.Else():
            m.d.comb += [self.write_port.en.eq(1), self.write_port.data[8].eq(1)]
            m.d.sync += [self.written.eq(self.written + 1), self.committed.eq(self.written + 1)]

    def _time_out(self, m: Module, frame: _OpenFrame) -> None:
        quiet = Signal(range(self.patience + 1))
        m.d.sync += quiet.eq(quiet + 1)
        with m.If(self.strobe | ~frame.begun):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet == self.patience):
            self._refuse(m, Fault.TIMEOUT)
            m.d.sync += self.written.eq(self.committed)
            frame.clear(m)

    def _refuse(self, m: Module, code: Fault) -> None:
        m.d.comb += [self.fault.eq(1), self.code.eq(code)]

    def _give(self, m: Module, memory: Memory) -> None:
        """The memory answers a cycle late: its address is where reading will be by then."""
        port = memory.read_port()
        following = Signal.like(self.read)
        m.d.comb += [
            following.eq(self.read + (self.o.valid & self.o.ready)),
            port.addr.eq(following),
            self.o.payload.eq(port.data),
        ]
        m.d.sync += [self.read.eq(following), self.o.valid.eq(following != self.committed)]


class _OpenFrame:
    """What is known of a frame before its end.

    Its last five bytes are `waiting`: four of them are the CRC, and aren't stored.
    """

    def __init__(self, m: Module) -> None:
        m.submodules.checksum = self.crc = CRC32_ISO_HDLC().create()
        self.escaped = Signal()
        self.bad = Signal()
        self.overrun = Signal()
        self.count = Signal(COUNT_BITS)
        self.length = Signal(16)
        self.waiting = Signal(8 * (CRC.size + 1))
        self.begun = Signal()
        m.d.comb += self.begun.eq((self.count != 0) | self.escaped | self.bad)

    def take(self, m: Module, byte: Value) -> None:
        m.d.comb += self.crc.valid.eq(1)
        m.d.sync += [
            self.escaped.eq(0),
            self.waiting.eq(Cat(self.waiting[8:], byte)),
            # Saturates: an endless frame must not wrap to a length that looks right.
            self.count.eq(Mux(self.count.all(), self.count, self.count + 1)),
        ]
        # Where `HEADER` has the length.
        for place, part in ((3, self.length[:8]), (4, self.length[8:])):
            with m.If(self.count == place):
                m.d.sync += part.eq(byte)

    def clear(self, m: Module) -> None:
        m.d.comb += self.crc.start.eq(1)
        m.d.sync += [state.eq(0) for state in (self.count, self.escaped, self.bad, self.overrun)]


class Framer(Component):
    """Puts flags, escapes and a CRC around the bytes of a frame; the last of them says so."""

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(BYTE)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.checksum = crc = CRC32_ISO_HDLC().create()
        # The byte to be sent, still to be escaped, or half sent.
        byte = Signal(8)
        escaping = Signal()
        sent = Signal()
        check = Signal(32)
        place = Signal(range(CRC.size))
        special = (byte == FLAG) | (byte == ESCAPE)
        m.d.comb += crc.data.eq(self.i.payload.data)

        def send_byte(source: Value) -> None:
            """`byte` as one byte on the line, or as two; `sent` with the last of them."""
            m.d.comb += [byte.eq(source), self.o.payload.eq(byte)]
            with m.If(escaping):
                m.d.comb += [self.o.payload.eq(byte ^ FLIP), sent.eq(self.o.valid & self.o.ready)]
            with m.Elif(special):
                m.d.comb += self.o.payload.eq(ESCAPE)
            with m.Else():
                m.d.comb += sent.eq(self.o.valid & self.o.ready)
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += escaping.eq(special & ~escaping)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.o.valid.eq(self.i.valid), self.o.payload.eq(FLAG)]
                m.d.comb += crc.start.eq(1)
                with m.If(self.i.valid & self.o.ready):
                    m.next = "BODY"
            with m.State("BODY"):
                m.d.comb += self.o.valid.eq(self.i.valid)
                send_byte(self.i.payload.data)
                m.d.comb += [self.i.ready.eq(sent), crc.valid.eq(sent)]
                with m.If(sent & self.i.payload.last):
                    m.next = "CHECK"
            with m.State("CHECK"):
                # Only now, a cycle later, the CRC includes the last byte.
                m.d.sync += check.eq(crc.crc)
                m.next = "CRC"
            with m.State("CRC"):
                m.d.comb += self.o.valid.eq(1)
                send_byte(check[:8])
                with m.If(sent):
                    m.d.sync += [check.eq(check >> 8), place.eq(place + 1)]
                    with m.If(place == CRC.size - 1):
                        m.next = "FLAG"
            with m.State("FLAG"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(FLAG)]
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m
