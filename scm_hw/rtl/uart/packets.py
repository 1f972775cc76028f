"""The packets of the serial port, as `docs/uart.md` has them; nothing from the wire is trusted."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from scm_hw.errors import LinkError

FLAG = 0x7E
ESCAPE = 0x7D
FLIP = 0x20

HEADER = struct.Struct("<BHH")
CRC = struct.Struct("<I")
MAX_PAYLOAD = (1 << 16) - 1
# What a host keeps of one frame; a longer one is noise.
MAX_CONTENT = HEADER.size + MAX_PAYLOAD + CRC.size

MAX_BATCH = 255
# A request for samples is their count and the samples.
BATCH_BYTES = 1
# The reply: the design's tag, results, and cycles.
TAG = struct.Struct("<I")
CYCLES = struct.Struct("<I")
OFFSET = struct.Struct("<H")
# The most that one reply gives of the description.
PAGE = 128


# Where the bytes of a part of an upload belong, and in the reply what the core says of it and how
# many of its bytes were taken.
PLACE = struct.Struct("<I")
LOAD_STATE = struct.Struct("<BI")


class Kind(IntEnum):
    """The type of a packet: requests, and replies with the highest bit set."""

    HELLO = 0x01
    DESCRIBE = 0x02
    PREDICT = 0x03
    LOAD = 0x04
    REVERT = 0x05
    HELLO_REPLY = 0x81
    DESCRIPTION = 0x82
    RESULTS = 0x83
    LOADED = 0x84
    ERROR = 0xFF


class Fault(IntEnum):
    """Why the board refused: the first group is of frames it could not read, which have no
    sequence number."""

    LINE = 0x01
    CRC = 0x02
    SHORT = 0x03
    LENGTH = 0x04
    OVERRUN = 0x05
    TIMEOUT = 0x06
    UNKNOWN = 0x11
    PAYLOAD = 0x12
    CORE = 0x13


FAULTS = {
    Fault.LINE: "a byte without its stop bit",
    Fault.CRC: "a frame whose CRC is wrong",
    Fault.SHORT: "a frame too short to be one",
    Fault.LENGTH: "a frame whose length differs from what it says",
    Fault.OVERRUN: "more than its buffer holds",
    Fault.TIMEOUT: "a frame that never ended",
    Fault.UNKNOWN: "a request of a type it doesn't know",
    Fault.PAYLOAD: "a request whose payload has the wrong size",
    Fault.CORE: "a request that its core did not answer in time",
}


@dataclass(frozen=True)
class Packet:
    """One frame's contents."""

    kind: int
    sequence: int
    payload: bytes = b""

    @property
    def stored_bytes(self) -> int:
        """What it takes of the board's buffer until it is answered."""
        return HEADER.size + len(self.payload)

    def encode(self) -> bytes:
        """The frame: flags at both ends, so that noise before it is cut off."""
        body = HEADER.pack(self.kind, self.sequence, len(self.payload)) + self.payload
        body += CRC.pack(zlib.crc32(body))
        return bytes([FLAG, *_stuffed(body), FLAG])

    @classmethod
    def decode(cls, content: bytes) -> Packet | None:
        """What stood between two flags, without its escapes; None where that is no frame."""
        if len(content) < HEADER.size + CRC.size:
            return None
        body, check = content[: -CRC.size], content[-CRC.size :]
        # The CRC comes first: without it the length means nothing.
        if zlib.crc32(body) != CRC.unpack(check)[0]:
            return None
        kind, sequence, length = HEADER.unpack_from(body)
        if length != len(body) - HEADER.size:
            return None
        return cls(kind, sequence, body[HEADER.size :])


def _stuffed(body: bytes) -> Iterator[int]:
    for byte in body:
        if byte in (FLAG, ESCAPE):
            yield ESCAPE
            yield byte ^ FLIP
        else:
            yield byte


class Deframer:
    """Bytes in, packets out; whatever else is on the line is counted in `refused`."""

    def __init__(self) -> None:
        self.refused = 0
        self._content = bytearray()
        self._escaped = False
        self._too_long = False

    def feed(self, data: bytes) -> Iterator[Packet]:
        for byte in data:
            if byte == FLAG:
                packet = self._finish()
                if packet is not None:
                    yield packet
            elif byte == ESCAPE:
                # A second escape in a row is no byte that a sender writes: the CRC will tell.
                self._escaped = True
            else:
                self._take(byte ^ FLIP if self._escaped else byte)

    def reset(self) -> None:
        """Forget the frame that has begun."""
        self._content.clear()
        self._escaped = self._too_long = False

    def _take(self, byte: int) -> None:
        self._escaped = False
        # Noise without a flag must not fill the memory.
        if len(self._content) < MAX_CONTENT:
            self._content.append(byte)
        else:
            self._too_long = True

    def _finish(self) -> Packet | None:
        content, bad = bytes(self._content), self._escaped or self._too_long
        self.reset()
        if not content and not bad:
            return None
        packet = None if bad else Packet.decode(content)
        self.refused += packet is None
        return packet


