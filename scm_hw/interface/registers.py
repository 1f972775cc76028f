"""The address map of the AXI4-Lite front, in bytes; every register is a word of 32 bits."""

from __future__ import annotations

# "SCM1", the first letter in the lowest byte.
MAGIC = int.from_bytes(b"SCM1", "little")
# Of this map; a later one that still serves this one's readers keeps it.
VERSION = 1

ID = 0x00
MAP_VERSION = 0x04
CONTROL = 0x08
STATUS = 0x0C
CYCLES = 0x10
SAMPLES = 0x14
INPUTS = 0x18
OUTPUTS = 0x1C
DIGEST = 0x20
DIGEST_WORDS = 8

# Two words for each field, low and high.
FIELD_BYTES = 8
INPUT_BASE = 0x10000
OUTPUT_BASE = 0x20000
MAX_FIELDS = (OUTPUT_BASE - INPUT_BASE) // FIELD_BYTES
ADDRESS_BITS = 18

START = 1 << 0
BUSY = 1 << 0
DONE = 1 << 1

OKAY, SLVERR = 0, 2
