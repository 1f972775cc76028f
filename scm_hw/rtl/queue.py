"""Results of a free-running pipeline, kept until they are taken; samples enter by credit."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from scm_hw.rtl.ports import VerilogCore, core_members


class ResultQueue(Component):
    """Valid and ready on both sides of a pipeline that never stands still.

    A sample is taken when there is room for its result, so that nothing in the pipeline ever has to
    wait, and no register of it needs an enable. `in_ready` is a register, and no output depends on
    `in_valid` or `out_ready` within a cycle. A result that is taken at once is not delayed; others
    wait in order.

    Parameters
    ----------
    out_width : int
    latency : int
        Cycles of the pipeline. With one place more than that, samples can enter in every cycle.

    Members
    -------
    taken : a sample enters the pipeline in this cycle
    done, result : what the pipeline gives, `latency` cycles after it was taken
    """

    def __init__(self, out_width: int, latency: int) -> None:
        self.out_width = out_width
        self.latency = latency
        super().__init__(
            {
                "in_valid": In(1),
                "in_ready": Out(1, init=1),
                "out_valid": Out(1),
                "out_ready": In(1),
                "out_data": Out(out_width),
                "taken": Out(1),
                "done": In(1),
                "result": In(out_width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = Signal()
        m.d.comb += [
            self.taken.eq(self.in_valid & self.in_ready),
            given.eq(self.out_valid & self.out_ready),
        ]
        # Places that no sample under way has a claim on.
        room = Signal(range(self.latency + 2), init=self.latency + 1)
        with m.If(self.taken & ~given):
            # Ready is computed a cycle ahead, so that it can be a register.
            m.d.sync += [room.eq(room - 1), self.in_ready.eq(room != 1)]
        with m.Elif(given & ~self.taken):
            m.d.sync += [room.eq(room + 1), self.in_ready.eq(1)]
        self._wait(m)
        return m

    def _wait(self, m: Module) -> None:
        """Results that nobody took as they came out."""
        # A power of two above the latency: every result has a place, and addresses wrap by
        # themselves.
        depth = 1 << self.latency.bit_length()
        m.submodules.waiting = memory = Memory(shape=self.out_width, depth=depth, init=[])
        # Read within the cycle, so the next result is there as the one before is taken.
        write, read = memory.write_port(), memory.read_port(domain="comb")
        some, more, less = Signal(), Signal(), Signal()
        following = Signal.like(read.addr)
        m.d.comb += [
            # A result that is taken at once, with none before it, passes by the memory.
            more.eq(self.done & (some | ~self.out_ready)),
            less.eq(some & self.out_ready),
            write.en.eq(more),
            write.data.eq(self.result),
            following.eq(read.addr + 1),
            self.out_valid.eq(some | self.done),
            self.out_data.eq(Mux(some, read.data, self.result)),
        ]
        first, last = Signal.like(read.addr), Signal.like(write.addr)
        m.d.comb += [read.addr.eq(first), write.addr.eq(last)]
        with m.If(more):
            m.d.sync += [last.eq(last + 1), some.eq(1)]
        with m.If(less):
            m.d.sync += first.eq(following)
            with m.If(~more & (following == last)):
                m.d.sync += some.eq(0)


class Queued(Component):
    """A core without ready, behind a `ResultQueue`: an interface like that of every other core.

    Parameters
    ----------
    core : Component
        With the core's interface, with or without ready; its `in_ready` is always high.
    latency : int
        Its cycles.
    """

    def __init__(self, core: Component, latency: int) -> None:
        self.core = core
        self.latency = latency
        super().__init__(core_members(len(core.in_data), len(core.out_data)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self.core
        m.submodules.queue = queue = ResultQueue(len(core.out_data), self.latency)
        m.d.comb += [
            queue.in_valid.eq(self.in_valid),
            self.in_ready.eq(queue.in_ready),
            core.in_valid.eq(queue.taken),
            core.in_data.eq(self.in_data),
            queue.done.eq(core.out_valid),
            queue.result.eq(core.out_data),
            self.out_valid.eq(queue.out_valid),
            queue.out_ready.eq(self.out_ready),
            self.out_data.eq(queue.out_data),
        ]
        # The queue has room for every result, so the core never has to wait.
        if "out_ready" in core.signature.members:
            m.d.comb += core.out_ready.eq(1)
        return m


def waiting_core(
    in_width: int, out_width: int, name: str, handshake: str, latency: int
) -> VerilogCore | Queued:
    """The emitted core with ready on both sides, by a queue around it where it has none."""
    core = VerilogCore(in_width, out_width, name, handshake)
    return Queued(core, latency) if handshake == "none" else core