@dataclass(frozen=True)
class Hello:
    """What a board says of itself.

    Widths are in bits; `capacity` is what its buffer holds of requests (`Packet.stored_bytes`) that
    it has not answered yet; `description_bytes` is how much there is to be read of the description.
    """

    digest: bytes
    model_digest: bytes
    in_width: int
    out_width: int
    capacity: int
    latency: int
    interval: int
    clock_hz: int
    baud: int
    description_bytes: int

    LAYOUT = struct.Struct("<4s32s32sHHHIIIIH")
    MAGIC = b"SCM1"

    @property
    def in_bytes(self) -> int:
        return -(-self.in_width // 8)

    @property
    def out_bytes(self) -> int:
        return -(-self.out_width // 8)

    @property
    def tag(self) -> int:
        """The first bytes of the digest, which stand in every reply with results."""
        return int(TAG.unpack_from(self.digest)[0])

    @property
    def samples_per_second(self) -> float:
        """What the line carries at best, in full requests and replies, both ways at once.

        A byte takes ten bits, and two values of a byte an escape before them.
        """
        count = self.max_batch
        frame = HEADER.size + CRC.size
        request = frame + BATCH_BYTES + count * self.in_bytes
        reply = frame + TAG.size + count * self.out_bytes + CYCLES.size
        longest = max(request, reply) * (1 + 2 / 256) + 2
        line = self.baud / 10 * count / longest
        return min(line, self.clock_hz / self.interval)

    @property
    def max_batch(self) -> int:
        """Samples that one request can hold and its reply can answer."""
        room = (self.capacity - HEADER.size - BATCH_BYTES) // self.in_bytes
        answer = (MAX_PAYLOAD - TAG.size - CYCLES.size) // self.out_bytes
        return min(room, answer, MAX_BATCH)

    def encode(self) -> bytes:
        return self.LAYOUT.pack(
            self.MAGIC,
            self.digest,
            self.model_digest,
            self.in_width,
            self.out_width,
            self.capacity,
            self.latency,
            self.interval,
            self.clock_hz,
            self.baud,
            self.description_bytes,
        )

    @classmethod
    def decode(cls, payload: bytes) -> Hello:
        """LinkError where the payload is no hello that makes sense."""
        if len(payload) != cls.LAYOUT.size or payload[:4] != cls.MAGIC:
            raise LinkError(
                f"hello must be {cls.LAYOUT.size} bytes that begin with {cls.MAGIC.decode()}, not "
                f"{len(payload)} that begin with {payload[:4]!r}; the board has other gateware, or "
                "another version of it"
            )
        hello = cls(*cls.LAYOUT.unpack(payload)[1:])
        if not (hello.in_width and hello.out_width and hello.max_batch > 0):
            raise LinkError(
                f"hello must tell widths and a buffer for a sample, not {hello.in_width} and "
                f"{hello.out_width} bits and {hello.capacity} bytes; build the design again"
            )
        return hello


def predict_request(sequence: int, samples: list[bytes]) -> Packet:
    """A request for one sample or for a batch of them."""
    return Packet(Kind.PREDICT, sequence, bytes([len(samples)]) + b"".join(samples))


@dataclass(frozen=True)
class Results:
    """A reply with results: one word for each sample, and the most cycles that one of them took."""

    words: tuple[int, ...]
    cycles: int

    @classmethod
    def decode(cls, payload: bytes, hello: Hello, count: int) -> Results | None:
        """None where the payload has another size, or is of another design."""
        size = TAG.size + count * hello.out_bytes + CYCLES.size
        if len(payload) != size or TAG.unpack_from(payload)[0] != hello.tag:
            return None
        step = hello.out_bytes
        starts = range(TAG.size, size - CYCLES.size, step)
        words = tuple(int.from_bytes(payload[i : i + step], "little") for i in starts)
        # Spare bits are 0 in every reply.
        if any(word >> hello.out_width for word in words):
            return None
        return cls(words, CYCLES.unpack(payload[-CYCLES.size :])[0])
