"""SipHash-2-4 in gates: half a round in a cycle, for a byte in each."""

from __future__ import annotations

import struct

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out

from scm_hw.load.siphash import COMPRESSIONS, FINALISATIONS, START, TURNS, LoadKey

WORD = 64
BYTES = 8


class SipHash(Component):
    """The hash of the bytes since `start`, under a key that is part of the logic.

    Each cycle with `valid` takes a byte. `finish`, after the last of them, ends the text; `ready`
    is high from when `tag` is its hash, at most 24 cycles later, until the next `start`.

    Parameters
    ----------
    key : LoadKey
    """

    def __init__(self, key: LoadKey) -> None:
        self.key = key
        super().__init__(
            {
                "start": In(1),
                "valid": In(1),
                "data": In(8),
                "finish": In(1),
                "ready": Out(1),
                "tag": Out(WORD),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.v = [Signal(WORD, name=f"v{i}", reset_less=True) for i in range(4)]
        # Half rounds that are left, the bytes that are no word yet, and the word under way.
        self.halves = Signal(range(2 * FINALISATIONS + 1))
        self.lanes = [Signal(8, name=f"lane{i}", reset_less=True) for i in range(BYTES)]
        self.message = Signal(WORD, reset_less=True)
        self.count = Signal(range(BYTES))
        self.total = Signal(8)
        self.full = Signal()
        # The text has ended, its last word is under way, and the rounds behind it are.
        self.ended, self.closing, self.final = (
            Signal(name=name) for name in ("ended", "closing", "final")
        )
        m.d.comb += self.tag.eq(self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3])
        self._bytes(m)
        self._words(m)
        with m.If(self.start):
            self._restart(m)
        return m

    def _restart(self, m: Module) -> None:
        # Both halves of the key, each twice, as SipHash defines its start.
        halves = struct.unpack("<2Q", self.key.value)
        m.d.sync += [v.eq(START[i] ^ halves[i % 2]) for i, v in enumerate(self.v)]
        flags = (self.full, self.ended, self.closing, self.final, self.ready)
        m.d.sync += [s.eq(0) for s in (self.halves, self.count, self.total, *flags)]

    def _bytes(self, m: Module) -> None:
        """A byte goes to its place; the first of a word clears the others."""
        m.d.sync += self.full.eq(0)
        with m.If(self.valid):
            for place, lane in enumerate(self.lanes):
                with m.If(self.count == place):
                    m.d.sync += lane.eq(self.data)
                with m.Elif(self.count == 0):
                    m.d.sync += lane.eq(0)
            m.d.sync += [
                self.count.eq(self.count + 1),
                self.total.eq(self.total + 1),
                self.full.eq(self.count == BYTES - 1),
            ]
        with m.If(self.finish):
            m.d.sync += self.ended.eq(1)

    def _words(self, m: Module) -> None:
        """Each word takes a cycle to begin and half a round in every other."""
        whole = Cat(*self.lanes)
        # With fewer bytes than a word, the last place is free for their number.
        last = Cat(Mux(self.count == 0, 0, whole)[: WORD - 8], self.total)
        with m.If(self.full):
            self._absorb(m, whole, 2 * COMPRESSIONS)
        with m.Elif(self.halves != 0):
            self._half_round(m)
        with m.Elif(self.ended & ~self.ready & ~self.closing):
            self._absorb(m, last, 2 * COMPRESSIONS)
            m.d.sync += self.closing.eq(1)

    def _absorb(self, m: Module, word: Cat, halves: int) -> None:
        m.d.sync += [
            self.message.eq(word),
            self.v[3].eq(self.v[3] ^ word),
            self.halves.eq(halves),
        ]

    def _half_round(self, m: Module) -> None:
        v0, v1, v2, v3 = self.v
        first = Signal()
        one, other = Signal(WORD), Signal(WORD)
        m.d.comb += [
            first.eq(~self.halves[0]),
            one.eq(Mux(first, v0, v2) + v1),
            other.eq(Mux(first, v2, v0) + v3),
        ]
        turned = one.rotate_left(32)
        ends = self.halves == 1
        # SipHash: a word goes into v3 before its rounds and into v0 behind them, and 0xFF goes into
        # v2 before the final rounds.
        added = Mux(ends & ~self.final, self.message, 0)
        sealed = Mux(ends & self.closing & ~self.final, Const(0xFF, WORD), 0)
        m.d.sync += [
            v0.eq(Mux(first, turned, other) ^ added),
            v2.eq(Mux(first, other, turned) ^ sealed),
            self.halves.eq(self.halves - 1),
        ]
        for v, total, bits in zip((v1, v3), (one, other), zip(*TURNS, strict=True), strict=True):
            m.d.sync += v.eq(Mux(first, v.rotate_left(bits[0]), v.rotate_left(bits[1])) ^ total)
        with m.If(ends & self.closing):
            m.d.sync += self.final.eq(1)
            with m.If(self.final):
                m.d.sync += self.ready.eq(1)
            with m.Else():
                m.d.sync += self.halves.eq(2 * FINALISATIONS)
