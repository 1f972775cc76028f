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

from scm_hw.boards import Device
from scm_hw.fold.costs import pe_cost, rom_luts
from scm_hw.fold.machine import Machine
from scm_hw.fold.plan import BLOCK_DEPTH, Fold, FoldPlan
from scm_hw.target import TECHNOLOGIES, Technology

Numbers = NDArray[np.int64]

# Steps of an eighth to a quarter.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112)
GRID += (128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024)


def foldings(
    machine: Machine, device: Device, share: float, period_ns: float, grade: str
) -> Iterator[tuple[int, tuple[Fold, ...]]]:
    """Cycles of the layers and their folds, fewest cycles first, each with fewer lanes than before.

    What can't fit within that share of the device is left out.
    """
    table = _table(machine, period_ns, grade)
    pairs = _pairs(table, device, share)
    order = np.lexsort((pairs.lanes, pairs.cycles))
    fewest = np.iinfo(np.int64).max
    for i in order:
        if pairs.lanes[i] >= fewest:
            continue
        fewest = pairs.lanes[i]
        folds = _tightened(machine, table, int(pairs.first[i]), int(pairs.second[i]))
        yield int(pairs.cycles[i]), folds


@dataclass(frozen=True, eq=False)
class _Table:
    """The folds of the grid, and what each would be for each layer."""

    folds: list[Fold]
    lanes: Numbers
    steps: Numbers
    cycles: Numbers
    lut: Numbers
    ff: Numbers
    # Lanes of the first layer are its own where it reads codes.
    apart: bool
    tech: Technology


def _table(machine: Machine, period_ns: float, grade: str) -> _Table:
    layers = machine.layers
    most_pe, most_simd = (
        max(sizes) for sizes in zip(*((y.nodes, y.inputs) for y in layers), strict=True)
    )
    folds = [Fold(pe, simd) for pe in _up_to(most_pe) for simd in _up_to(most_simd)]
    pe, simd = (np.array(sizes) for sizes in zip(*((f.pe, f.simd) for f in folds), strict=True))
    nodes, inputs = (np.array(s) for s in zip(*((y.nodes, y.inputs) for y in layers), strict=True))
    steps = _over(nodes, pe[:, None]) * _over(inputs, simd[:, None])
    plans = {s: _alike(machine, Fold(1, s), period_ns, grade) for s in set(simd.tolist())}
    drains = {s: [plan.layer_drain(k) for k in range(len(layers))] for s, plan in plans.items()}
    each = {s: pe_cost(plan, [len(layers) - 1]) for s, plan in plans.items()}
    return _Table(
        folds,
        pe * simd,
        steps,
        steps + np.array([drains[s] for s in simd.tolist()]),
        pe * np.array([each[s].lut for s in simd.tolist()]),
        pe * np.array([each[s].ff for s in simd.tolist()]),
        apart=layers[0].lane_bits > 1,
        tech=TECHNOLOGIES[grade],
    )


def _over(sizes: Numbers, lanes: Numbers) -> Numbers:
    return -(-sizes // lanes)


def _alike(machine: Machine, fold: Fold, period_ns: float, grade: str) -> FoldPlan:
    return FoldPlan(machine, (fold,) * len(machine.layers), period_ns, grade)


def _up_to(most: int) -> list[int]:
    return [*(lanes for lanes in GRID if lanes < most), min(most, GRID[-1])]


@dataclass(frozen=True, eq=False)
class _Pairs:
    first: Numbers
    second: Numbers
    cycles: Numbers
    lanes: Numbers


def _pairs(table: _Table, device: Device, share: float) -> _Pairs:
    """Those that fit; the second of a pair is never worse for a layer of its own than the first."""
    possible = np.flatnonzero((table.lut <= share * device.lut) & (table.ff <= share * device.ff))
    rows = [_with(table, int(i), possible, device, share) for i in possible]
    found = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
    return _Pairs(*found)


def _with(
    table: _Table, first: int, seconds: Numbers, device: Device, share: float
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """One fold beside every other; beside itself it is alone."""
    layers = table.cycles.shape[1]
    alone = seconds == first
    if table.apart:
        moved = np.broadcast_to(np.arange(layers) > 0, (len(seconds), layers))
    else:
        moved = table.cycles[seconds] < table.cycles[first]
    cycles = np.where(moved, table.cycles[seconds], table.cycles[first]).sum(axis=1)
    used = moved.any(axis=1)
    depth1 = (table.steps[first] * ~moved).sum(axis=1)
    depth2 = (table.steps[seconds] * moved).sum(axis=1)
    lanes1 = np.where(depth1 > 0, table.lanes[first], 0)
    lanes2 = np.where(used, table.lanes[seconds], 0)
    lut = np.where(depth1 > 0, table.lut[first], 0) + np.where(used, table.lut[seconds], 0)
    tech = table.tech
    lut += _roms(lanes1, depth1, tech) + _roms(lanes2, depth2, tech)
    blocks = _blocks(lanes1, depth1, tech) + _blocks(lanes2, depth2, tech)
    fits = (lut <= share * device.lut) & (blocks / tech.blocks_per_unit <= share * device.bram)
    fits &= lanes1 + lanes2 <= share * device.ff
    # Sharing all layers or none of them is a single fold, which comes by itself.
    fits &= alone | (used & (depth1 > 0))
    kept = np.flatnonzero(fits)
    return np.full(len(kept), first), seconds[kept], cycles[kept], (lanes1 + lanes2)[kept]


def _roms(width: Numbers, depth: Numbers, tech: Technology) -> Numbers:
    return np.where(depth <= BLOCK_DEPTH, width * rom_luts(depth, tech), 0)


def _blocks(width: Numbers, depth: Numbers, tech: Technology) -> Numbers:
    shapes = [_over(width, np.int64(w)) * _over(depth, np.int64(d)) for w, d in tech.blocks]
    return np.where(depth > BLOCK_DEPTH, np.min(shapes, axis=0), 0)


def _tightened(machine: Machine, table: _Table, first: int, second: int) -> tuple[Fold, ...]:
    """The folds of the layers, no wider than what takes the same steps."""
    choice = [
        second if second_is_faster else first for second_is_faster in _moved(table, first, second)
    ]
    found = []
    for chosen in choice:
        fold = table.folds[chosen]
        sharing = [y for y, c in zip(machine.layers, choice, strict=True) if c == chosen]
        pe = max(-(-y.nodes // -(-y.nodes // fold.pe)) for y in sharing)
        simd = max(-(-y.inputs // -(-y.inputs // fold.simd)) for y in sharing)
        found.append(Fold(pe, simd))
    return tuple(found)


def _moved(table: _Table, first: int, second: int) -> list[bool]:
    if table.apart:
        return [k > 0 for k in range(table.cycles.shape[1])]
    return [bool(b < a) for a, b in zip(table.cycles[first], table.cycles[second], strict=True)]
