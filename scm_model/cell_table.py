"""A table mechanism by cells: where a code is inside its cell, and between which values.

Inside a cell a code stands at the odd number `2 * (code - start) + 1`, of a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scm_model.mechanism import Mechanism, TableModel
from scm_model.model import Code, Model
from scm_model.scaling import Floats

Integers = NDArray[np.int64]
# The first integer of every cell of an input, or None where cells are equal parts of its code.
Starts = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, eq=False)
class CellTable(Mechanism):
    """A table of sensors' integers: `corners` (2, ..., 2, cells..., m) are the values at both ends
    of each cell in every direction, between which it interpolates."""

    kind: ClassVar[str] = "table"
    inputs: NDArray[np.int32]
    corners: Floats
    starts: Starts
    codes: tuple[Code, ...]

    def values(self, X: NDArray[Any], x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        # What a code stands for, (code + 0.5) / 2**bits, is exact, and so is the way back.
        held = (x * np.ldexp(1.0, [code.bits for code in self.codes])).astype(np.int64)
        return self._interpolated(held)

    def _interpolated(self, held: Integers) -> Floats:
        bits = _fraction_bits(self.codes, self.inputs, self.cells, self.starts)
        cells, positions = _cells_and_positions(held, self.inputs, bits, self.starts)
        place = positions / (1 << np.array(bits))
        total = np.zeros((len(held), self.corners.shape[-1]))
        for ends in product((0, 1), repeat=cells.shape[1]):
            share = np.where(np.array(ends), place, 1.0 - place).prod(axis=1)
            total += share[:, None] * self.corners[ends][tuple(cells.T)]
        return total

    @property
    def cells(self) -> tuple[int, ...]:
        """How many cells there are in each direction."""
        return self.corners.shape[len(self.inputs) : -1]


def table_of(model: Model) -> TableModel | CellTable:
    """The mechanism of a model that has a table."""
    assert isinstance(model.mechanism, TableModel | CellTable)
    return model.mechanism


def fraction_bits(model: Model) -> list[int]:
    """Fraction bits of the position inside a cell, in each direction."""
    return _fraction_bits(
        model.codes, table_of(model).inputs, cell_counts(model), cell_starts(model)
    )


def _fraction_bits(
    codes: tuple[Code, ...], inputs: NDArray[np.int32], counts: tuple[int, ...], starts: Starts
) -> list[int]:
    found = []
    for i, cells, own in zip(inputs, counts, starts, strict=True):
        code = codes[i]
        # The bits of a code below those that number the cell, and one for the half step.
        equal = code.bits - (cells.bit_length() - 1) + 1
        found.append(equal if own is None else _widest(own, code))
    return found


def cell_starts(model: Model) -> Starts:
    """The first integer of each cell, or None where cells are equal parts of a code."""
    table = table_of(model)
    return table.starts if isinstance(table, CellTable) else (None,) * len(table.inputs)


def cell_counts(model: Model) -> tuple[int, ...]:
    """How many cells there are in each direction."""
    table = table_of(model)
    if isinstance(table, CellTable):
        return table.cells
    return tuple(points - 1 for points in table.grid.shape[:-1])


def _widest(starts: tuple[int, ...], code: Code) -> int:
    """Bits for twice the integers of the largest cell."""
    return int(np.diff([*starts, code.high + 1]).max() - 1).bit_length() + 1


def corners(model: Model) -> Floats:
    """P0 at both ends of each cell in every direction: (2, ..., 2, cells..., m)."""
    table = table_of(model)
    return table.corners if isinstance(table, CellTable) else corners_of(table.grid)


def corners_of(grid: Floats) -> Floats:
    """Both ends of each cell of a grid."""
    directions = grid.ndim - 1
    found = []
    for ends in product((0, 1), repeat=directions):
        cells = tuple(
            slice(end, points - 1 + end) for end, points in zip(ends, grid.shape[:-1], strict=True)
        )
        found.append(grid[cells])
    return np.reshape(found, (*(2,) * directions, *found[0].shape))


def cells_and_positions(model: Model, held: Integers) -> tuple[Integers, Integers]:
    """The cell of each row in every direction, and the odd number of its place there."""
    inputs = table_of(model).inputs
    return _cells_and_positions(held, inputs, fraction_bits(model), cell_starts(model))


def _cells_and_positions(
    held: Integers, inputs: NDArray[np.int32], fractions: list[int], starts: Starts
) -> tuple[Integers, Integers]:
    cells, positions = [], []
    for i, bits, own in zip(inputs, fractions, starts, strict=True):
        code = held[:, i]
        if own is None:
            cell = code >> (bits - 1)
            first = cell << (bits - 1)
        else:
            # As many of the later starts as a code has reached: the number of its cell.
            cell = np.searchsorted(own[1:], code, side="right")
            first = np.array(own)[cell]
        cells.append(cell)
        positions.append(2 * (code - first) + 1)
    return np.stack(cells, axis=1), np.stack(positions, axis=1)
