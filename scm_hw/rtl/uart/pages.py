"""Requests for the hello and the description."""

from __future__ import annotations

from amaranth.hdl import Cat, Mux, Signal
from amaranth.lib.memory import Memory

from scm_hw.rtl.uart.exchange import Exchange
from scm_hw.rtl.uart.packets import (
    OFFSET,
    PAGE,
    Hello,
    Kind,
)


def add_pages(exchange: Exchange) -> None:
    """Both stand in one memory; the description is given from an offset on, a page at most."""
    m = exchange.m
    contents = exchange.hello.encode() + exchange.server.description
    m.submodules.identity = memory = Memory(shape=8, depth=len(contents), init=contents)
    port = memory.read_port()
    rest = Signal(range(-(1 << 17), 1 << 17))
    m.d.comb += [port.addr.eq(exchange.index), rest.eq(len(contents) - exchange.index)]
    with m.State("OFFSET"), m.If(exchange.take()):
        m.d.sync += [
            exchange.index.eq(Cat(exchange.index[8:16], exchange.request.payload.data)),
            exchange.place.eq(exchange.place + 1),
        ]
        with m.If(exchange.place == OFFSET.size - 1):
            m.next = "SEEK"
    with m.State("SEEK"):
        # The description stands behind the hello.
        m.d.sync += exchange.index.eq(exchange.index + Hello.LAYOUT.size)
        m.next = "MEASURE"
    with m.State("MEASURE"):
        # An offset from the wire may be beyond the end: nothing is left there.
        length = Mux(rest < 0, 0, Mux(rest < PAGE, rest, PAGE))
        m.d.sync += exchange.left.eq(length)
        exchange.begin_reply(Kind.DESCRIPTION, length)
    with m.State("PAGE"), m.If(exchange.send(port.data, exchange.left == 1)):
        m.d.sync += [exchange.index.eq(exchange.index + 1), exchange.left.eq(exchange.left - 1)]
        # The memory answers a cycle late.
        m.next = "TURN"
        with m.If(exchange.left == 1):
            m.d.comb += exchange.server.served.eq(1)
            m.next = "IDLE"
    with m.State("TURN"):
        m.next = "PAGE"
