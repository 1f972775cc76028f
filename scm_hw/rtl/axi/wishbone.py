"""The core as a Wishbone classic slave: the registers of AXI4-Lite on the other open bus."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib.wiring import Component, In, Out

from scm_hw.rtl.axi import registers as at
from scm_hw.rtl.axi.axi_lite import WORD, AxiLiteCore


class WishboneCore(Component):
    """The registers of `registers.py` behind Wishbone B4, classic cycles, 32 bits, byte addresses.

    `ack_o` is a register, high for one cycle per access; there is no error response, since what
    can't be done sets a bit in STATUS. A master that gives up an access (drops `stb_i` or `cyc_i`
    before `ack_o`) gets no answer to it, and may begin another at once. The two lowest address bits
    are ignored; `sel_i` selects the bytes of a write.

    Parameters
    ----------
    registers : AxiLiteCore
    """

    def __init__(self, registers: AxiLiteCore) -> None:
        self.registers = registers
        super().__init__(
            {
                "clk_i": In(1),
                "rst_i": In(1),
                "irq_o": Out(1),
                "cyc_i": In(1),
                "stb_i": In(1),
                "we_i": In(1),
                "adr_i": In(at.ADDRESS_BITS),
                "sel_i": In(WORD // 8),
                "dat_i": In(WORD),
                "dat_o": Out(WORD),
                "ack_o": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The registers have a `sync` of their own.
        m.domains.wishbone = ClockDomain(local=True)
        m.d.comb += [
            ClockSignal("wishbone").eq(self.clk_i),
            ResetSignal("wishbone").eq(self.rst_i),
        ]
        m.submodules.registers = bus = self.registers
        active = Signal()
        start = Signal()
        busy = Signal()
        # The access under way was given up; its answer is dropped.
        stale = Signal()
        answered = Signal()
        m.d.comb += [
            active.eq(self.cyc_i & self.stb_i),
            # With `ack_o` the master still shows the access that has just been answered.
            start.eq(active & ~busy & ~self.ack_o),
            # One access at a time, so that address and data are always taken at once.
            bus.aclk.eq(self.clk_i),
            bus.aresetn.eq(~self.rst_i),
            bus.s_axi_awaddr.eq(self.adr_i),
            bus.s_axi_araddr.eq(self.adr_i),
            bus.s_axi_wdata.eq(self.dat_i),
            bus.s_axi_wstrb.eq(self.sel_i),
            bus.s_axi_awvalid.eq(start & self.we_i),
            bus.s_axi_wvalid.eq(start & self.we_i),
            bus.s_axi_arvalid.eq(start & ~self.we_i),
            bus.s_axi_bready.eq(1),
            bus.s_axi_rready.eq(1),
            answered.eq(busy & (bus.s_axi_bvalid | bus.s_axi_rvalid)),
            self.irq_o.eq(bus.irq),
        ]
        m.d.wishbone += self.ack_o.eq(answered & active & ~stale)
        with m.If(bus.s_axi_rvalid):
            m.d.wishbone += self.dat_o.eq(bus.s_axi_rdata)
        with m.If(start):
            m.d.wishbone += busy.eq(1)
        with m.If(busy & ~active):
            m.d.wishbone += stale.eq(1)
        with m.If(answered):
            m.d.wishbone += [busy.eq(0), stale.eq(0)]
        return m
