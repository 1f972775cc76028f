"""The program of an SCM processor: its steps, its rows, and what they mean in NumPy.

A step is one of three. A term adds a code, or a part of one, to the sum that makes a bit; a chunk
adds how many bits of a stored word agree with it; a product adds a code times a row of coefficients
to the outputs. Where a sum ends, it is compared with a threshold: a node, a coded bit, or a bit of
a family. That bit is stored, or adds a row, or becomes part of the address of a table of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from scm_hw.load.capacity import COEFFICIENT_BITS, Capacity

Integers = NDArray[np.int64]

# A bit that is stored can be read by the fifth step after it: it is written in rank 7 of the
# hardware, and read in rank 3.
STORE_DISTANCE = 5


class Kind(IntEnum):
    """The kinds of steps."""

    TERM = 0
    CHUNK = 1
    PRODUCT = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction.

    A term and a product are `±(clip(code % 2**width, low, high) << shift)` of the input `source`;
    with `above` they are `±(1 << shift)` where `code % 2**width` is more than `low`. A chunk counts
    the set bits of `(word ^ low) & high` of the stored word `source`.

    `end`: the sum of all steps since the last end, compared with `threshold`, is a bit. `store`: it
    is stored behind those before. `add`: where it is set, the next row is added. `address`: it is
    the next lower bit of an address. `look`: it is the lowest one, and the row there is added; the
    next row is then behind the table. Rows that bits add count `2**code_bits`. `last`: the program
    ends.
    """

    kind: Kind = Kind.TERM
    source: int = 0
    width: int = 0
    low: int = 0
    high: int = 0
    shift: int = 0
    negative: int = 0
    above: int = 0
    threshold: int = 0
    end: int = 0
    store: int = 0
    add: int = 0
    address: int = 0
    look: int = 0
    last: int = 0


Row = tuple[int, ...]
"""A coefficient for each output."""


@dataclass(frozen=True, eq=False)
class Image:
    """What is loaded: the steps up to the last, and the rows in the order of their reading."""

    capacity: Capacity
    steps: tuple[Step, ...]
    rows: tuple[Row, ...] = field(repr=False)

    def words(self) -> tuple[list[int], list[int]]:
        """Both memories, filled up with zeros."""
        steps = [packed_step(self.capacity, step) for step in self.steps]
        rows = [packed_row(row) for row in self.rows]
        room = self.capacity.room.steps, self.capacity.rows
        assert len(steps) <= room[0] and len(rows) <= room[1]
        return steps + [0] * (room[0] - len(steps)), rows + [0] * (room[1] - len(rows))


def packed_step(capacity: Capacity, step: Step) -> int:
    """The fields of a step side by side; a threshold in two's complement."""
    word = place = 0
    for name, width in capacity.step_widths.items():
        word |= (getattr(step, name) & (1 << width) - 1) << place
        place += width
    return word


def packed_row(row: Sequence[int]) -> int:
    """Coefficients side by side, the first output's in the lowest bits."""
    mask = (1 << COEFFICIENT_BITS) - 1
    return sum((value & mask) << COEFFICIENT_BITS * j for j, value in enumerate(row))


def run_image(image: Image, inputs: Integers) -> Integers:
    """The outputs of a processor that holds an image, a row for each row of its inputs."""
    capacity = image.capacity
    machine = _Machine(capacity, image.rows, np.asarray(inputs, np.int64))
    for step in image.steps:
        machine.take(step)
        if step.last:
            break
    if capacity.classes:
        # Of equal scores NumPy takes the first, as the core does.
        best: Integers = machine.totals.argmax(axis=1)[:, None].astype(np.int64)
        return best
    return _signed(machine.totals, capacity.output_bits)


def _signed(values: Integers, bits: int) -> Integers:
    low = values & (1 << bits) - 1
    return low - ((low >> bits - 1) << bits)


class _Machine:
    """The registers of a processor, an array of samples each."""

    def __init__(self, capacity: Capacity, rows: Sequence[Row], inputs: Integers) -> None:
        self.capacity, self.inputs = capacity, inputs
        self.rows = np.array([*rows, (0,) * capacity.room.outputs], np.int64)
        samples = len(inputs)
        self.stored: list[Integers] = []
        self.sum = np.zeros(samples, np.int64)
        self.address = np.zeros(samples, np.int64)
        self.address_bits = self.next_row = 0
        self.totals = np.zeros((samples, capacity.room.outputs), np.int64)

    def take(self, step: Step) -> None:
        if step.kind == Kind.PRODUCT:
            self._gain(self._code(step)[:, None] * self.rows[self.next_row])
            self.next_row += 1
            return
        self.sum = self.sum + (self._count(step) if step.kind == Kind.CHUNK else self._code(step))
        if step.end:
            # As the register of the core holds it.
            bit = (_signed(self.sum, self.capacity.sum_bits) >= step.threshold).astype(np.int64)
            self.sum = np.zeros_like(self.sum)
            self._use(step, bit)

    def _use(self, step: Step, bit: Integers) -> None:
        unit = 1 << self.capacity.code_bits
        if step.store:
            self.stored.append(bit)
        if step.add:
            self._gain((bit * unit)[:, None] * self.rows[self.next_row])
            self.next_row += 1
        if step.address or step.look:
            self.address = 2 * self.address + bit
            self.address_bits += 1
        if step.look:
            self._gain(self.rows[self.next_row + self.address] * unit)
            self.next_row += 1 << self.address_bits
            self.address, self.address_bits = np.zeros_like(bit), 0

    def _gain(self, addends: Integers) -> None:
        self.totals = _signed(self.totals + addends, self.capacity.total_bits)

    def _code(self, step: Step) -> Integers:
        code = self.inputs[:, step.source] & (1 << step.width) - 1
        value = np.where(code > step.high, step.high, np.maximum(code, step.low))
        value = (code > step.low if step.above else value) << step.shift
        return -value if step.negative else value

    def _count(self, step: Step) -> Integers:
        lanes, count = self.capacity.lanes, np.zeros(len(self.inputs), np.int64)
        for lane, bit in enumerate(self.stored[step.source * lanes : (step.source + 1) * lanes]):
            if step.high >> lane & 1:
                count += bit ^ (step.low >> lane & 1)
        return count
