"""Requests that load another readout, or go back to the one before."""

from __future__ import annotations

from amaranth.hdl import Cat, Signal

from scm_hw.rtl.uart.exchange import Exchange
from scm_hw.rtl.uart.packets import (
    LOAD_STATE,
    PLACE,
    Kind,
)

# Cycles after which a core has accepted or refused an upload; the hash of a key takes up to 24.
SETTLED = 32


def add_uploads(exchange: Exchange) -> None:
    """Parts of an upload in order; one that comes again, or too early, is only answered."""
    m, core = exchange.m, exchange.core
    place, taken = Signal(8 * PLACE.size), Signal(8 * PLACE.size)
    follows = Signal()
    settled = Signal(range(SETTLED))
    m.d.comb += core.load_data.eq(exchange.request.payload.data)
    with m.State("LOAD PLACE"), m.If(exchange.take()):
        m.d.sync += [
            place.eq(Cat(place[8:], exchange.request.payload.data)),
            exchange.place.eq(exchange.place + 1),
        ]
        with m.If(exchange.place == PLACE.size - 1):
            m.next = "LOAD BEGIN"
    with m.State("LOAD BEGIN"):
        # A part is sent again when its reply is lost. It has another place than what was taken
        # then, and must not be loaded twice.
        m.d.sync += follows.eq((place == taken) & (taken != 0))
        with m.If((place == 0) & (exchange.length != 0)):
            m.d.comb += core.load_start.eq(1)
            m.d.sync += [follows.eq(1), taken.eq(0)]
        m.next = "LOAD BYTES"
    with m.State("LOAD BYTES"):
        with m.If(exchange.length == 0):
            m.next = "LOAD SETTLE"
        with m.Else(), m.If(exchange.take() & follows):
            m.d.comb += core.load_valid.eq(1)
            m.d.sync += taken.eq(taken + 1)
    with m.State("LOAD SETTLE"):
        m.d.sync += settled.eq(settled + 1)
        with m.If(settled == SETTLED - 1):
            m.d.sync += settled.eq(0)
            exchange.begin_reply(Kind.LOADED, LOAD_STATE.size)
    state = Cat(core.load_status, taken)
    with m.State("LOAD STATE"), m.If(exchange.send_word(state, LOAD_STATE.size, last=True)):
        m.d.comb += exchange.server.served.eq(1)
        m.next = "IDLE"
