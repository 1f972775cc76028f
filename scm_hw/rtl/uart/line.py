"""A serial line: eight data bits, no parity, one stop bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Component, In, Out

from scm_hw.errors import OptionError

# What USB serial chips can do.
MIN_BAUD = 1_200
MAX_BAUD = 3_000_000
# Start bit, data, stop bit.
FRAME_BITS = 10
# A pulse shorter than this share of a bit is noise.
GLITCH_SHARE = 8
MAX_GLITCH_CYCLES = 16


def check_baud(baud: int) -> int:
    """The rate, if a USB serial chip can have it."""
    if not MIN_BAUD <= baud <= MAX_BAUD:
        raise OptionError(f"baud must be in [{MIN_BAUD}, {MAX_BAUD}], not {baud}")
    return baud


@dataclass(frozen=True)
class BitRate:
    """How many clock cycles a bit lasts, exactly; OptionError where they are too few.

    A receiver finds an edge to within a cycle, and places its samples to within another where bits
    aren't whole cycles. With a rate 2 % off, the last of ten bits then still falls inside itself.
    """

    clock_hz: int
    baud: int

    def __post_init__(self) -> None:
        assert self.baud > 0
        if self.cycles < 4 or (self.cycles < 8 and self.cycles.denominator != 1):
            raise OptionError(
                "baud must leave a bit at least 8 clock cycles, or 4 whole ones, not "
                f"{float(self.cycles):.3g} at {self.clock_hz / 1e6:g} MHz; choose {self.advice()}"
            )

    @property
    def cycles(self) -> Fraction:
        return Fraction(self.clock_hz, self.baud)

    @property
    def glitch_cycles(self) -> int:
        """Equal samples in a row that make a level."""
        return max(1, min(int(self.cycles) // GLITCH_SHARE, MAX_GLITCH_CYCLES))

    def advice(self) -> str:
        exact = [self.clock_hz // n for n in range(4, 9) if self.clock_hz % n == 0]
        return " or ".join(str(baud) for baud in exact[:2] or [self.clock_hz // 8])


class _Phase:
    """Where in a bit the line is; `tick` is high in the cycle that completes one."""

    def __init__(self, m: Module, rate: BitRate) -> None:
        self.modulus = rate.cycles.numerator
        self.step = rate.cycles.denominator
        self.m = m
        self.phase = Signal(range(self.modulus))
        self.tick = Signal()
        # A phase accumulator: a bit lasts the exact fraction of cycles on average, without drift.
        following = Signal(range(self.modulus + self.step))
        m.d.comb += [following.eq(self.phase + self.step), self.tick.eq(following >= self.modulus)]
        m.d.sync += self.phase.eq(Mux(self.tick, following - self.modulus, following))

    def restart(self, at: int = 0) -> None:
        self.m.d.sync += self.phase.eq(at)


class Transmitter(Component):
    """Sends bytes; `i.ready` is high while it has none to send, so that none is lost.

    Bytes that are offered in time follow each other without a gap.
    """

    def __init__(self, rate: BitRate) -> None:
        self.rate = rate
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        phase = _Phase(m, self.rate)
        bits = Signal(FRAME_BITS - 1, init=-1)
        left = Signal(range(FRAME_BITS + 1))
        last = (left == 1) & phase.tick
        m.d.comb += self.i.ready.eq((left == 0) | last)
        with m.If(phase.tick & (left != 0)):
            # Ones follow the data: the stop bit, and the line at rest.
            m.d.sync += [Cat(self.tx, bits).eq(Cat(bits, Const(1))), left.eq(left - 1)]
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += [self.tx.eq(0), bits.eq(Cat(self.i.payload, 1)), left.eq(FRAME_BITS)]
            # Bytes without a gap keep the phase, or fractions of a cycle would be lost with each.
            with m.If(left == 0):
                phase.restart()
        return m


class Receiver(Component):
    """Receives bytes: `strobe` is high for a cycle with each, beside `data`.

    `error` is high instead where the stop bit is missing; the line must then rest before another
    byte begins. Pulses shorter than `rate.glitch_cycles` cycles are ignored, and so is a start
    bit that has ended by its middle.
    """

    def __init__(self, rate: BitRate) -> None:
        self.rate = rate
        super().__init__({"rx": In(1), "data": Out(8), "strobe": Out(1), "error": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        synchronised = Signal(init=1)
        m.submodules.synchroniser = FFSynchronizer(self.rx, synchronised, init=1)
        line = _steady(m, synchronised, self.rate.glitch_cycles)
        phase = _Phase(m, self.rate)
        left = Signal(range(FRAME_BITS))
        with m.FSM():
            with m.State("IDLE"):
                # The middle of a bit from here is the middle of the start bit.
                phase.restart(phase.modulus // 2)
                m.d.sync += left.eq(FRAME_BITS - 1)
                with m.If(~line):
                    m.next = "START"
            with m.State("START"), m.If(phase.tick):
                m.next = "DATA"
                with m.If(line):
                    m.next = "IDLE"
            with m.State("DATA"), m.If(phase.tick):
                m.d.sync += left.eq(left - 1)
                with m.If(left == 1):
                    m.d.comb += [self.strobe.eq(line), self.error.eq(~line)]
                    # A fast sender's next byte may begin right now.
                    m.next = "IDLE"
                    with m.If(~line):
                        m.next = "REST"
                with m.Else():
                    m.d.sync += self.data.eq(Cat(self.data[1:], line))
            with m.State("REST"), m.If(line):
                m.next = "IDLE"
        return m


def _steady(m: Module, value: Value, cycles: int) -> Value:
    """The value, once it has been the same for that many cycles."""
    if cycles == 1:
        return value
    level = Signal(init=1)
    count = Signal(range(cycles))
    m.d.sync += count.eq(0)
    with m.If(value != level):
        m.d.sync += count.eq(count + 1)
        with m.If(count == cycles - 1):
            m.d.sync += [level.eq(value), count.eq(0)]
    return level
