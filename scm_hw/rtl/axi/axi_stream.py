"""AXI4-Stream on both sides of the core."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, ClockSignal, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import Component, In, Out


def byte_width(width: int) -> int:
    """The width of `tdata` that holds that many bits."""
    return -(-width // 8) * 8


class AxiStreamCore(Component):
    """A core between `s_axis` and `m_axis`: a sample per transfer, `tlast` goes with its sample.

    `tdata` is `in_data` or `out_data` in whole bytes: what is above them is ignored on the way in,
    and copies the highest bit on the way out where that is a sign. No output depends on an input
    within a cycle, so that any two such blocks can be joined. Latency and interval are the core's.

    Parameters
    ----------
    core : Component
        With the core's interface.
    latency : int
        Its cycles, and the most samples that are in it at a time.
    signed : bool
        Whether the highest bit of `out_data` is a sign.
    registered_ready : bool
        Whether the core's `in_ready` is a register; then a sample never has to wait outside of it.
    """

    def __init__(
        self, core: Component, *, latency: int, signed: bool, registered_ready: bool = False
    ) -> None:
        self.registered_ready = registered_ready
        self.core = core
        self.latency = latency
        self.signed = signed
        super().__init__(
            {
                "aclk": In(1),
                "aresetn": In(1),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "s_axis_tdata": In(byte_width(len(core.in_data))),
                "s_axis_tlast": In(1),
                "m_axis_tvalid": Out(1),
                "m_axis_tready": In(1),
                "m_axis_tdata": Out(byte_width(len(core.out_data))),
                "m_axis_tlast": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain(local=True)
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        m.submodules.core = core = self.core
        # The core has no `tlast`, which travels beside it. One more than the core holds, so that
        # one may enter as another leaves.
        m.submodules.lasts = lasts = SyncFIFO(width=1, depth=self.latency + 1)
        last = self._pass(m) if self.registered_ready else self._offer(m, lasts.w_rdy)
        m.d.comb += [
            lasts.w_en.eq(core.in_valid & core.in_ready),
            lasts.w_data.eq(last),
            lasts.r_en.eq(self.m_axis_tvalid & self.m_axis_tready),
            core.out_ready.eq(self.m_axis_tready),
            self.m_axis_tvalid.eq(core.out_valid),
            self.m_axis_tdata.eq(core.out_data.as_signed() if self.signed else core.out_data),
            self.m_axis_tlast.eq(lasts.r_data),
        ]
        return m

    def _pass(self, m: Module) -> Value:
        """Samples to the core as they come; it takes no more of them than there are `lasts` for."""
        m.d.comb += [
            self.s_axis_tready.eq(self.core.in_ready),
            self.core.in_valid.eq(self.s_axis_tvalid),
            self.core.in_data.eq(self.s_axis_tdata),
        ]
        return self.s_axis_tlast

    def _offer(self, m: Module, room: Value) -> Value:
        """Samples to the core where there is `room`, by way of a register for one that must wait;
        the `tlast` of the sample on offer."""
        core = self.core
        full = Signal()
        held_data = Signal.like(core.in_data, reset_less=True)
        held_last = Signal(reset_less=True)
        m.d.comb += [
            self.s_axis_tready.eq(~full),
            core.in_valid.eq(room & (full | self.s_axis_tvalid)),
            core.in_data.eq(Mux(full, held_data, self.s_axis_tdata)),
        ]
        with m.If(room & core.in_ready):
            m.d.sync += full.eq(0)
        with m.Elif(self.s_axis_tvalid & ~full):
            m.d.sync += [
                full.eq(1),
                held_data.eq(self.s_axis_tdata),
                held_last.eq(self.s_axis_tlast),
            ]
        return Mux(full, held_last, self.s_axis_tlast)
