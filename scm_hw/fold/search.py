"""Which fold: as told, or the fastest that fits the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scm_hw.boards import Device
from scm_hw.errors import FitError, OptionError
from scm_hw.fold.costs import estimate_fold
from scm_hw.fold.machine import FOLDABLE_MECHANISMS, Machine
from scm_hw.fold.plan import Fold, FoldPlan
from scm_hw.load import Model
from scm_hw.schedule import Cost

# Left for placement and routing, which do poorly in a full device.
USABLE_SHARE = 0.8
LANES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
# No unrolled sum of signed bits that we have seen takes less for each connection it adds.
LEAST_LUT_PER_BIT_OF_LEVEL = 0.5


def foldable(model: Model) -> bool:
    """Whether a folded core can be built at all."""
    return bool(model.layers) and model.mechanism.kind in FOLDABLE_MECHANISMS


def within(cost: Cost, device: Device) -> bool:
    """Whether a core leaves the device room to route."""
    pairs: list[tuple[float, int]] = [
        (cost.lut, device.lut),
        (cost.ff, device.ff),
        (cost.dsp, device.dsp),
        (cost.bram36, device.bram36),
    ]
    return all(need <= USABLE_SHARE * have for need, have in pairs)


def surely_too_large(model: Model, device: Device) -> bool:
    """Whether it is no use to try the unrolled form, which takes minutes for large models.

    A node adds up, for each feature it sees, a function of the feature's level: at the least half a
    LUT for each bit that counts the levels.
    """
    bits = model.encoder.bits or (model.input_bits or 1,) * len(model.features)
    weights = np.array([b.bit_length() for b in bits], dtype=np.float64)
    lut = 0.0
    for layer in model.layers:
        if layer.mask is None:
            lut += layer.nodes * weights.sum()
        else:
            lut += float((layer.mask * weights).sum())
        weights = np.ones(layer.nodes)
    return LEAST_LUT_PER_BIT_OF_LEVEL * lut > USABLE_SHARE * device.lut


def plan_fold(
    machine: Machine,
    folds: tuple[Fold, ...],
    *,
    clock_mhz: float,
    grade: str = "1",
    latency: int | None = None,
) -> FoldPlan:
    """A plan as told, refused where it can't meet the clock or the cycles."""
    plan = FoldPlan(machine, folds, 1000.0 / clock_mhz, grade)
    if plan.max_clock_mhz < clock_mhz:
        raise OptionError(
            f"clock must be at most {int(plan.max_clock_mhz * 10) / 10:.1f} MHz for a core folded "
            f"{_named(folds)}, not {clock_mhz:g}; lower --clock or take fewer SIMD lanes"
        )
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
    """The fewest cycles that fit the device at that clock, then the fewest LUTs."""
    plans = [
        plan for plan in _candidates(machine, clock_mhz, grade) if plan.max_clock_mhz >= clock_mhz
    ]
    if not plans:
        # Says what the smallest fold could do.
        return plan_fold(machine, _alike(machine, 1, 1), clock_mhz=clock_mhz, grade=grade)
    fitting = [(plan, cost) for plan in plans if within(cost := estimate_fold(plan), device)]
    if not fitting:
        least = min((estimate_fold(plan) for plan in plans), key=lambda cost: cost.lut)
        raise FitError(
            f"design must fit {device.name} within {USABLE_SHARE:.0%}, not need {least.lut:,} LUT, "
            f"{least.ff:,} FF, {least.dsp} DSP and {least.bram36:g} BRAM36 when folded to the "
            "smallest; take a larger device, or a model with fewer nodes or bits"
        )
    best, _ = min(fitting, key=lambda found: (found[0].latency, found[1].lut))
    _check_latency(best, latency)
    return best


def _candidates(machine: Machine, clock_mhz: float, grade: str) -> Iterator[FoldPlan]:
    """All layers folded alike, so that they share their lanes."""
    for pe in _up_to(max(layer.nodes for layer in machine.layers)):
        for simd in _up_to(max(layer.inputs for layer in machine.layers)):
            yield FoldPlan(machine, _alike(machine, pe, simd), 1000.0 / clock_mhz, grade)


def _up_to(most: int) -> list[int]:
    return [*(lanes for lanes in LANES if lanes < most), min(most, LANES[-1])]


def _alike(machine: Machine, pe: int, simd: int) -> tuple[Fold, ...]:
    return (Fold(pe, simd),) * len(machine.layers)


def _check_latency(plan: FoldPlan, latency: int | None) -> None:
    if latency is not None and plan.latency > latency:
        raise OptionError(
            f"latency must be at least {plan.latency} cycles for a core folded "
            f"{_named(plan.folds)}, not {latency}; allow more cycles or take more lanes"
        )


def _named(folds: tuple[Fold, ...]) -> str:
    return ",".join(map(str, dict.fromkeys(folds)))
