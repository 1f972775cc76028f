"""Requests that have samples: the core computes them one after the other."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal

from scm_hw.rtl.uart.exchange import Exchange
from scm_hw.rtl.uart.packets import (
    CYCLES,
    TAG,
    Fault,
    Hello,
    Kind,
)

# A core counts as dead after this many times its latency and interval, and these cycles more.
LATE = 4
LATE_CYCLES = 1000


def late_cycles(hello: Hello) -> int:
    """Cycles without a result after which the core counts as dead."""
    return LATE * (hello.latency + hello.interval) + LATE_CYCLES


def add_predictions(exchange: Exchange) -> None:
    _count(exchange)
    _compute(exchange)
    m = exchange.m
    # The tag comes first, so that a host recognises results of another design.
    with m.State("TAG"), m.If(exchange.send_word(Const(exchange.hello.tag, 32), TAG.size)):
        m.d.sync += exchange.worst.eq(0)
        m.next = "SAMPLE"
    with m.State("CYCLES"), m.If(exchange.send_word(exchange.worst, CYCLES.size, last=True)):
        m.d.comb += exchange.server.served.eq(1)
        m.next = "IDLE"


def _count(exchange: Exchange) -> None:
    """How many samples there are; their bytes are counted, which needs no multiplier."""
    m = exchange.m
    counted = Signal(8)
    size = Signal(range(256 * exchange.hello.in_bytes))
    with m.State("COUNT"), m.If(exchange.take()):
        m.d.sync += [
            exchange.samples.eq(exchange.request.payload.data),
            counted.eq(0),
            size.eq(0),
            exchange.reply_length.eq(TAG.size + CYCLES.size),
        ]
        m.next = "MULTIPLY"
    with m.State("MULTIPLY"):
        m.d.sync += [
            counted.eq(counted + 1),
            size.eq(size + exchange.hello.in_bytes),
            exchange.reply_length.eq(exchange.reply_length + exchange.hello.out_bytes),
        ]
        with m.If(counted == exchange.samples):
            m.next = "REFUSE"
            with m.If((size == exchange.length) & (exchange.samples != 0)):
                exchange.begin_reply(Kind.RESULTS, exchange.reply_length)


def _compute(exchange: Exchange) -> None:
    m, core, hello = exchange.m, exchange.core, exchange.hello
    sample = Signal(8 * hello.in_bytes)
    result = Signal(8 * hello.out_bytes)
    cycles = Signal(8 * CYCLES.size)
    limit = late_cycles(hello)
    waited = Signal(range(limit + 1))
    m.d.comb += core.in_data.eq(sample)
    m.d.sync += [cycles.eq(cycles + 1), waited.eq(waited + 1)]
    with m.State("SAMPLE"), m.If(exchange.take()):
        m.d.sync += [
            sample.eq(Cat(sample[8:], exchange.request.payload.data)),
            exchange.place.eq(exchange.place + 1),
        ]
        with m.If(exchange.place == hello.in_bytes - 1):
            m.d.sync += [exchange.place.eq(0), waited.eq(0)]
            m.next = "OFFER"
    with m.State("OFFER"):
        m.d.comb += core.in_valid.eq(1)
        with m.If(waited == limit):
            m.next = "DEAD"
        with m.If(core.in_ready):
            # Counted from the edge at which the core takes the sample.
            m.d.sync += cycles.eq(1)
            m.next = "WAIT"
    with m.State("WAIT"):
        m.d.comb += core.out_ready.eq(1)
        with m.If(waited == limit):
            m.next = "DEAD"
        with m.If(core.out_valid):
            m.d.sync += [
                result.eq(core.out_data.as_unsigned()),
                exchange.worst.eq(Mux(cycles > exchange.worst, cycles, exchange.worst)),
                exchange.samples.eq(exchange.samples - 1),
            ]
            m.next = "RESULT"
    # The reply ends before its length, so that no host takes it; an error follows it.
    with m.State("DEAD"), m.If(exchange.send(Const(0, 8), 1)):
        m.d.comb += exchange.dead.eq(1)
        m.d.sync += exchange.code.eq(Fault.CORE)
        m.next = "REFUSE"
    with m.State("RESULT"), m.If(exchange.send_word(result, hello.out_bytes)):
        m.next = "SAMPLE"
        with m.If(exchange.samples == 0):
            m.next = "CYCLES"
