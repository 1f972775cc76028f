"""A serial port with packets on it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import serial

from scm_hw.errors import LinkError
from scm_hw.uart import Deframer, Packet

# How long a read waits for a first byte; packets are handled as they come.
READ_SECONDS = 0.02
WRITE_SECONDS = 5.0


class LostError(LinkError):
    """The port is not there, or not there any more."""


class Link:
    """Packets to a port and from it; LostError where it is gone."""

    def __init__(self, port: str, baud: int) -> None:
        self.port = port
        self.baud = baud
        self.deframer = Deframer()
        try:
            self.serial = serial.Serial(
                port, baud, timeout=READ_SECONDS, write_timeout=WRITE_SECONDS, exclusive=True
            )
            self.serial.reset_input_buffer()
        # pyserial lets errors of the terminal through as they are.
        except (OSError, ValueError, _TerminalError) as error:
            raise LostError(
                f"port {port} can't be opened ({_reason(error)}); see that the board is connected "
                "and that no other program has its port"
            ) from None

    @property
    def refused(self) -> int:
        """Frames from the board that were not right."""
        return self.deframer.refused

    def send(self, packet: Packet) -> None:
        with self._guarded():
            self.serial.write(packet.encode())

    def receive(self) -> Iterator[Packet]:
        """The packets that have come, after a short wait for any."""
        with self._guarded():
            data = self.serial.read(1)
            if data:
                data += self.serial.read(self.serial.in_waiting)
        yield from self.deframer.feed(data)

    def close(self) -> None:
        with contextlib.suppress(OSError, _TerminalError):
            self.serial.close()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (OSError, _TerminalError) as error:
            raise LostError(f"port {self.port} was lost ({_reason(error)})") from None


try:
    from termios import error as _TerminalError
except ImportError:  # pragma: no cover - Windows has no terminals of that kind
    _TerminalError = OSError  # type: ignore[assignment, misc]


def _reason(error: Exception) -> str:
    """One line of what the system said."""
    return getattr(error, "strerror", None) or (str(error).splitlines() or ["no reason given"])[0]
