"""A table mechanism by cells: where a code is inside its cell, and between which values.

Inside a cell a code stands at the odd number `2 * (code - start) + 1`, of a power of two.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from scm_hw.load.model import Code, Floats, Model

Integers = NDArray[np.int64]


def fraction_bits(model: Model) -> list[int]:
    """Fraction bits of the position inside a cell, in each direction."""
    found = []
    for i, cells, own in zip(
        model.mechanism.inputs, cell_counts(model), cell_starts(model), strict=True
    ):
        code = model.codes[i]
        equal = code.bits - (cells.bit_length() - 1) + 1
        found.append(equal if own is None else _widest(own, code))
    return found


def cell_starts(model: Model) -> tuple[tuple[int, ...] | None, ...]:
    """The first integer of each cell, or None where cells are equal parts of a code."""
    return model.mechanism.starts or (None,) * len(model.mechanism.inputs)


def cell_counts(model: Model) -> tuple[int, ...]:
    """How many cells there are in each direction."""
    mechanism = model.mechanism
    if mechanism.corners is not None:
        return mechanism.corners.shape[len(mechanism.inputs) : -1]
    assert mechanism.grid is not None
    return tuple(points - 1 for points in mechanism.grid.shape[:-1])


def _widest(starts: tuple[int, ...], code: Code) -> int:
    """Bits for twice the integers of the largest cell."""
    return int(np.diff([*starts, code.high + 1]).max() - 1).bit_length() + 1


def corners(model: Model) -> Floats:
    """P0 at both ends of each cell in every direction: (2, ..., 2, cells..., m)."""
    mechanism = model.mechanism
    if mechanism.corners is not None:
        return mechanism.corners
    assert mechanism.grid is not None
    return corners_of(mechanism.grid)


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
    cells, positions = [], []
    for i, bits, own in zip(
        model.mechanism.inputs, fraction_bits(model), cell_starts(model), strict=True
    ):
        code = held[:, i]
        if own is None:
            cell = code >> (bits - 1)
            first = cell << (bits - 1)
        else:
            cell = np.searchsorted(own[1:], code, side="right")
            first = np.array(own)[cell]
        cells.append(cell)
        positions.append(2 * (code - first) + 1)
    return np.stack(cells, axis=1), np.stack(positions, axis=1)


def table_of_sensors(model: Model, held: Integers) -> Floats:
    """Multilinear interpolation between the corners of the cells."""
    cells, positions = cells_and_positions(model, held)
    place = positions / (1 << np.array(fraction_bits(model)))
    values = corners(model)
    total = np.zeros((len(held), model.outputs))
    for ends in product((0, 1), repeat=cells.shape[1]):
        share = np.where(np.array(ends), place, 1.0 - place).prod(axis=1)
        total += share[:, None] * values[ends][tuple(cells.T)]
    return total
