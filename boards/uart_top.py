"""The board top that answers over USB: the core behind the board's serial port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import io
from amaranth.lib.wiring import Component

from scm_hw.boards.pll import use_clock
from scm_hw.boards.registry import Board
from scm_hw.boards.top import half_second, light_lamps
from scm_hw.rtl.uart import Hello, Server


class UartTop(Elaboratable):
    """`Server` on a board.

    Its lamps: one blinks, one is lit while requests are answered, and one after a frame was
    refused, until the next hello.
    """

    def __init__(self, board: Board, core: Component, hello: Hello, description: bytes) -> None:
        self.board = board
        self.core = core
        self.hello = hello
        self.description = description

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        use_clock(m, self.board.pll)
        m.submodules.server = server = Server(self.core, self.hello, self.description)
        self._wire(m, platform, server)
        light_lamps(m, platform, self.board, self._lamps(m, server))
        return m

    def _wire(self, m: Module, platform: Any, server: Server) -> None:
        """Received and sent data; the other wires of a full port are at rest: clear to send."""
        port = platform.request("uart", 0, dir="-")
        m.submodules.rx = rx = io.Buffer("i", port.rx)
        m.submodules.tx = tx = io.Buffer("o", port.tx)
        m.d.comb += [server.rx.eq(rx.i), tx.o.eq(server.tx)]
        for name in ("rts", "cts", "dtr", "dsr", "dcd", "ri"):
            wire = getattr(port, name, None)
            if wire is not None:
                direction = "o" if wire.direction is io.Direction.Output else "i"
                m.submodules[name] = io.Buffer(direction, wire)

    def _lamps(self, m: Module, server: Server) -> tuple[Signal, Signal, Signal]:
        alive, busy, error = (Signal(name=name) for name in ("alive", "busy", "error"))
        period = half_second(self.board)
        blink = Signal(range(period))
        # Long enough to be seen.
        lit = Signal(range(period // 4 + 1))
        m.d.sync += blink.eq(blink + 1)
        with m.If(blink == period - 1):
            m.d.sync += [blink.eq(0), alive.eq(~alive)]
        with m.If(server.served):
            m.d.sync += lit.eq(period // 4)
        with m.Elif(lit != 0):
            m.d.sync += lit.eq(lit - 1)
        with m.If(server.refused):
            m.d.sync += error.eq(1)
        with m.Elif(server.greeted):
            m.d.sync += error.eq(0)
        m.d.comb += busy.eq(lit != 0)
        return alive, busy, error
