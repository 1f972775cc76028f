"""Takes an upload byte by byte, and says which bank of the tables is read."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import Component, In, Out

from scm_hw.load.sections import DIGEST_BYTES, UploadPlan
from scm_hw.load.upload import CHECK, LENGTH, LoadStatus
from scm_hw.rtl.fold.lanes import select


class Loader(Component):
    """Writes an upload to the bank that is not read, and reads that one once all of it is right.

    A cycle with `start` begins an upload and drops one under way; each cycle with `valid` has its
    next byte. Nothing is written before the digest and the length have been found right, and
    nothing outside the tables. Two cycles after the last byte the banks have changed places, or
    `status` says why not. `revert` goes back to the bank that was read before, while that is whole.

    `rst` drops an upload and the reasons in `status`; the bank that is read stays.

    Parameters
    ----------
    plan : UploadPlan
        The sections, and the digest that an upload must have.

    Members
    -------
    active : the bank that is read
    write, table, address, entry : a word of a section for the other bank, in the highest bytes of
        `entry`
    """

    def __init__(self, plan: UploadPlan) -> None:
        self.plan = plan
        super().__init__(
            {
                "start": In(1),
                "valid": In(1),
                "data": In(8),
                "revert": In(1),
                "status": Out(8),
                "active": Out(1),
                "write": Out(1),
                "table": Out(range(max(len(plan.sections), 2))),
                "address": Out(range(max(plan.depth, 2))),
                "entry": Out(8 * plan.word_bytes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = self.crc = CRC32_ISO_HDLC(8).create()
        self.bank = Signal(reset_less=True)
        # The other bank holds what was read before, and which of both hold the built-in model.
        self.whole = Signal(reset_less=True)
        self.built_in = Signal(2, init=0b11, reset_less=True)
        self.busy = Signal()
        self.verdict = Signal(5)
        self.count = Signal(range(max(DIGEST_BYTES, self.plan.word_bytes)))
        # The digest or the length differs so far; and the entry that comes next.
        self.wrong = Signal()
        self.at_table = Signal.like(self.table)
        self.at_address = Signal.like(self.address)
        m.d.comb += [
            self.crc.start.eq(self.start),
            self.crc.valid.eq(self.valid & self.busy & ~self.start),
            self.crc.data.eq(self.data),
            self.active.eq(self.bank),
            self.status.eq(
                Cat(
                    self.busy,
                    self.verdict,
                    self.whole,
                    Mux(self.bank, self.built_in[1], self.built_in[0]),
                )
            ),
        ]
        m.d.sync += self.write.eq(0)
        with m.FSM():
            self._header(m)
            self._payload(m)
            self._check(m)
        self._written(m)
        return m

    def _begin(self, m: Module) -> None:
        """In every state: what was under way is dropped."""
        with m.If(self.start):
            m.d.sync += [
                self.busy.eq(1),
                self.verdict.eq(0),
                self.wrong.eq(0),
                self.count.eq(0),
                self.at_table.eq(0),
                self.at_address.eq(0),
            ]
            m.next = "DIGEST"

    def _refuse(self, m: Module, reason: LoadStatus) -> None:
        m.d.sync += [self.verdict.eq(reason >> 1), self.busy.eq(0)]
        m.next = "IDLE"

    def _header(self, m: Module) -> None:
        digest = [Const(byte, 8) for byte in self.plan.digest]
        length = [Const(byte, 8) for byte in LENGTH.pack(self.plan.payload_bytes)]
        with m.State("IDLE"):
            with m.If(self.revert & self.whole & ~self.start):
                m.d.sync += [
                    self.bank.eq(~self.bank),
                    self.verdict.eq(LoadStatus.REVERTED >> 1),
                ]
            self._begin(m)
        for state, expected, reason, after in (
            ("DIGEST", digest, LoadStatus.FOREIGN, "LENGTH"),
            ("LENGTH", length, LoadStatus.LENGTH, "PAYLOAD"),
        ):
            with m.State(state):
                with m.If(self.valid):
                    differs = self.wrong | (self.data != select(self.count, expected))
                    m.d.sync += [self.count.eq(self.count + 1), self.wrong.eq(differs)]
                    with m.If(self.count == len(expected) - 1):
                        m.d.sync += [self.count.eq(0), self.wrong.eq(0)]
                        m.next = after
                        with m.If(differs):
                            self._refuse(m, reason)
                self._begin(m)

    def _payload(self, m: Module) -> None:
        """Entry after entry; each is written a cycle after its last byte."""
        plan = self.plan
        table, address = self.at_table, self.at_address
        with m.State("PAYLOAD"):
            with m.If(self.valid):
                m.d.sync += [
                    self.entry.eq(Cat(self.entry, self.data)[8:]),
                    self.count.eq(self.count + 1),
                ]
                with m.If(self.count == self._last("size")):
                    m.d.sync += [
                        self.count.eq(0),
                        self.write.eq(1),
                        self.table.eq(table),
                        self.address.eq(address),
                        address.eq(address + 1),
                    ]
                    with m.If(address == self._last("words")):
                        m.d.sync += [address.eq(0), table.eq(table + 1)]
                        with m.If(table == len(plan.sections) - 1):
                            m.next = "CHECK"
            self._begin(m)

    def _last(self, what: str) -> Value:
        """The number of the last word of the section that is written, or of a word's last byte."""
        lasts = [size - 1 if what == "size" else words - 1 for words, size in self.plan.sections]
        if len(set(lasts)) == 1:
            return Const(lasts[0])
        return select(self.at_table, [Const(last, max(lasts).bit_length()) for last in lasts])

    def _check(self, m: Module) -> None:
        with m.State("CHECK"):
            with m.If(self.valid):
                m.d.sync += self.count.eq(self.count + 1)
                with m.If(self.count == CHECK.size - 1):
                    m.next = "VERDICT"
            self._begin(m)
        with m.State("VERDICT"):
            self._refuse(m, LoadStatus.CRC)
            with m.If(self.crc.match_detected & ~self.start):
                m.d.sync += [
                    self.verdict.eq(LoadStatus.LOADED >> 1),
                    self.bank.eq(~self.bank),
                    self.whole.eq(1),
                ]
            self._begin(m)

    def _written(self, m: Module) -> None:
        """The bank that is written is no model until all of it is there."""
        with m.If(self.write):
            m.d.sync += self.whole.eq(0)
            with m.If(self.bank):
                m.d.sync += self.built_in[0].eq(0)
            with m.Else():
                m.d.sync += self.built_in[1].eq(0)
