"""Answers requests from the serial port with what the core says."""

from __future__ import annotations

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib.wiring import Component, In, Out, connect

from scm_hw.errors import OptionError
from scm_hw.rtl.uart.exchange import Exchange
from scm_hw.rtl.uart.framing import FrameBuffer, Framer
from scm_hw.rtl.uart.line import BitRate, Receiver, Transmitter
from scm_hw.rtl.uart.packets import (
    BATCH_BYTES,
    HEADER,
    Hello,
)
from scm_hw.rtl.uart.pages import add_pages
from scm_hw.rtl.uart.predictions import add_predictions
from scm_hw.rtl.uart.requests import add_faults, add_reply_header, add_requests
from scm_hw.rtl.uart.uploads import add_uploads

# A block RAM; more where a sample is larger.
MIN_CAPACITY = 2048
MAX_CAPACITY = 32768
# How long a frame may stay open, in seconds: longer than any driver holds back bytes.
PATIENCE_S = 0.25


def buffer_capacity(in_width: int) -> int:
    """Room for two requests of a sample, so that one can be sent while another is answered."""
    need = 2 * (HEADER.size + BATCH_BYTES + -(-in_width // 8))
    capacity = max(MIN_CAPACITY, 1 << (need - 1).bit_length())
    if capacity > MAX_CAPACITY:
        raise OptionError(
            f"sample must fit {MAX_CAPACITY // 2} bytes to go over the serial port, not "
            f"{in_width} bits; choose --top self-test"
        )
    return capacity


class Server(Component):
    """A core behind a serial line, as `docs/uart.md` says.

    `served` is high for a cycle with each request that is answered, `refused` with each frame that
    is not, and `greeted` with each hello.

    Parameters
    ----------
    core : Component
        With the core's interface; the pins to load a readout are used where it has them.
    hello : Hello
        What it says of itself; its widths, capacity and rate are those of the design.
    description : bytes
        What there is to read beside the hello.
    """

    def __init__(self, core: Component, hello: Hello, description: bytes = b"") -> None:
        assert len(description) == hello.description_bytes
        self.core = core
        self.hello = hello
        self.description = description
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1, init=1),
                "served": Out(1),
                "refused": Out(1),
                "greeted": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rate = BitRate(self.hello.clock_hz, self.hello.baud)
        m.submodules.receiver = receiver = Receiver(rate)
        m.submodules.transmitter = transmitter = Transmitter(rate)
        m.submodules.framer = framer = Framer()
        m.submodules.frames = frames = FrameBuffer(
            capacity=self.hello.capacity, patience=int(PATIENCE_S * self.hello.clock_hz)
        )
        dead = Signal()
        # What a dead core still says must not pass for a later sample's result.
        m.submodules.core = ResetInserter(dead)(self.core)
        connect(m, framer.o, transmitter.i)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            self.tx.eq(transmitter.tx),
            frames.data.eq(receiver.data),
            frames.strobe.eq(receiver.strobe),
            frames.line_error.eq(receiver.error),
        ]
        exchange = Exchange(m, self, frames, framer, dead)
        pending = add_faults(exchange)
        with m.FSM():
            add_requests(exchange, pending)
            add_reply_header(exchange)
            add_pages(exchange)
            add_predictions(exchange)
            if exchange.loads:
                add_uploads(exchange)
        return m
