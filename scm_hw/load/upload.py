"""An upload: the contents of a readout's tables, or of a processor, as the bytes that a core takes.

The digest of what it is for, the length of what follows, the words of every section in turn, the
lowest byte first, and a CRC-32 of all of it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntFlag

from scm_hw.errors import OptionError
from scm_hw.ir import Program, verify
from scm_hw.load.lower import check_supported, lower_model
from scm_hw.load.readout import (
    Contents,
    ReadoutPlan,
    check_entries,
    loadable,
    reload_fixed_point,
    with_bank,
)
from scm_hw.load.sections import DIGEST_BYTES, LENGTH_BITS, UploadPlan
from scm_hw.load.siphash import Seal
from scm_model import Model
from scm_model.fixed_point import FixedPoint

LENGTH = struct.Struct("<I")
CHECK = struct.Struct("<I")
HEADER_BYTES = DIGEST_BYTES + LENGTH.size


class LoadStatus(IntFlag):
    """What a core says of uploads. All but the last two are of the upload that was begun last."""

    BUSY = 1 << 0
    LOADED = 1 << 1
    FOREIGN = 1 << 2
    LENGTH = 1 << 3
    CRC = 1 << 4
    REVERTED = 1 << 5
    REVERTIBLE = 1 << 6
    """The other bank holds the model that was used before."""
    BUILT_IN = 1 << 7
    """Results are those of the model that was built in."""

    KEY = FOREIGN | CRC
    """Its hash was made without the key."""
    REPLAY = LENGTH | CRC
    """Its counter isn't above that of the upload before."""


# Pairs of bits first, since each bit by itself is another reason.
REFUSALS = {
    LoadStatus.KEY: "was made with another key",
    LoadStatus.REPLAY: "is not later than the one before",
    LoadStatus.FOREIGN: "is for another hidden layer or other formats",
    LoadStatus.LENGTH: "has another length than its tables",
    LoadStatus.CRC: "has a wrong CRC",
}


def refusal_of(status: LoadStatus) -> str | None:
    """Why an upload was refused, if it was; of several bits together first."""
    return next((reason for bits, reason in REFUSALS.items() if bits in status), None)


def framed(
    plan: UploadPlan,
    sections: Sequence[Sequence[int]],
    bank: int = 0,
    seal: Seal | None = None,
) -> bytes:
    """The words of every section between the header and the CRC, sealed for a core with a key."""
    if not 0 <= bank < plan.models:
        raise OptionError(
            f"bank must be in [0, {plan.models - 1}], not {bank}; build the core with more --banks"
        )
    # The highest byte of the length is the number of the model.
    parts = [plan.digest, LENGTH.pack(plan.payload_bytes | bank << LENGTH_BITS), *_counted(seal)]
    for words, (count, size) in zip(sections, plan.sections, strict=True):
        assert len(words) == count
        parts += [word.to_bytes(size, "little") for word in words]
    return _ended(b"".join(parts), seal)


def undone(digest: bytes, seal: Seal) -> bytes:
    """An upload without a length: a core with a key goes back to the model before."""
    return _ended(b"".join([digest, LENGTH.pack(0), *_counted(seal)]), seal)


def _counted(seal: Seal | None) -> tuple[bytes, ...]:
    return () if seal is None else (seal.counted(),)


def _ended(data: bytes, seal: Seal | None) -> bytes:
    """The hash of a sealed upload, and the CRC."""
    data += b"" if seal is None else seal.key.tag(data)
    return data + CHECK.pack(zlib.crc32(data))


def upload_bytes(
    plan: ReadoutPlan, contents: Contents, bank: int = 0, seal: Seal | None = None
) -> bytes:
    """All that a core has to be given to answer with these tables."""
    sections = []
    for table, entries in zip(plan.tables, contents, strict=True):
        mask = (1 << table.width) - 1
        # Where a table is smaller, its entries come round again.
        places = range(plan.depth)
        sections.append([entries[address % table.depth] & mask for address in places])
    return framed(plan.upload, sections, bank, seal)


def is_upload(data: bytes) -> bool:
    """Whether the bytes end in their own CRC, as an upload does."""
    return len(data) > HEADER_BYTES and CHECK.pack(zlib.crc32(data[:-4])) == data[-4:]


@dataclass(frozen=True, eq=False)
class Upload:
    """What a core is given for a model, and what it means from then on."""

    data: bytes
    fixed: FixedPoint
    meaning: Program


def make_upload(
    model: Model,
    *,
    frac_bits: int,
    output_bits: int | None,
    widths: tuple[int, int],
    digest: bytes,
    models: int = 1,
    bank: int = 0,
    seal: Seal | None = None,
) -> Upload:
    """The upload of a model for a core whose tables have these widths and that digest.

    `model` is in the units of the core's ports; its flags are left out, as the core has none.
    OptionError where hidden layers or formats differ, or a coefficient has no place in its table.
    """
    model = replace(model, flags=None)
    check_supported(model)
    fixed = reload_fixed_point(model, frac_bits, output_bits)
    lowered = lower_model(model, fixed)
    verify(lowered.program)
    found = loadable(model, lowered, fixed, widths, models)
    if found.plan.digest != digest:
        raise OptionError(
            "model must have the hidden layers, the linear part and the formats of the one that "
            "the core was built from, not others; fit only its readout again, or build it"
        )
    check_entries(found.plan.tables, found.contents)
    meaning = with_bank(lowered.program, models)
    return Upload(upload_bytes(found.plan, found.contents, bank, seal), fixed, meaning)
