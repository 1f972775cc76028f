"""The board top: the core, tested on the board for as long as it is powered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import io
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import Component, Out

from scm_hw.boards.pll import use_clock
from scm_hw.boards.registry import Board
from scm_hw.sim.vectors import Vectors

# Enough to fill every pipeline many times over; input and output words fit in a few block RAMs.
MAX_VECTORS = 256
# Cycles without a result after which a sample counts as lost.
PATIENCE = 1 << 16


class SelfTest(Component):
    """Plays vectors through a core over and over, at full speed and with stalls in turn.

    `passed` rises after one round of each kind without a fault; `failed` rises with the first wrong
    or missing result and stays, until reset. `alive` toggles every `blink_cycles`.
    """

    def __init__(self, core: Component, vectors: Vectors, *, blink_cycles: int) -> None:
        self.core = core
        self.vectors = vectors
        self.blink_cycles = blink_cycles
        super().__init__({"alive": Out(1), "passed": Out(1), "failed": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self.core
        # x^16 + x^14 + x^13 + x^11 + 1 has the full period of 2^16 - 1, from any state but 0.
        lfsr = Signal(16, init=0xACE1)
        stalling = Signal()
        # The memories answer a cycle late, the first time too.
        primed = Signal()
        m.d.sync += [
            lfsr.eq(Cat(lfsr[15] ^ lfsr[13] ^ lfsr[12] ^ lfsr[10], lfsr[:-1])),
            primed.eq(1),
        ]
        # With stalls, offered in three cycles of four and taken in one of two.
        self._offer(m, primed & (~stalling | lfsr[3] | lfsr[7]))
        m.d.comb += core.out_ready.eq(primed & (~stalling | lfsr[0]))
        self._judge(m, stalling)
        self._blink(m)
        return m

    def _offer(self, m: Module, gate: Value) -> None:
        """Offer the inputs in order; once offered, a sample stays until it is taken."""
        core, vectors = self.core, self.vectors
        offered = Signal()
        taken = core.in_valid & core.in_ready
        m.d.comb += core.in_valid.eq(offered | gate)
        m.d.sync += offered.eq(core.in_valid & ~core.in_ready)
        port, _ = self._play(m, "inputs", vectors.in_width, vectors.inputs, taken)
        m.d.comb += core.in_data.eq(port.data)

    def _judge(self, m: Module, stalling: Signal) -> None:
        """Compare every result with the next expected output."""
        core, vectors = self.core, self.vectors
        taken = core.out_valid & core.out_ready
        port, last = self._play(m, "outputs", vectors.out_width, vectors.outputs, taken)
        rounds = Signal(range(3))
        quiet = Signal(range(PATIENCE))
        m.d.comb += self.passed.eq((rounds == 2) & ~self.failed)
        m.d.sync += quiet.eq(Mux(taken, 0, quiet + 1))
        with m.If(taken & last):
            m.d.sync += [stalling.eq(~stalling), rounds.eq(Mux(rounds == 2, 2, rounds + 1))]
        with m.If((taken & (core.out_data != port.data)) | (quiet == PATIENCE - 1)):
            m.d.sync += self.failed.eq(1)

    def _play(
        self, m: Module, name: str, width: int, words: tuple[int, ...], step: Value
    ) -> tuple[ReadPort, Value]:
        """A memory read in a circle, one word on after each `step`; its port, and if at the end."""
        m.submodules[name] = memory = Memory(shape=width, depth=len(words), init=words)
        port = memory.read_port()
        index = Signal(range(len(words)))
        last = index == len(words) - 1
        # The next address, a cycle ahead: the memory's output is then the word of `index`.
        m.d.comb += port.addr.eq(Mux(step, Mux(last, 0, index + 1), index))
        m.d.sync += index.eq(port.addr)
        return port, last

    def _blink(self, m: Module) -> None:
        count = Signal(range(self.blink_cycles))
        m.d.sync += count.eq(count + 1)
        with m.If(count == self.blink_cycles - 1):
            m.d.sync += [count.eq(0), self.alive.eq(~self.alive)]


class BoardTop(Elaboratable):
    """`SelfTest` on a board, with its three lamps; the board's reset button starts it again."""

    def __init__(self, board: Board, core: Component, vectors: Vectors) -> None:
        self.board = board
        self.core = core
        self.vectors = vectors.head(MAX_VECTORS)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        use_clock(m, self.board.pll)
        m.submodules.self_test = test = SelfTest(
            self.core, self.vectors, blink_cycles=half_second(self.board)
        )
        light_lamps(m, platform, self.board, (test.alive, test.passed, test.failed))
        return m


def half_second(board: Board) -> int:
    """In cycles."""
    return int(board.clock_mhz * 1e6) // 2


def light_lamps(m: Module, platform: Any, board: Board, states: Sequence[Value]) -> None:
    """The board's lamps, by what each shows; other colours of a lamp stay dark."""
    assert board.lights is not None
    shown: dict[tuple[str, int], dict[str, Value]] = {}
    for state, light in zip(states, board.lights, strict=True):
        if light is not None:
            resource, index, colour = light
            shown.setdefault((resource, index), {})[colour or ""] = state
    for number, ((resource, index), colours) in enumerate(shown.items()):
        lamp = platform.request(resource, index, dir="-")
        ports = {"": lamp} if "" in colours else {c: getattr(lamp, c) for c in "rgb"}
        for part, port in ports.items():
            m.submodules[f"lamp{number}{part}"] = buffer = io.Buffer("o", port)
            if part in colours:
                m.d.comb += buffer.o.eq(colours[part])
