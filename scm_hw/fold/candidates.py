"""Foldings worth a closer look: one set of lanes for all layers, or two.

Lanes that all layers share never wait for each other, but layers of different shapes leave some of
them idle. A second set, for the layers that it suits better, can be faster in the same room. All
pairs of a grid are weighed at once, with the engines' share of the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_hw.fold.costs import pe_cost, rom_luts
from scm_hw.fold.folds import Fold
from scm_hw.fold.machine import Machine
from scm_hw.fold.memories import BLOCK_DEPTH
from scm_hw.fold.plan import FoldPlan
from scm_hw.schedule import Cost
from scm_hw.target import TECHNOLOGIES, Technology
from scm_hw.target.devices import Device

Numbers = NDArray[np.int64]
Choices = NDArray[np.bool_]

# Steps of an eighth to a quarter.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112)
GRID += (128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024)


def foldings(
    machine: Machine, device: Device, share: float, period_ns: float, grade: str
) -> Iterator[tuple[int, tuple[Fold, ...]]]:
    """Cycles of the layers and their folds, fewest cycles first, each with fewer lanes than before.

    What can't fit within that share of the device is left out.
    """
    grid = _grid(machine, period_ns, grade)
    pairs = _pairs(grid, device, share)
    # lexsort sorts by its last key first: by cycles, and lanes settle ties.
    order = np.lexsort((pairs.lanes, pairs.cycles))
    fewest = np.iinfo(np.int64).max
    for i in order:
        if pairs.lanes[i] >= fewest:
            continue
        fewest = pairs.lanes[i]
        folds = _tightened(machine, grid, int(pairs.first[i]), int(pairs.second[i]))
        yield int(pairs.cycles[i]), folds


@dataclass(frozen=True, eq=False)
class _Grid:
    """The folds of the grid, and for each what it would make of each layer.

    `steps` and `cycles` have a row for each fold and a column for each layer; `lut` and `ff` are of
    the lanes alone, without their memories.
    """

    folds: list[Fold]
    lanes: Numbers
    steps: Numbers
    cycles: Numbers
    lut: Numbers
    ff: Numbers
    # Lanes of the first layer are its own where it reads codes.
    apart: bool
    tech: Technology


def _grid(machine: Machine, period_ns: float, grade: str) -> _Grid:
    layers = machine.layers
    nodes = np.array([layer.nodes for layer in layers])
    inputs = np.array([layer.inputs for layer in layers])
    simds = _up_to(int(inputs.max()))
    folds = [Fold(pe, simd) for pe in _up_to(int(nodes.max())) for simd in simds]
    pe, simd = np.array([(fold.pe, fold.simd) for fold in folds]).T
    steps = _over(nodes, pe[:, None]) * _over(inputs, simd[:, None])
    # Drain and cost of a PE depend on SIMD alone.
    single = {s: _single_pe(machine, s, period_ns, grade) for s in simds}
    drains = np.array([single[s].drains for s in simd.tolist()])
    return _Grid(
        folds,
        lanes=pe * simd,
        steps=steps,
        cycles=steps + drains,
        lut=pe * np.array([single[s].cost.lut for s in simd.tolist()]),
        ff=pe * np.array([single[s].cost.ff for s in simd.tolist()]),
        apart=layers[0].lane_bits > 1,
        tech=TECHNOLOGIES[grade],
    )


@dataclass(frozen=True)
class _SinglePe:
    """One PE of `simd` lanes: the drain of each layer on it, and its cost with all of them."""

    drains: list[int]
    cost: Cost


def _single_pe(machine: Machine, simd: int, period_ns: float, grade: str) -> _SinglePe:
    plan = FoldPlan(machine, (Fold(1, simd),) * len(machine.layers), period_ns, grade)
    # The last engine has the lanes of bits, where the first layer's are of codes.
    return _SinglePe([layer.drain for layer in plan.layers], pe_cost(plan.engines[-1], plan.tech))


def _over(sizes: Numbers, lanes: Numbers) -> Numbers:
    return -(-sizes // lanes)


def _up_to(most: int) -> list[int]:
    return [*(lanes for lanes in GRID if lanes < most), min(most, GRID[-1])]


# Pairs of folds


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of folds by their rows in the grid; a pair of equal folds is a single set of lanes."""

    first: Numbers
    second: Numbers
    cycles: Numbers
    lanes: Numbers


