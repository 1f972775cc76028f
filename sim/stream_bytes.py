"""Samples and results as the bytes of an AXI4-Stream: packed words, or rows of fields."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from scm_hw.rtl.axi.rows import RowFormat
from scm_hw.sim.vectors import Vectors


class StreamBytes:
    """What goes in and out for the vectors of a wrapper with these ports."""

    def __init__(self, vectors: Vectors, ports: dict[str, Any], random: Random) -> None:
        self.vectors, self.ports, self.random = vectors, ports, random
        tdata, self.rows = ports["tdata"], ports["tdata"] is not None
        if self.rows:
            unsigned = (False,) * len(ports["in_widths"])
            self.inputs = RowFormat(tuple(ports["in_widths"]), unsigned, tdata)
            self.outputs = RowFormat(tuple(ports["out_widths"]), tuple(ports["out_signed"]), tdata)

    def sent(self, packet: Sequence[int]) -> bytes:
        """With noise in all bits that the wrapper must not mind."""
        data = b"".join(map(self._sample, packet))
        # A packet may end with its last field.
        spare = self.inputs.row_bytes - self.inputs.used_bytes if self.rows else 0
        return data[: len(data) - self.random.choice((0, spare))]

    def expected(self, packet: Sequence[int]) -> bytes:
        """With `tkeep`, nothing comes behind the last field of a packet."""
        data = b"".join(map(self._result, packet))
        spare = self.outputs.row_bytes - self.outputs.used_bytes if self.rows else 0
        return data[: len(data) - spare]

    def _sample(self, index: int) -> bytes:
        word, width = self.vectors.inputs[index], self.vectors.in_width
        if not self.rows:
            size = -(-width // 8)
            noise = self.random.getrandbits(8 * size - width) if 8 * size > width else 0
            return (word | noise << width).to_bytes(size, "little")
        row = self.random.getrandbits(8 * self.inputs.row_bytes)
        for place, field in enumerate(_split(word, self.inputs.widths)):
            low, bits = place * self.inputs.field_bits, self.inputs.widths[place]
            row = row & ~((1 << bits) - 1 << low) | field << low
        return row.to_bytes(self.inputs.row_bytes, "little")

    def _result(self, index: int) -> bytes:
        word, width = self.vectors.outputs[index], self.vectors.out_width
        if not self.rows:
            return extended(word, width, self.ports["out_signed"][-1])
        form = self.outputs
        fields = zip(_split(word, form.widths), form.widths, form.signed, strict=True)
        size = form.field_bits // 8
        used = b"".join(_in_bytes(*field, size) for field in fields)
        return used.ljust(form.row_bytes, b"\0")


def extended(word: int, width: int, signed: bool) -> bytes:
    """A word in whole bytes, by its sign where it has one."""
    return _in_bytes(word, width, signed, -(-width // 8))


def _in_bytes(word: int, width: int, signed: bool, size: int) -> bytes:
    negative = signed and word >> (width - 1)
    value = word - (1 << width) if negative else word
    return value.to_bytes(size, "little", signed=bool(negative))


def _split(word: int, widths: Sequence[int]) -> list[int]:
    found = []
    for width in widths:
        found.append(word & (1 << width) - 1)
        word >>= width
    return found
