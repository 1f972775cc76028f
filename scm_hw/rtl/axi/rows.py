"""AXI4-Stream of rows as C has them in memory: fields of whole bytes, rows of whole beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import Component, In, Out

from scm_hw.errors import OptionError

# What C has integers of.
FIELD_BITS = (8, 16, 32, 64)
TDATA_BITS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class RowFormat:
    """A row of fields on a bus of `tdata` bits: each in as many bits as the widest one needs in C.

    The row is filled up to whole beats, so that an array of rows needs no other packing.
    """

    widths: tuple[int, ...]
    signed: tuple[bool, ...]
    tdata: int

    def __post_init__(self) -> None:
        if self.tdata not in TDATA_BITS:
            listed = ", ".join(map(str, TDATA_BITS))
            raise OptionError(f"tdata must be one of {listed}, not {self.tdata}")
        if max(self.widths) > FIELD_BITS[-1]:
            raise OptionError(
                f"fields must be at most {FIELD_BITS[-1]} bits with --tdata, not "
                f"{max(self.widths)}; leave --tdata out"
            )

    @property
    def field_bits(self) -> int:
        return next(bits for bits in FIELD_BITS if bits >= max(self.widths))

    @property
    def beats(self) -> int:
        return -(-len(self.widths) * self.field_bits // self.tdata)

    @property
    def used_bytes(self) -> int:
        """Of a row, without what fills it up."""
        return len(self.widths) * self.field_bits // 8

    @property
    def row_bytes(self) -> int:
        return self.beats * self.tdata // 8

    @property
    def places(self) -> int:
        """Of a row as an array: its fields and what fills it up, at least one per field."""
        return -(-8 * self.row_bytes // self.field_bits)


class RowStream(Component):
    """A core's packed AXI4-Stream as one of rows, in any number of beats each.

    On the way in, bits above a field and bytes without `tkeep` don't matter: the latter are zero.
    `tlast` ends a row; what is missing of it is zero. On the way out fields are extended to their
    bits, and `tkeep` leaves out only what fills up the last row of a packet. No output depends on
    an input within a cycle. A row in several beats waits for all of them, a row in one beat does
    not wait.

    Parameters
    ----------
    core : Component
        With the ports of `AxiStreamCore`, `aclk` and `aresetn` among them.
    inputs, outputs : RowFormat
    """

    def __init__(self, core: Component, *, inputs: RowFormat, outputs: RowFormat) -> None:
        self.core = core
        self.inputs = inputs
        self.outputs = outputs
        super().__init__(
            {
                "aclk": In(1),
                "aresetn": In(1),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "s_axis_tdata": In(inputs.tdata),
                "s_axis_tkeep": In(inputs.tdata // 8),
                "s_axis_tlast": In(1),
                "m_axis_tvalid": Out(1),
                "m_axis_tready": In(1),
                "m_axis_tdata": Out(outputs.tdata),
                "m_axis_tkeep": Out(outputs.tdata // 8),
                "m_axis_tlast": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The core within has a `sync` of its own.
        m.domains.rows = ClockDomain(local=True)
        m.d.comb += [ClockSignal("rows").eq(self.aclk), ResetSignal("rows").eq(~self.aresetn)]
        m.submodules.core = core = self.core
        m.d.comb += [core.aclk.eq(self.aclk), core.aresetn.eq(self.aresetn)]
        row = self._single(m) if self.inputs.beats == 1 else self._gathered(m)
        fields = [
            row[start : start + width]
            for start, width in zip(
                range(0, len(row), self.inputs.field_bits), self.inputs.widths, strict=False
            )
        ]
        m.d.comb += core.s_axis_tdata.eq(Cat(*fields))
        self._scattered(m)
        return m

    def _kept(self) -> Value:
        """The data of a beat, without bytes that are not there."""
        return self.s_axis_tdata & Cat(*(keep.replicate(8) for keep in self.s_axis_tkeep))

    def _single(self, m: Module) -> Value:
        core = self.core
        m.d.comb += [
            core.s_axis_tvalid.eq(self.s_axis_tvalid),
            core.s_axis_tlast.eq(self.s_axis_tlast),
            self.s_axis_tready.eq(core.s_axis_tready),
        ]
        return self._kept()

    def _gathered(self, m: Module) -> Value:
        """All beats of a row in registers; the next row begins as this one leaves."""
        core, beats = self.core, self.inputs.beats
        row = Signal(beats * self.inputs.tdata)
        full = Signal()
        last = Signal()
        beat = Signal(range(beats))
        accepted = Signal()
        m.d.comb += [
            core.s_axis_tvalid.eq(full),
            core.s_axis_tlast.eq(last),
            self.s_axis_tready.eq(~full | core.s_axis_tready),
            accepted.eq(self.s_axis_tvalid & self.s_axis_tready),
        ]
        with m.If(core.s_axis_tready):
            m.d.rows += full.eq(0)
        with m.If(accepted):
            ends = self.s_axis_tlast | (beat == beats - 1)
            m.d.rows += [
                full.eq(ends),
                last.eq(self.s_axis_tlast),
                beat.eq(Mux(ends, 0, beat + 1)),
            ]
            with m.Switch(beat):
                # The first beat clears all others, so what is missing of a short row is zero.
                with m.Case(0):
                    m.d.rows += row.eq(self._kept())
                for place, word in enumerate(self._words(row)[1:], start=1):
                    with m.Case(place):
                        m.d.rows += word.eq(self._kept())
        return row

    def _words(self, row: Value) -> list[Value]:
        width = self.inputs.tdata
        return [row[start : start + width] for start in range(0, len(row), width)]

    def _scattered(self, m: Module) -> None:
        """One beat of a result after the other; it stays at the core's end meanwhile."""
        core, form = self.core, self.outputs
        packed, fields, start = core.m_axis_tdata, [], 0
        for width, signed in zip(form.widths, form.signed, strict=True):
            field = packed[start : start + width]
            above = field[-1] if signed else Const(0)
            fields.append(Cat(field, above.replicate(form.field_bits - width)))
            start += width
        row = Cat(*fields, Const(0, 8 * (form.row_bytes - form.used_bytes)))
        words = [row[place : place + form.tdata] for place in range(0, len(row), form.tdata)]
        beat = Signal(range(max(form.beats, 2)), name="out_beat")
        final = Signal()
        # Bytes of the last beat that belong to fields.
        there = form.used_bytes - (form.beats - 1) * form.tdata // 8
        whole = (1 << form.tdata // 8) - 1
        m.d.comb += [
            final.eq(beat == form.beats - 1),
            self.m_axis_tvalid.eq(core.m_axis_tvalid),
            self.m_axis_tdata.eq(_chosen(beat, words)),
            self.m_axis_tlast.eq(final & core.m_axis_tlast),
            self.m_axis_tkeep.eq(Mux(self.m_axis_tlast, (1 << there) - 1, whole)),
            core.m_axis_tready.eq(final & self.m_axis_tready),
        ]
        with m.If(self.m_axis_tvalid & self.m_axis_tready):
            m.d.rows += beat.eq(Mux(final, 0, beat + 1))


def _chosen(place: Value, words: Sequence[Value]) -> Value:
    found = words[0]
    for number, word in enumerate(words[1:], start=1):
        found = Mux(place == number, word, found)
    return found