def _pairs(grid: _Grid, device: Device, share: float) -> _Pairs:
    """All pairs that fit."""
    # A fold that is too large alone is too large in every pair.
    possible = np.flatnonzero((grid.lut <= share * device.lut) & (grid.ff <= share * device.ff))
    rows = [_pairs_with(grid, int(first), possible, device, share) for first in possible]
    first, second, cycles, lanes = (
        np.concatenate([getattr(row, name) for row in rows])
        for name in ("first", "second", "cycles", "lanes")
    )
    return _Pairs(first, second, cycles, lanes)


def _pairs_with(grid: _Grid, first: int, seconds: Numbers, device: Device, share: float) -> _Pairs:
    """Those that fit of one fold beside each of the others, and of that fold by itself."""
    moved = _moved(grid, first, seconds)
    cycles = np.where(moved, grid.cycles[seconds], grid.cycles[first]).sum(axis=1)
    firsts = np.full(len(seconds), first)
    size = _size(grid, firsts, ~moved).plus(_size(grid, seconds, moved))
    # A fold that takes all layers or none from the other is a pair with itself instead.
    sensible = (seconds == first) | (moved.any(axis=1) & ~moved.all(axis=1))
    kept = np.flatnonzero(sensible & size.within(device, share, grid.tech))
    return _Pairs(firsts[kept], seconds[kept], cycles[kept], size.lanes[kept])


def _moved(grid: _Grid, first: int, seconds: Numbers) -> Choices:
    """The layers that take the second fold of each pair: where it is faster, if they may choose."""
    if grid.apart:
        layers = np.arange(grid.cycles.shape[1])
        return np.broadcast_to(layers > 0, (len(seconds), len(layers)))
    moved: Choices = grid.cycles[seconds] < grid.cycles[first]
    return moved


@dataclass(frozen=True, eq=False)
class _Size:
    """What sets of lanes take of a device, with the memories of their signs."""

    lanes: Numbers
    lut: Numbers
    blocks: Numbers

    def plus(self, other: _Size) -> _Size:
        return _Size(self.lanes + other.lanes, self.lut + other.lut, self.blocks + other.blocks)

    def within(self, device: Device, share: float, tech: Technology) -> Choices:
        # Each lane has a register for its sign.
        fits: Choices = (self.lut <= share * device.lut) & (self.lanes <= share * device.ff)
        return fits & (self.blocks / tech.blocks_per_unit <= share * device.bram)


def _size(grid: _Grid, folds: Numbers, taken: Choices) -> _Size:
    """For each fold its lanes, with the layers that it has taken; nothing if it has none."""
    depth = (grid.steps[folds] * taken).sum(axis=1)
    used = taken.any(axis=1)
    lanes = np.where(used, grid.lanes[folds], 0)
    shapes = [_over(lanes, np.int64(w)) * _over(depth, np.int64(d)) for w, d in grid.tech.blocks]
    deep = depth > BLOCK_DEPTH
    rom = np.where(deep, 0, lanes * rom_luts(depth, grid.tech))
    lut = np.where(used, grid.lut[folds], 0) + rom
    return _Size(lanes, lut, blocks=np.where(deep, np.min(shapes, axis=0), 0))


def _tightened(machine: Machine, grid: _Grid, first: int, second: int) -> tuple[Fold, ...]:
    """The folds of the layers, no wider than what takes the same steps."""
    (moved,) = _moved(grid, first, np.array([second]))
    choice = [second if is_moved else first for is_moved in moved]
    found = []
    for chosen in choice:
        fold = grid.folds[chosen]
        sharing = [y for y, c in zip(machine.layers, choice, strict=True) if c == chosen]
        found.append(
            Fold(
                pe=max(_fewest(layer.nodes, fold.pe) for layer in sharing),
                simd=max(_fewest(layer.inputs, fold.simd) for layer in sharing),
            )
        )
    return tuple(found)


def _fewest(count: int, lanes: int) -> int:
    """The fewest lanes that work through a count in as many steps."""
    steps = -(-count // lanes)
    return -(-count // steps)
