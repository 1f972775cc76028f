"""The core behind AXI4-Lite, as registers in a processor's memory map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import Component, In, Out

from scm_hw.errors import OptionError
from scm_hw.rtl.axi import registers as at

WORD = 32


class AxiLiteCore(Component):
    """A core behind the registers of `registers.py`, one sample at a time.

    Software writes the fields of a sample, then START to CONTROL; when STATUS shows DONE, or at the
    interrupt, it reads the fields of the result, and CYCLES is what the core took. Every access is
    answered with OKAY, since an error response aborts the processor on many systems: what can't be
    done (an access to an unused address, a write to a read-only register, an input or START while a
    sample is under way) changes nothing and sets a bit in STATUS, which stays until 1 is written to
    it. A bit that is set and cleared in the same cycle is set. The two lowest address bits are
    ignored; strobes select bytes. No output depends on an input within a cycle.

    Parameters
    ----------
    core : Component
        With the core's interface; where it has pins to load a readout, these are registers too.
    in_widths, out_widths : bits of the fields, in the order in which they are packed
    out_signed : whether each output is two's complement; it is extended to 64 bits accordingly
    digest : the design's SHA-256, in hex
    """

    def __init__(
        self,
        core: Component,
        *,
        in_widths: Sequence[int],
        out_widths: Sequence[int],
        out_signed: Sequence[bool],
        digest: str,
    ) -> None:
        for side, widths in (("inputs", in_widths), ("outputs", out_widths)):
            if len(widths) > at.MAX_FIELDS or max(widths) > 2 * WORD:
                raise OptionError(
                    f"{side} must be at most {at.MAX_FIELDS} of at most {2 * WORD} bits behind "
                    f"AXI4-Lite, not {len(widths)} of up to {max(widths)}; choose --interface axis"
                )
        self.core = core
        self.loads = "load_start" in core.signature.members
        self.in_widths = tuple(in_widths)
        self.out_widths = tuple(out_widths)
        self.out_signed = tuple(out_signed)
        self.digest = digest
        super().__init__(
            {
                "aclk": In(1),
                "aresetn": In(1),
                "irq": Out(1),
                "s_axi_awaddr": In(at.ADDRESS_BITS),
                "s_axi_awprot": In(3),
                "s_axi_awvalid": In(1),
                "s_axi_awready": Out(1),
                "s_axi_wdata": In(WORD),
                "s_axi_wstrb": In(WORD // 8),
                "s_axi_wvalid": In(1),
                "s_axi_wready": Out(1),
                "s_axi_bresp": Out(2),
                "s_axi_bvalid": Out(1),
                "s_axi_bready": In(1),
                "s_axi_araddr": In(at.ADDRESS_BITS),
                "s_axi_arprot": In(3),
                "s_axi_arvalid": In(1),
                "s_axi_arready": Out(1),
                "s_axi_rdata": Out(WORD),
                "s_axi_rresp": Out(2),
                "s_axi_rvalid": Out(1),
                "s_axi_rready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Local, since the clock and the reset are ports with the names of the bus.
        m.domains.sync = ClockDomain(local=True)
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        m.submodules.core = self.core
        # Reset, since both can be read before they are written.
        sample = Signal(len(self.core.in_data))
        result = Signal(len(self.core.out_data))
        status = _Status()
        m.d.sync += status.sticky.eq((status.sticky & ~status.cleared) | status.raised)
        m.d.comb += self.irq.eq(status.enable & (status.word & at.INTERRUPT).any())
        self._run(m, sample, result, status)
        read_only = dict(self._read_only(result, status))
        writable = dict(self._writable(sample, status))
        self._writes(m, sample, status, [place // 4 for place in read_only])
        self._reads(m, read_only | writable, status)
        return m

    def _run(self, m: Module, sample: Signal, result: Signal, status: _Status) -> None:
        """From START to a result, counting the edges between the two transfers."""
        core = self.core
        offering = Signal()
        count = Signal(WORD)
        m.d.comb += [
            core.in_valid.eq(offering),
            core.in_data.eq(sample),
            # One sample at a time: there is always room for its result.
            core.out_ready.eq(1),
        ]
        # It runs on all the time, and begins anew as a sample enters the core.
        m.d.sync += count.eq(count + 1)
        with m.If(status.start):
            m.d.sync += [status.busy.eq(1), status.done.eq(0), offering.eq(1)]
        with m.If(offering & core.in_ready):
            m.d.sync += [offering.eq(0), count.eq(1)]
        with m.If(core.out_valid):
            m.d.comb += status.flag(at.INTERRUPT)
            m.d.sync += [
                result.eq(core.out_data),
                status.busy.eq(0),
                status.done.eq(1),
                status.cycles.eq(count),
                status.samples.eq(status.samples + 1),
            ]

    def _writes(self, m: Module, sample: Signal, status: _Status, read_only: Iterable[int]) -> None:
        """Address and data may come in any order; the write happens when both are there."""
        address = Signal(at.ADDRESS_BITS - 2, name="write_address")
        has_address = Signal(name="has_write_address")
        word = Signal(WORD)
        strobes = Signal(WORD // 8)
        has_word = Signal()
        act = Signal()
        m.d.comb += [
            # Neither channel waits for the other, since AXI lets data come before its address.
            self.s_axi_awready.eq(~has_address),
            self.s_axi_wready.eq(~has_word),
            act.eq(has_address & has_word & ~self.s_axi_bvalid),
        ]
        with m.If(self.s_axi_awvalid & ~has_address):
            m.d.sync += [address.eq(self.s_axi_awaddr[2:]), has_address.eq(1)]
        with m.If(self.s_axi_wvalid & ~has_word):
            m.d.sync += [word.eq(self.s_axi_wdata), strobes.eq(self.s_axi_wstrb), has_word.eq(1)]
        with m.If(self.s_axi_bready):
            m.d.sync += self.s_axi_bvalid.eq(0)
        with m.If(act):
            m.d.sync += [has_address.eq(0), has_word.eq(0), self.s_axi_bvalid.eq(1)]
            with m.Switch(address):
                with m.Case(at.CONTROL // 4):
                    self._control(m, word, strobes, status)
                with m.Case(at.STATUS // 4), m.If(strobes[0]):
                    m.d.comb += status.cleared.eq(word[at.FIRST_STICKY :])
                for place, target in _words(sample, self.in_widths, at.INPUT_BASE):
                    with m.Case(place // 4):
                        with m.If(status.busy):
                            m.d.comb += status.flag(at.INPUT_WHILE_BUSY)
                        with m.Else():
                            _write(m, target, word, strobes)
                if self.loads:
                    self._load(m, word, strobes)
                with m.Case(*read_only):
                    m.d.comb += status.flag(at.READ_ONLY)
                with m.Default():
                    m.d.comb += status.flag(at.NO_REGISTER)

    def _control(self, m: Module, word: Value, strobes: Value, status: _Status) -> None:
        with m.If(strobes[0]):
            m.d.sync += status.enable.eq((word & at.INTERRUPT_ENABLE).any())
            with m.If(word[0] & status.busy):
                m.d.comb += status.flag(at.START_WHILE_BUSY)
            with m.Else():
                m.d.comb += status.start.eq(word[0])

    def _load(self, m: Module, word: Value, strobes: Value) -> None:
        """A byte with each write; what follows it on the bus is later by some cycles."""
        core = self.core
        with m.Case(at.LOAD_CONTROL // 4), m.If(strobes[0]):
            m.d.comb += [core.load_start.eq(word[0]), core.load_revert.eq(word[1])]
        with m.Case(at.LOAD_DATA // 4), m.If(strobes[0]):
            m.d.comb += [core.load_valid.eq(1), core.load_data.eq(word[:8])]

    def _reads(self, m: Module, readable: Mapping[int, Value], status: _Status) -> None:
        address = Signal(at.ADDRESS_BITS - 2, name="read_address")
        has_address = Signal(name="has_read_address")
        m.d.comb += self.s_axi_arready.eq(~has_address)
        with m.If(self.s_axi_arvalid & ~has_address):
            m.d.sync += [address.eq(self.s_axi_araddr[2:]), has_address.eq(1)]
        with m.If(self.s_axi_rready):
            m.d.sync += self.s_axi_rvalid.eq(0)
        # An answer that the master hasn't taken yet must not change.
        with m.If(has_address & ~self.s_axi_rvalid):
            m.d.sync += [has_address.eq(0), self.s_axi_rvalid.eq(1)]
            with m.Switch(address):
                for place, value in readable.items():
                    with m.Case(place // 4):
                        m.d.sync += self.s_axi_rdata.eq(value)
                with m.Default():
                    m.d.sync += self.s_axi_rdata.eq(0)
                    m.d.comb += status.flag(at.NO_REGISTER)

    def _writable(self, sample: Signal, status: _Status) -> Iterable[tuple[int, Value]]:
        yield at.CONTROL, Cat(Const(0, 1), status.enable)
        yield at.STATUS, status.word
        if self.loads:
            yield at.LOAD_CONTROL, Const(0, WORD)
            yield at.LOAD_DATA, Const(0, WORD)
        yield from _words(sample, self.in_widths, at.INPUT_BASE)

    def _read_only(self, result: Signal, status: _Status) -> Iterable[tuple[int, Value]]:
        if self.loads:
            yield at.LOAD_STATUS, self.core.load_status
        yield at.ID, Const(at.MAGIC, WORD)
        yield at.MAP_VERSION, Const(at.VERSION, WORD)
        yield at.CYCLES, status.cycles
        yield at.SAMPLES, status.samples
        yield at.INPUTS, Const(len(self.in_widths), WORD)
        yield at.OUTPUTS, Const(len(self.out_widths), WORD)
        digest = bytes.fromhex(self.digest)
        for i in range(at.DIGEST_WORDS):
            word = int.from_bytes(digest[4 * i : 4 * i + 4], "little")
            yield at.DIGEST + 4 * i, Const(word, WORD)
        start = 0
        for i, (width, signed) in enumerate(zip(self.out_widths, self.out_signed, strict=True)):
            field = result[start : start + width]
            yield at.OUTPUT_BASE + at.FIELD_BYTES * i, _extended(field, signed)[:WORD]
            yield at.OUTPUT_BASE + at.FIELD_BYTES * i + 4, _extended(field, signed)[WORD:]
            start += width


class _Status:
    """The state of the sample under way, the sticky bits, and what changes them this cycle."""

    def __init__(self) -> None:
        self.start = Signal()
        self.busy = Signal()
        self.done = Signal()
        self.enable = Signal(name="interrupt_enable")
        self.sticky = Signal(at.STICKY_BITS)
        self.raised = Signal(at.STICKY_BITS)
        self.cleared = Signal(at.STICKY_BITS)
        self.cycles = Signal(WORD)
        self.samples = Signal(WORD)
        self.word = Cat(self.busy, self.done, self.sticky)

    def flag(self, mask: int) -> Any:
        """Sets one sticky bit."""
        return self.raised[mask.bit_length() - 1 - at.FIRST_STICKY].eq(1)


def _extended(field: Value, signed: bool) -> Value:
    """A field in 64 bits."""
    above = Const(0) if not signed else field[-1]
    return Cat(field, above.replicate(2 * WORD - len(field)))


def _words(packed: Value, widths: Sequence[int], base: int) -> Iterable[tuple[int, Value]]:
    """The address of each word of each field, and the part of the packed value that it holds.

    The high word of a narrow field is empty: it reads as zero, and writes to it change nothing.
    """
    start = 0
    for i, width in enumerate(widths):
        field = packed[start : start + width]
        yield base + at.FIELD_BYTES * i, field[:WORD]
        yield base + at.FIELD_BYTES * i + 4, field[WORD:]
        start += width


def _write(m: Module, target: Value, word: Value, strobes: Value) -> None:
    """The bytes of a word that are written; what a field has no room for is dropped."""
    for i, strobe in enumerate(strobes):
        part = slice(8 * i, min(8 * i + 8, len(target)))
        if 8 * i < len(target):
            with m.If(strobe):
                m.d.sync += target[part].eq(word[part])
