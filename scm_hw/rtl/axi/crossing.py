"""AXI4-Stream on one clock, the core on another."""

from __future__ import annotations

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, ResetSignal
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import Component, In

DEPTH = 8


class CrossedStream(Component):
    """An AXI4-Stream core behind an asynchronous FIFO on each side.

    The bus has `aclk` and `aresetn`, the core `core_clk`; the clocks may have any ratio and phase.
    A reset of the bus resets both sides; it must last for three edges of both clocks, and no
    transfer may be begun before as many after it.

    Parameters
    ----------
    core : Component
        With the ports of `AxiStreamCore` or `RowStream`.
    """

    def __init__(self, core: Component) -> None:
        self.core = core
        members = dict(core.signature.members.items())
        super().__init__({"core_clk": In(1)} | members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.bus = ClockDomain(local=True)
        m.domains.core = ClockDomain(local=True)
        m.submodules.core = core = self.core
        m.d.comb += [
            ClockSignal("bus").eq(self.aclk),
            ResetSignal("bus").eq(~self.aresetn),
            ClockSignal("core").eq(self.core_clk),
            core.aclk.eq(self.core_clk),
            core.aresetn.eq(~ResetSignal("core")),
        ]
        # Released in step with the core's clock, so that all registers leave the reset together.
        m.submodules.reset = ResetSynchronizer(ResetSignal("bus"), domain="core")
        self._cross(m, "samples", self, core, "s_axis", ("bus", "core"))
        self._cross(m, "results", core, self, "m_axis", ("core", "bus"))
        return m

    def _cross(
        self,
        m: Module,
        name: str,
        source: Component,
        target: Component,
        prefix: str,
        domains: tuple[str, str],
    ) -> None:
        """The words of a stream from one clock to the other, in order."""
        names = [f"{prefix}_{part}" for part in ("tdata", "tkeep", "tlast")]
        names = [port for port in names if port in self.signature.members]
        # All fields go through one FIFO, which keeps them together.
        word = Cat(*(getattr(source, port) for port in names))
        write, read = domains
        fifo = AsyncFIFO(width=len(word), depth=DEPTH, w_domain=write, r_domain=read)
        m.submodules[name] = fifo
        m.d.comb += [
            fifo.w_data.eq(word),
            fifo.w_en.eq(getattr(source, f"{prefix}_tvalid")),
            getattr(source, f"{prefix}_tready").eq(fifo.w_rdy),
            getattr(target, f"{prefix}_tvalid").eq(fifo.r_rdy),
            fifo.r_en.eq(getattr(target, f"{prefix}_tready")),
            Cat(*(getattr(target, port) for port in names)).eq(fifo.r_data),
        ]
