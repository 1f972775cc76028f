"""Small cores with the interface of `scm_core`, right and wrong, for tests of what surrounds it."""

from __future__ import annotations

from random import Random

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring

from scm_hw.boards import Board
from scm_hw.rtl.ports import core_members
from scm_hw.rtl.uart import Hello
from scm_hw.sim.vectors import Vectors


class StandIn(wiring.Component):
    """Three ranks that stall together, computing `3 * a + b` of the input's two halves.

    `fault` breaks one thing: "value", "early_valid" (waits for ready), "unstable", "doubled",
    "no_reset" (valid survives reset), "slow" (one rank more than promised), "deaf" (takes no word
    of 77) or "dumb" (has no result for it).
    """

    latency = 3
    initiation_interval = 1

    def __init__(self, in_width: int = 24, fault: str | None = None) -> None:
        self.in_width = in_width
        self.out_width = in_width // 2 + 2
        self.fault = fault
        super().__init__(core_members(in_width, self.out_width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = self.in_width // 2
        enable = Signal()
        ranks = self.latency + (self.fault == "slow")
        valid = Signal(ranks, reset_less=self.fault == "no_reset")
        word = Signal(self.in_width)
        tripled = Signal(half + 2)
        addend = Signal(half)
        total = Signal(self.out_width)
        with m.If(enable):
            m.d.sync += [
                valid.eq(Cat(self.in_valid, valid)),
                word.eq(self.in_data),
                tripled.eq(word[:half] * 3),
                addend.eq(word[half:]),
                total.eq(tripled + addend),
            ]
        if self.fault == "value":
            with m.If(enable & (word[:half] == 77)):
                m.d.sync += tripled.eq(0)
        m.d.comb += [
            enable.eq(~self.out_valid | self.out_ready),
            self.in_ready.eq(enable),
            self.out_valid.eq(valid[-1]),
            self.out_data.eq(total),
        ]
        self._break(m, enable, valid, total)
        return m

    def _break(self, m: Module, enable: Signal, valid: Signal, total: Signal) -> None:
        if self.fault == "early_valid":
            m.d.comb += self.out_valid.eq(valid[-1] & self.out_ready)
            m.d.comb += self.in_ready.eq(self.out_ready)
            m.d.comb += enable.eq(self.out_ready)
        if self.fault == "unstable":
            with m.If(self.out_valid & ~self.out_ready):
                m.d.sync += total.eq(total + 1)
        if self.fault == "doubled":
            held = Signal()
            m.d.sync += held.eq(self.out_valid & ~self.out_ready)
            m.d.comb += self.in_ready.eq(~self.out_valid | self.out_ready | held)
        if self.fault in ("deaf", "dumb"):
            self._die(m, enable)
        if self.fault == "slow":
            late = Signal(self.out_width)
            with m.If(~self.out_valid | self.out_ready):
                m.d.sync += late.eq(total)
            m.d.comb += self.out_data.eq(late)

    def _die(self, m: Module, enable: Signal) -> None:
        """From the word of 77 on, until a reset."""
        dead = Signal()
        poison = self.in_valid & (self.in_data[: self.in_width // 2] == 77)
        if self.fault == "deaf":
            m.d.comb += self.in_ready.eq(enable & ~poison)
            return
        with m.If(poison & self.in_ready):
            m.d.sync += dead.eq(1)
        with m.If(dead):
            m.d.comb += [enable.eq(0), self.in_ready.eq(0), self.out_valid.eq(0)]


def standin_vectors(count: int, in_width: int = 24, seed: int = 1) -> Vectors:
    """What a good `StandIn` answers; the value 77 that one fault trips over comes at index 5."""
    random = Random(seed)
    half = in_width // 2
    inputs = [random.getrandbits(in_width) for _ in range(count)]
    if count > 5:
        inputs[5] = (inputs[5] >> half << half) | 77
    mask = (1 << half) - 1
    outputs = [3 * (word & mask) + (word >> half) for word in inputs]
    return Vectors(tuple(inputs), tuple(outputs), in_width, half + 2)


def standin_hello(board: Board, baud: int = 1_000_000, description_bytes: int = 0) -> Hello:
    """What a board with a `StandIn` says of itself."""
    return Hello(
        digest=bytes(range(32)),
        model_digest=bytes(range(32, 64)),
        in_width=24,
        out_width=14,
        capacity=2048,
        latency=StandIn.latency,
        interval=StandIn.initiation_interval,
        clock_hz=round(board.clock_mhz * 1e6),
        baud=baud,
        description_bytes=description_bytes,
    )


class FoldedStandIn(wiring.Component):
    """The same function, one sample at a time: busy from the sample until its result is taken."""

    latency = 5
    initiation_interval = 6

    def __init__(self, in_width: int = 24) -> None:
        self.in_width = in_width
        self.out_width = in_width // 2 + 2
        super().__init__(core_members(in_width, self.out_width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = self.in_width // 2
        # 0 when idle, else the cycles since the sample was taken.
        age = Signal(range(self.latency + 1))
        m.d.comb += [self.in_ready.eq(age == 0), self.out_valid.eq(age == self.latency)]
        with m.If(age == 0):
            m.d.sync += self.out_data.eq(self.in_data[:half] * 3 + self.in_data[half:])
            m.d.sync += age.eq(self.in_valid)
        with m.Elif(age != self.latency):
            m.d.sync += age.eq(age + 1)
        with m.Elif(self.out_ready):
            m.d.sync += age.eq(0)
        return m
