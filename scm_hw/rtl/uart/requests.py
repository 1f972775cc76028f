"""The frame of every exchange: header and kind of a request, header of the reply, faults."""

from __future__ import annotations

from amaranth.hdl import Cat, Mux, Signal

from scm_hw.rtl.uart.exchange import Exchange
from scm_hw.rtl.uart.packets import (
    HEADER,
    OFFSET,
    PLACE,
    Fault,
    Hello,
    Kind,
)


def add_faults(exchange: Exchange) -> Signal:
    """High while a frame that could not be read is still to be reported; later ones are dropped."""
    m, frames = exchange.m, exchange.frames
    pending = Signal()
    with m.If(frames.fault & ~pending):
        m.d.sync += [pending.eq(1), exchange.pending_code.eq(frames.code)]
    with m.Elif(exchange.reported):
        m.d.sync += pending.eq(0)
    with m.If(frames.fault):
        m.d.comb += exchange.server.refused.eq(1)
    return pending


def add_requests(exchange: Exchange, pending: Signal) -> None:
    m = exchange.m
    with m.State("IDLE"):
        m.d.sync += exchange.place.eq(0)
        with m.If(pending):
            m.d.comb += exchange.reported.eq(1)
            # A frame that could not be read has no sequence number that could be trusted.
            m.d.sync += [exchange.sequence.eq(0), exchange.code.eq(exchange.pending_code)]
            exchange.begin_reply(Kind.ERROR, 1)
        with m.Elif(exchange.request.valid):
            m.next = "HEADER"
    with m.State("HEADER"):
        header = Cat(exchange.kind, exchange.sequence, exchange.length)
        with m.If(exchange.take()):
            m.d.sync += [
                header.eq(Cat(header[8:], exchange.request.payload.data)),
                exchange.place.eq(exchange.place + 1),
            ]
            with m.If(exchange.place == HEADER.size - 1):
                m.next = "DISPATCH"
    with m.State("DISPATCH"):
        _dispatch(exchange)
    with m.State("REFUSE"):
        # What is left of the request goes unread.
        with m.If(exchange.length == 0):
            m.d.comb += exchange.server.refused.eq(1)
            exchange.begin_reply(Kind.ERROR, 1)
        with m.Else():
            exchange.take()


def _dispatch(exchange: Exchange) -> None:
    m = exchange.m
    # Refused, unless a case below goes elsewhere.
    m.d.sync += [exchange.place.eq(0), exchange.code.eq(Fault.UNKNOWN)]
    m.next = "REFUSE"
    with m.Switch(exchange.kind):
        with m.Case(Kind.HELLO):
            m.d.sync += exchange.code.eq(Fault.PAYLOAD)
            with m.If(exchange.length == 0):
                m.d.comb += exchange.server.greeted.eq(1)
                m.d.sync += [exchange.index.eq(0), exchange.left.eq(Hello.LAYOUT.size)]
                exchange.begin_reply(Kind.HELLO_REPLY, Hello.LAYOUT.size)
        with m.Case(Kind.DESCRIBE):
            m.d.sync += exchange.code.eq(Fault.PAYLOAD)
            with m.If(exchange.length == OFFSET.size):
                m.next = "OFFSET"
        with m.Case(Kind.PREDICT):
            m.d.sync += exchange.code.eq(Fault.PAYLOAD)
            with m.If(exchange.length != 0):
                m.next = "COUNT"
        if exchange.loads:
            with m.Case(Kind.LOAD):
                m.d.sync += exchange.code.eq(Fault.PAYLOAD)
                with m.If(exchange.length >= PLACE.size):
                    m.next = "LOAD PLACE"
            with m.Case(Kind.REVERT):
                m.d.sync += exchange.code.eq(Fault.PAYLOAD)
                with m.If(exchange.length == 0):
                    m.d.comb += exchange.core.load_revert.eq(1)
                    m.next = "LOAD SETTLE"


def add_reply_header(exchange: Exchange) -> None:
    m = exchange.m
    header = Cat(exchange.reply_kind, exchange.sequence, exchange.reply_length)
    empty = exchange.reply_length == 0
    with m.State("REPLY"):
        ending = exchange.place == HEADER.size - 1
        with m.If(exchange.send(exchange.byte(header), ending & empty)):
            m.d.sync += exchange.place.eq(Mux(ending, 0, exchange.place + 1))
            with m.If(ending):
                m.next = "PAGE"
                with m.If(exchange.reply_kind == Kind.RESULTS):
                    m.next = "TAG"
                with m.If(exchange.reply_kind == Kind.ERROR):
                    m.next = "ERROR"
                if exchange.loads:
                    with m.If(exchange.reply_kind == Kind.LOADED):
                        m.next = "LOAD STATE"
                with m.If(empty):
                    m.next = "IDLE"
    with m.State("ERROR"), m.If(exchange.send(exchange.code, 1)):
        m.next = "IDLE"
