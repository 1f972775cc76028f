"""Which fold: as given, or the fastest that fits the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from scm_hw.errors import FitError, OptionError
from scm_hw.fold.candidates import foldings
from scm_hw.fold.costs import estimate_fold
from scm_hw.fold.folds import Fold
from scm_hw.fold.machine import Machine
from scm_hw.fold.plan import FoldPlan
from scm_hw.load import FixedPoint, Model
from scm_hw.schedule import Cost
from scm_hw.target.devices import Device
from scm_hw.target.resources import USABLE_SHARE, within

# Cycles that are not worth more lanes.
NEARLY_EQUAL = 1.03
MOST_READOUT_LANES = 64
# Some of the smallest cores for any model.
SMALL = (Fold(1, 1), Fold(1, 4), Fold(1, 16), Fold(4, 16), Fold(8, 32))
# What an unrolled sum of signed bits takes at the least for each connection it adds. With sub-sums
# in common it may be 0.3, but such a core as large as a device is too much Verilog for simulators.
LEAST_LUT_PER_BIT_OF_LEVEL = 0.5
# No LUT looks at more nodes than these for one bit of what they add to an output.
MOST_NODES_PER_LUT = 6


def foldable(model: Model) -> bool:
    """Whether a folded core can be built at all: from plain nodes whose bits don't leave it."""
    whole = model.flags is None and not model.bits
    return bool(model.layers) and model.families is None and whole


def surely_too_large(model: Model, fixed: FixedPoint, device: Device) -> bool:
    """Whether it is pointless to try the unrolled form, which takes a minute for large models.

    A node adds up, for each feature it sees, a function of the feature's level: at the least half a
    LUT for each bit that counts the levels. The readout looks up what some nodes add, bit by bit.
    """
    bits = model.encoder.bits or (model.input_bits or 1,) * len(model.features)
    weights = np.array([b.bit_length() for b in bits], dtype=np.float64)
    added = 0.0
    for layer in model.layers:
        if layer.mask is None:
            added += layer.nodes * weights.sum()
        else:
            added += float((layer.mask * weights).sum())
        weights = np.ones(layer.nodes)
    looked_up = float(np.frexp(np.abs(fixed.readout).astype(np.float64))[1].sum())
    lut = LEAST_LUT_PER_BIT_OF_LEVEL * added + looked_up / MOST_NODES_PER_LUT
    return bool(lut > USABLE_SHARE * device.lut)


def plan_fold(
    machine: Machine,
    folds: tuple[Fold, ...],
    *,
    clock_mhz: float,
    grade: str = "1",
    latency: int | None = None,
) -> FoldPlan:
    """The plan for given folds, refused where it can't meet the clock or the cycles."""
    plans = list(_readouts(FoldPlan(machine, folds, 1000.0 / clock_mhz, grade)))
    fewest = min(plan.latency for plan in plans)
    # Plans come with the fewest readout lanes first.
    plan = next(plan for plan in plans if plan.latency <= NEARLY_EQUAL * fewest)
    _check_clock(plan, clock_mhz)
    _check_latency(plan, latency)
    return plan


def fastest_plan(
    machine: Machine,
    device: Device,
    *,
    clock_mhz: float,
    grade: str = "1",
    latency: int | None = None,
) -> FoldPlan:
    """The fewest cycles that fit the device; of nearly equal ones the fewest lanes."""
    period = 1000.0 / clock_mhz
    _check_clock(FoldPlan(machine, _alike(machine, SMALL[0]), period, grade), clock_mhz)
    fitting: list[tuple[FoldPlan, Cost]] = []
    fewest = 0
    for cycles, folds in foldings(machine, device, USABLE_SHARE, period, grade):
        # Candidates come with the fewest cycles first, so no later one is near enough.
        if fitting and cycles > NEARLY_EQUAL * fewest:
            break
        fitting += _fitting(FoldPlan(machine, folds, period, grade), device)
        fewest = min((plan.latency for plan, _ in fitting), default=0)
    # The grid is weighed roughly; before a refusal the smallest cores are costed in full.
    for fold in SMALL if not fitting else ():
        fitting += _fitting(FoldPlan(machine, _alike(machine, fold), period, grade), device)
    if not fitting:
        _refuse(machine, device, period, grade)
    fewest = min(plan.latency for plan, _ in fitting)
    most = NEARLY_EQUAL * fewest if latency is None else max(latency, fewest)
    nearly = [found for found in fitting if found[0].latency <= min(most, NEARLY_EQUAL * fewest)]
    best, _ = min(nearly, key=lambda found: (found[0].lanes, found[1].lut, found[0].latency))
    _check_latency(best, latency)
    return best


def _fitting(plan: FoldPlan, device: Device) -> list[tuple[FoldPlan, Cost]]:
    return [
        (chosen, cost)
        for chosen in _readouts(plan)
        if within(cost := estimate_fold(chosen), device)
    ]


def _readouts(plan: FoldPlan) -> Iterator[FoldPlan]:
    """The plan with more and more lanes for the readout."""
    lanes, most = 1, min(MOST_READOUT_LANES, max(fold.pe for fold in plan.folds))
    while lanes <= most:
        yield replace(plan, readout_lanes=lanes)
        lanes *= 2


def _refuse(machine: Machine, device: Device, period: float, grade: str) -> None:
    plans = [FoldPlan(machine, _alike(machine, fold), period, grade) for fold in SMALL]
    least = min((estimate_fold(plan) for plan in plans), key=lambda cost: cost.lut)
    raise FitError(
        f"design must fit {device.name} within {USABLE_SHARE:.0%}, not need {least.lut:,} LUT, "
        f"{least.ff:,} FF, {least.dsp} DSP and {least.bram:g} {device.block} when folded to the "
        "smallest; take a larger device, or a model with fewer nodes or bits"
    )


def _alike(machine: Machine, fold: Fold) -> tuple[Fold, ...]:
    return (fold,) * len(machine.layers)


def _check_clock(plan: FoldPlan, clock_mhz: float) -> None:
    if plan.max_clock_mhz < clock_mhz:
        raise OptionError(
            f"clock must be at most {int(plan.max_clock_mhz * 10) / 10:.1f} MHz for a core folded "
            f"{_named(plan.folds)}, not {clock_mhz:g}; lower --clock"
        )


def _check_latency(plan: FoldPlan, latency: int | None) -> None:
    if latency is not None and plan.latency > latency:
        raise OptionError(
            f"latency must be at least {plan.latency} cycles for a core folded "
            f"{_named(plan.folds)}, not {latency}; allow more cycles or take more lanes"
        )


def _named(folds: tuple[Fold, ...]) -> str:
    return ",".join(map(str, dict.fromkeys(folds)))
