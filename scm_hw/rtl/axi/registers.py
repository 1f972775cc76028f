"""The register map of the AXI4-Lite interface: byte addresses, bits and what they mean.

Every register is a word of 32 bits. `docs/hardware.md`, `scm_regs.h` and the report print these
tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.load.upload import LoadStatus

# "SCM1", the first letter in the lowest byte.
MAGIC = int.from_bytes(b"SCM1", "little")
# The version of this map; drivers refuse one that they don't know. 1 answered errors with SLVERR.
VERSION = 2

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

# Only where a readout or a model can be loaded.
LOAD_STATUS = 0x40
LOAD_CONTROL = 0x44
LOAD_DATA = 0x48

# Two words for each field, low and high.
FIELD_BYTES = 8
INPUT_BASE = 0x10000
OUTPUT_BASE = 0x20000
MAX_FIELDS = (OUTPUT_BASE - INPUT_BASE) // FIELD_BYTES
ADDRESS_BITS = 18

# CONTROL
START = 1 << 0
INTERRUPT_ENABLE = 1 << 1

# LOAD_CONTROL
LOAD_START = 1 << 0
LOAD_REVERT = 1 << 1

# STATUS: the sample under way, then bits that stay set until a 1 is written to them.
BUSY = 1 << 0
DONE = 1 << 1
INTERRUPT = 1 << 2
START_WHILE_BUSY = 1 << 3
INPUT_WHILE_BUSY = 1 << 4
NO_REGISTER = 1 << 5
READ_ONLY = 1 << 6
ERRORS = START_WHILE_BUSY | INPUT_WHILE_BUSY | NO_REGISTER | READ_ONLY
FIRST_STICKY = INTERRUPT.bit_length() - 1
STICKY_BITS = READ_ONLY.bit_length() - FIRST_STICKY


@dataclass(frozen=True)
class Register:
    """A register, or `count` of them `step` bytes apart; None where the design has the number."""

    name: str
    address: int
    access: str
    meaning: str
    count: int | None = 1
    step: int = 4


REGISTERS = (
    Register("ID", ID, "read", "0x314D4353, the letters SCM1"),
    Register("MAP_VERSION", MAP_VERSION, "read", f"version of this register map: {VERSION}"),
    Register("CONTROL", CONTROL, "read, write", "start and interrupt enable"),
    Register("STATUS", STATUS, "read, write 1 to clear", "state, interrupt and errors"),
    Register("CYCLES", CYCLES, "read", "clock cycles that the last sample took in the core"),
    Register("SAMPLES", SAMPLES, "read", "samples since reset, modulo 2^32"),
    Register("INPUTS", INPUTS, "read", "number of input fields"),
    Register("OUTPUTS", OUTPUTS, "read", "number of output fields"),
    Register("DIGEST", DIGEST, "read", "SHA-256 of the design, first byte lowest", DIGEST_WORDS),
    Register("INPUT", INPUT_BASE, "read, write", "input field, low word", None, FIELD_BYTES),
    Register("OUTPUT", OUTPUT_BASE, "read", "output field, low word", None, FIELD_BYTES),
)


RELOAD_REGISTERS = (
    Register("LOAD_STATUS", LOAD_STATUS, "read", "what became of the last upload, and the model"),
    Register("LOAD_CONTROL", LOAD_CONTROL, "write", "begin an upload, or go back; reads as 0"),
    Register("LOAD_DATA", LOAD_DATA, "write", "the next byte of the upload; reads as 0"),
)


@dataclass(frozen=True)
class Bit:
    name: str
    mask: int
    meaning: str


CONTROL_BITS = (
    Bit("START", START, "write 1 to start a sample; reads as 0"),
    Bit("INTERRUPT_ENABLE", INTERRUPT_ENABLE, "the output irq follows STATUS.INTERRUPT"),
)
STATUS_BITS = (
    Bit("BUSY", BUSY, "a sample is under way"),
    Bit("DONE", DONE, "the last sample started has its result; cleared by START"),
    Bit("INTERRUPT", INTERRUPT, "a sample finished; write 1 to clear"),
    Bit("START_WHILE_BUSY", START_WHILE_BUSY, "START was ignored; write 1 to clear"),
    Bit("INPUT_WHILE_BUSY", INPUT_WHILE_BUSY, "a write to an input was ignored; write 1 to clear"),
    Bit("NO_REGISTER", NO_REGISTER, "an unused address was accessed; write 1 to clear"),
    Bit("READ_ONLY", READ_ONLY, "a read-only register was written; write 1 to clear"),
)
LOAD_CONTROL_BITS = (
    Bit("START", LOAD_START, "an upload begins, one under way is dropped"),
    Bit("REVERT", LOAD_REVERT, "back to the model before, while it is there"),
)
LOAD_STATUS_BITS = (
    Bit("BUSY", int(LoadStatus.BUSY), "an upload is under way"),
    Bit("LOADED", int(LoadStatus.LOADED), "it was right, and its model answers"),
    Bit(
        "FOREIGN",
        int(LoadStatus.FOREIGN),
        "refused: for another core; with CRC: made with another key",
    ),
    Bit(
        "LENGTH",
        int(LoadStatus.LENGTH),
        "refused: another length; with CRC: a counter that was used",
    ),
    Bit("CRC", int(LoadStatus.CRC), "refused: its CRC is wrong"),
    Bit("REVERTED", int(LoadStatus.REVERTED), "the model before answers again"),
    Bit("REVERTIBLE", int(LoadStatus.REVERTIBLE), "there is a model to go back to"),
    Bit("BUILT_IN", int(LoadStatus.BUILT_IN), "the model that was built in answers"),
)
