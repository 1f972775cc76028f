"""SipHash-2-4 (Aumasson and Bernstein, 2012), the reference of the gates, and the key of uploads.

A core that is built with a key takes an upload only with the hash of it, and of a counter that has
to grow, so that an upload can't be made or used again by who doesn't have the key.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scm_hw.errors import OptionError

# A counter of 6 bytes has room for milliseconds since 1970 for thousands of years.
KEY_BYTES, TAG_BYTES, COUNTER_BYTES = 16, 8, 6
COMPRESSIONS, FINALISATIONS = 2, 4
# "somepseudorandomlygeneratedbytes", which the halves of the key are added to.
START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
# Bits by which the second and the fourth word are rotated, in both halves of a round.
TURNS = ((13, 16), (17, 21))
_MASK = (1 << 64) - 1
_ENVIRONMENT = "env:"


@dataclass(frozen=True)
class LoadKey:
    """The key of a core's uploads; no report and no message shows it."""

    value: bytes = field(repr=False)

    def tag(self, data: bytes) -> bytes:
        return siphash(self.value, data).to_bytes(TAG_BYTES, "little")


def read_key(source: str) -> LoadKey:
    """A key from a file, or from the environment variable behind `env:`: 32 hex digits."""
    if source.startswith(_ENVIRONMENT):
        text = os.environ.get(source.removeprefix(_ENVIRONMENT))
        if text is None:
            raise OptionError(f"can't read the load key: {source[4:]} is not set; export it")
    else:
        try:
            text = Path(source).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise OptionError(
                f"can't read the load key {source}: {reason}; name a file of 32 hex digits, such "
                "as `openssl rand -hex 16` makes"
            ) from None
    if not re.fullmatch(r"[0-9a-fA-F]{32}", text.strip()):
        # What it is instead may be a key.
        raise OptionError(f"load key of {source} must be 32 hex digits, not other text")
    return LoadKey(bytes.fromhex(text.strip()))


def now() -> int:
    """A counter for an upload that is made now: milliseconds, so that later ones have more."""
    return int(time.time() * 1000)


@dataclass(frozen=True)
class Seal:
    """What is added to an upload for a core with a key."""

    key: LoadKey
    counter: Callable[[], int] = now

    def counted(self) -> bytes:
        return self.counter().to_bytes(COUNTER_BYTES, "little")


def siphash(key: bytes, data: bytes) -> int:
    """The hash of some bytes under a key of 16."""
    halves = struct.unpack("<2Q", key)
    v = [start ^ halves[i % 2] for i, start in enumerate(START)]
    whole = len(data) // 8 * 8
    # The last word: the bytes that are left, and the length modulo 256 in the highest byte.
    rest = data[whole:].ljust(7, b"\0") + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", data[:whole] + rest):
        v[3] ^= word
        _rounds(v, COMPRESSIONS)
        v[0] ^= word
    v[2] ^= 0xFF
    _rounds(v, FINALISATIONS)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        for (one, other), turns in zip(((0, 2), (2, 0)), TURNS, strict=True):
            v[one] = (v[one] + v[1]) & _MASK
            v[other] = (v[other] + v[3]) & _MASK
            v[1] = _turned(v[1], turns[0]) ^ v[one]
            v[3] = _turned(v[3], turns[1]) ^ v[other]
            v[one] = _turned(v[one], 32)


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK
