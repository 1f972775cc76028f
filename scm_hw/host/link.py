"""A serial port with packets on it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import serial

from scm_hw.errors import LinkError, OptionError
from scm_hw.rtl.uart import Deframer, Packet

# How long a read waits for a first byte; packets are handled as they come.
READ_SECONDS = 0.02
WRITE_SECONDS = 5.0


class LostError(LinkError):
    """The port is not there, or not there any more."""


# How long a port is waited for that somebody may be making: an emulator that has yet to start, and
# one that says, by a file beside the link, that it is compiling.
APPEAR_SECONDS = 20.0
MAKING_SECONDS = 900.0
LOOK_SECONDS = 0.1


def making(link: Path) -> Path:
    """The file that an emulator holds locked beside its link until the link is there."""
    return link.with_name(f".{link.name}.making")


@contextlib.contextmanager
def announced(link: Path | None) -> Iterator[None]:
    """Tells those who wait for the link that it is being made."""
    if link is None:
        yield
        return
    path = making(link)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise OptionError(
            f"can't make the link {link}: {error.strerror}; choose another with --link"
        ) from None
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def await_port(port: str, log: Callable[[str], None]) -> None:
    """Wait until there is such a port, as long as somebody may be making it.

    A device of the system is there or is not: nobody makes one. `log` gets one line.
    """
    path = Path(port)
    if path.is_relative_to("/dev") or "://" in port:
        return
    start = time.monotonic()
    told = False
    while not path.exists():
        waited = time.monotonic() - start
        if waited > (MAKING_SECONDS if _is_making(path) else APPEAR_SECONDS):
            return
        if not told:
            log(f"waiting for {port}")
            told = True
        time.sleep(LOOK_SECONDS)


def _is_making(link: Path) -> bool:
    """Whether a process is there that makes the link: the lock goes with the process."""
    try:
        file = os.open(making(link), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


class Link:
    """Packets to a port and from it; LostError where it is gone."""

    def __init__(self, port: str, baud: int) -> None:
        self.port = port
        self.baud = baud
        self.deframer = Deframer()
        self.heard = 0
        """Bytes that came in all, packets or not."""
        try:
            self.serial = serial.Serial(
                port, baud, timeout=READ_SECONDS, write_timeout=WRITE_SECONDS, exclusive=True
            )
            self.serial.reset_input_buffer()
        # pyserial lets errors of the terminal through as they are.
        except (OSError, ValueError, _TerminalError) as error:
            raise LostError(
                f"can't open port {port}: {_reason(error)}; check that the board is connected "
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
        self.heard += len(data)
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
