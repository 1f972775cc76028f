"""Takes an upload byte by byte, and says which bank of the tables each model is read from."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import Component, In, Out

from scm_hw.load.sections import DIGEST_BYTES, UploadPlan
from scm_hw.load.siphash import COUNTER_BYTES, TAG_BYTES, LoadKey
from scm_hw.load.upload import CHECK, LENGTH, LoadStatus
from scm_hw.rtl.fold.lanes import select
from scm_hw.rtl.reload.siphash import SipHash


class Loader(Component):
    """Writes an upload to the bank that is spare, and gives it to a model once all is right.

    There is a bank for each model that the core holds, and a spare one.

    A cycle with `start` begins an upload and drops one under way; each cycle with `valid` has its
    next byte. Nothing is written before the digest and the length have been found right, and
    nothing outside the tables. Two cycles after the last byte the model's bank and the spare one
    have changed places, or `status` says why not. `revert` takes the last change back, while the
    spare bank is whole.

    With a key, an upload has a counter behind its header and a hash of all before its CRC. It is
    refused where the hash isn't that of the key, or where the counter isn't above that of the last
    upload that was right; the verdict is then some 20 cycles later. `revert` does nothing: an
    upload of length 0 takes the last change back.

    `rst` drops an upload and the reasons in `status`; every model keeps its bank.

    Parameters
    ----------
    plan : UploadPlan
        The sections, the digest that an upload must have, and how many models there are.
    key : LoadKey, optional

    Members
    -------
    banks : the bank of each model, side by side
    spare : the bank that none has
    write, table, address, entry : a word of a section for the spare bank, in the highest bytes of
        `entry`
    """

    def __init__(self, plan: UploadPlan, key: LoadKey | None = None) -> None:
        self.plan, self.key = plan, key
        super().__init__(
            {
                "start": In(1),
                "valid": In(1),
                "data": In(8),
                "revert": In(1),
                "status": Out(8),
                "banks": Out(plan.models * plan.bank_bits),
                "spare": Out(plan.bank_bits, init=plan.models),
                "write": Out(1),
                "table": Out(range(max(len(plan.sections), 2))),
                "address": Out(range(max(plan.depth, 2))),
                "entry": Out(8 * plan.word_bytes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = self.crc = CRC32_ISO_HDLC(8).create()
        models = self.plan.models
        # Not reset: `rst` must not bring back a model that has been replaced.
        self.bank = [
            Signal(self.plan.bank_bits, name=f"bank{k}", init=k, reset_less=True)
            for k in range(models)
        ]
        self.free = Signal.like(self.spare, name="free", init=models, reset_less=True)
        # Whether the spare bank still holds what was read before, and which banks hold the built-in
        # model: all of them at first.
        self.whole = Signal(reset_less=True)
        self.built_in = Signal(models + 1, init=(2 << models) - 1, reset_less=True)
        # The model of the upload, and that of the last one that was right.
        self.number = Signal(range(max(models, 2)))
        self.changed = Signal.like(self.number, name="changed", reset_less=True)
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
            self.banks.eq(Cat(*self.bank)),
            self.spare.eq(self.free),
            self.status.eq(
                Cat(
                    self.busy,
                    self.verdict,
                    self.whole,
                    Cat(*(select(bank, list(self.built_in)) for bank in self.bank)).all(),
                )
            ),
        ]
        self.seal = None if self.key is None else _Seal(self, m, self.key)
        m.d.sync += self.write.eq(0)
        with m.FSM():
            self._header(m)
            self._payload(m)
            if self.seal is not None:
                self.seal.states()
            self._check(m)
        self._written(m)
        return m

    def _begin(self, m: Module) -> None:
        """In every state: what was under way is dropped."""
        # Called at the end of each state, since the later assignment wins in Amaranth.
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
        # Bit 0 of the status is `busy`, which is a signal of its own.
        m.d.sync += [self.verdict.eq(reason >> 1), self.busy.eq(0)]
        m.next = "IDLE"

    def _swap(self, m: Module, number: Signal) -> None:
        """The bank of a model and the spare one change places."""
        m.d.sync += self.free.eq(select(number, self.bank))
        for place, bank in enumerate(self.bank):
            with m.If(number == place):
                m.d.sync += bank.eq(self.free)

    def _header(self, m: Module) -> None:
        digest = [Const(byte, 8) for byte in self.plan.digest]
        length = [Const(byte, 8) for byte in LENGTH.pack(self.plan.payload_bytes)]
        with m.State("IDLE"):
            with m.If(self.revert & self.whole & ~self.start & (self.seal is None)):
                self._swap(m, self.changed)
                m.d.sync += self.verdict.eq(LoadStatus.REVERTED >> 1)
            self._begin(m)
        for state, expected, reason, after in (
            ("DIGEST", digest, LoadStatus.FOREIGN, "LENGTH"),
            ("LENGTH", length, LoadStatus.LENGTH, "PAYLOAD"),
        ):
            with m.State(state):
                with m.If(self.valid):
                    if state == "LENGTH" and self.seal is not None:
                        self.seal.length()
                    other: Value = self.data != select(self.count, expected)
                    if state == "LENGTH":
                        # Its highest byte is the number of the model.
                        last = self.count == len(expected) - 1
                        other = Mux(last, self.data >= self.plan.models, other)
                        m.d.sync += self.number.eq(self.data)
                    differs = self.wrong | other
                    m.d.sync += [self.count.eq(self.count + 1), self.wrong.eq(differs)]
                    with m.If(self.count == len(expected) - 1):
                        m.d.sync += [self.count.eq(0), self.wrong.eq(0)]
                        m.next = after
                        if state == "LENGTH" and self.seal is not None:
                            m.next = "COUNTER"
                            # With a key, a length of 0 isn't wrong: it takes the last change back.
                            differs &= ~self.seal.zero
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
                    # Words come with their lowest byte first: each byte enters at the top and moves
                    # down.
                    self.entry.eq(Cat(self.entry, self.data)[8:]),
                    self.count.eq(self.count + 1),
                ]
                with m.If(self.count == self._last("size")):
                    m.d.sync += [
                        self.count.eq(0),
                        # Written before CRC or hash are known, so that a refused upload still costs
                        # the spare model.
                        self.write.eq(1),
                        self.table.eq(table),
                        self.address.eq(address),
                        address.eq(address + 1),
                    ]
                    with m.If(address == self._last("words")):
                        m.d.sync += [address.eq(0), table.eq(table + 1)]
                        with m.If(table == len(plan.sections) - 1):
                            m.next = "CHECK"
                            if self.seal is not None:
                                self.seal.end()
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
            right = self.crc.match_detected & ~self.start
            if self.seal is None:
                # Refused, unless the commit overrides the verdict.
                self._refuse(m, LoadStatus.CRC)
                with m.If(right):
                    self._commit(m)
            else:
                self.seal.verdict(right)
            self._begin(m)

    def _commit(self, m: Module) -> None:
        self._swap(m, self.number)
        m.d.sync += [
            self.verdict.eq(LoadStatus.LOADED >> 1),
            self.changed.eq(self.number),
            self.whole.eq(1),
        ]

    def _written(self, m: Module) -> None:
        """The bank that is written holds no model until all of it is there."""
        with m.If(self.write):
            m.d.sync += self.whole.eq(0)
            for place in range(self.plan.models + 1):
                with m.If(self.free == place):
                    m.d.sync += self.built_in[place].eq(0)


class _Seal:
    """What a key adds to a loader: the counter, the hash, and what they decide."""

    def __init__(self, loader: Loader, m: Module, key: LoadKey) -> None:
        self.loader, self.m = loader, m
        m.submodules.hash = self.hash = SipHash(key)
        self.counter = Signal(8 * COUNTER_BYTES)
        self.given = Signal(8 * TAG_BYTES)
        # The counter of the last upload that was right. It stays as long as the models do.
        self.highest = Signal(8 * COUNTER_BYTES, reset_less=True)
        # All bytes up to the tag are hashed; an upload of length 0 takes the last change back.
        self.hashing = Signal()
        self.empty = Signal()
        m.d.sync += self.hash.finish.eq(0)
        m.d.comb += [
            self.hash.start.eq(loader.start),
            self.hash.valid.eq(loader.valid & loader.busy & self.hashing & ~loader.start),
            self.hash.data.eq(loader.data),
        ]
        # All bytes of the length so far, with the one that is there.
        self.zero = self.empty & (loader.data == 0)
        with m.If(loader.start):
            m.d.sync += [self.hashing.eq(1), self.empty.eq(1)]

    def length(self) -> None:
        """A byte of the length is there."""
        self.m.d.sync += self.empty.eq(self.zero)

    def states(self) -> None:
        m, loader = self.m, self.loader
        for state, held, size in (
            ("COUNTER", self.counter, COUNTER_BYTES),
            ("TAG", self.given, TAG_BYTES),
        ):
            with m.State(state):
                with m.If(loader.valid):
                    m.d.sync += [
                        held.eq(Cat(held, loader.data)[8:]),
                        loader.count.eq(loader.count + 1),
                    ]
                    with m.If(loader.count == size - 1):
                        m.d.sync += loader.count.eq(0)
                        m.next = "CHECK"
                        if state == "COUNTER":
                            m.next = "PAYLOAD"
                            with m.If(self.empty):
                                self.end()
                loader._begin(m)

    def end(self) -> None:
        """The last byte that is hashed is there."""
        self.m.d.sync += [self.hashing.eq(0), self.hash.finish.eq(1)]
        self.m.next = "TAG"

    def verdict(self, right: Value) -> None:
        """The verdict on an upload whose CRC is right or not, once there is a hash to compare."""
        m, loader = self.m, self.loader
        with m.If(~right):
            loader._refuse(m, LoadStatus.CRC)
        with m.Elif(self.hash.ready):
            m.d.sync += loader.busy.eq(0)
            m.next = "IDLE"
            with m.If(self.hash.tag != self.given):
                loader._refuse(m, LoadStatus.KEY)
            with m.Elif(self.counter <= self.highest):
                loader._refuse(m, LoadStatus.REPLAY)
            with m.Else():
                m.d.sync += self.highest.eq(self.counter)
                with m.If(~self.empty):
                    loader._commit(m)
                with m.Elif(loader.whole):
                    loader._swap(m, loader.changed)
                    m.d.sync += loader.verdict.eq(LoadStatus.REVERTED >> 1)
