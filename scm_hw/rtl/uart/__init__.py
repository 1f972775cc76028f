"""The board's serial port: the line, the packets, and the server that answers them."""

from scm_hw.rtl.uart.framing import FrameBuffer, Framer
from scm_hw.rtl.uart.line import MAX_BAUD, BitRate, Receiver, Transmitter, check_baud
from scm_hw.rtl.uart.packets import Deframer, Fault, Hello, Kind, Packet, Results, predict_request
from scm_hw.rtl.uart.predictions import late_cycles
from scm_hw.rtl.uart.server import Server, buffer_capacity

__all__ = [
    "MAX_BAUD",
    "BitRate",
    "Deframer",
    "Fault",
    "FrameBuffer",
    "Framer",
    "Hello",
    "Kind",
    "Packet",
    "Receiver",
    "Results",
    "Server",
    "Transmitter",
    "buffer_capacity",
    "check_baud",
    "late_cycles",
    "predict_request",
]
