"""Simulation of a hot strip mill's exit thickness, standing in for the paper's private I-DB1.

Eight stands in tandem. In each the strip leaves with the thickness at which the force it takes and
the stretch of the stand agree (the gauge-meter equation), and enters the next with it. Rolls wear
and grow warm over a campaign of strips, and are changed at its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.datasets import rolling_theory
from scm_train.datasets.dataset import Dataset

__all__ = ["STANDS", "TARGET_THICKNESSES", "StripMill", "Strips", "load_rolling_thickness_sim"]

ROWS, TRAIN_ROWS = 3163, 2863
STANDS = 8
TARGET_THICKNESSES = (1.6, 1.8, 2.0, 2.3, 2.6, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0)


def _per_stand(signal: str) -> tuple[str, ...]:
    return tuple(f"{signal}_{stand}" for stand in range(1, STANDS + 1))


FEATURES = (
    *_per_stand("gap"),
    "entry_thickness",
    "entry_temperature",
    "exit_temperature",
    "width",
    *_per_stand("force"),
    *_per_stand("speed"),
    *_per_stand("wear"),
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StripMill:
    """Mill and sensors; mm, kN, m/s, degrees Celsius. Tuples run from the first stand to the last.

    The set-up computer knows `modulus` and `wear_rate` as they stand here, and neither the stand's
    bedding, nor how much softer a narrow strip makes it, nor the rolls' own growth and wear.
    """

    radius: tuple[float, ...] = (400.0, 400.0, 400.0, 400.0, 350.0, 350.0, 350.0, 350.0)
    share: tuple[float, ...] = (0.19, 0.175, 0.155, 0.135, 0.115, 0.095, 0.075, 0.06)
    """Of the logarithmic reduction, per stand."""
    carbon: float = 0.08
    retained_from: float = 930.0  # degrees, below which strain outlasts the way to the next stand
    modulus: float = 5200.0  # kN/mm at full width
    zero_force: float = 12_000.0  # kN with which the gaps were set to 0
    full_width: float = 1700.0
    narrow_loss: float = 0.25  # of the modulus, per unit of missing width
    bedding: float = 0.25  # mm that a stand gives before it is tight
    bedding_force: float = 4000.0
    campaign: int = 90  # strips between roll changes
    wear_rate: float = 8e-7  # mm per kN/mm and m of strip
    wear_spread: float = 0.12  # of the true rate, from campaign to campaign
    growth: float = 0.10  # mm of warm rolls
    growth_strips: float = 18.0
    strip_length: float = 700.0  # m at 2 mm

    gap_scatter: float = 0.004  # of the thickness, by hand and by control
    gap_noise: float = 0.002
    force_noise: float = 0.003
    speed_noise: float = 0.001
    temperature_noise: float = 4.0
    gauge_noise: float = 0.0006


@dataclass(frozen=True)
class Strips:
    """What is rolled, (n,) each; `order` counts strips since the rolls were changed."""

    target: Floats
    entry: Floats
    width: Floats
    entry_temperature: Floats
    exit_temperature: Floats
    exit_speed: Floats
    campaign: NDArray[np.integer]
    order: NDArray[np.integer]


def load_rolling_thickness_sim(seed: int = 0) -> Dataset:
    """Strips of twelve target thicknesses; rows shuffled, training rows first."""
    mill, rng = StripMill(), np.random.default_rng(seed)
    X, y = _roll(mill, _strips(mill, ROWS, rng), rng)
    order = rng.permutation(ROWS)
    return Dataset(
        name="rolling_thickness_sim",
        X=X[order],
        y=y[order],
        feature_names=FEATURES,
        target_names=("thickness",),
        task="regression",
        description="simulation of an eight-stand hot strip mill, of I-DB1's shape: exit "
        "thickness (mm) of strips with 12 target thicknesses",
        simulated=True,
        train_rows=TRAIN_ROWS,
    )


def _strips(mill: StripMill, rows: int, rng: np.random.Generator) -> Strips:
    target = rng.choice(TARGET_THICKNESSES, rows)
    entry_temperature = rng.normal(1045.0, 14.0, rows)
    exit_speed = 10.5 * (target / 1.6) ** -0.45 * rng.normal(1.0, 0.04, rows)
    # A slow strip is longer on its way, and a thin one cools faster.
    cooling = 150.0 * (exit_speed / 8.0) ** -0.6 * (target / 2.5) ** -0.25
    return Strips(
        target=target,
        entry=rng.normal(31.0 + 1.2 * target, 0.6),
        width=rng.uniform(900.0, 1650.0, rows),
        entry_temperature=entry_temperature,
        exit_temperature=entry_temperature - cooling + rng.normal(0.0, 5.0, rows),
        exit_speed=exit_speed,
        campaign=np.arange(rows) // mill.campaign,
        order=np.arange(rows) % mill.campaign,
    )


def _roll(mill: StripMill, strips: Strips, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Measured inputs (n, 36) and measured exit thickness (n,)."""
    planned = _schedule(mill, strips)
    speed = (strips.exit_speed * strips.target)[:, None] / planned[:, 1:]
    planned_force = _planned_forces(mill, strips, planned, speed)
    wear = _computed_wear(mill, strips, planned_force)
    gap = planned[:, 1:] - (planned_force - mill.zero_force) / mill.modulus - wear
    gap += mill.gap_scatter * planned[:, 1:] * rng.standard_normal(gap.shape)
    opening = _true_opening(mill, strips, wear, rng)
    force, thickness = _tandem(mill, strips, gap + opening, speed)
    # The rolls follow the strip: mass flow is what it is at the last stand.
    true_speed = (strips.exit_speed * thickness[:, -1])[:, None] / thickness
    X = np.column_stack(
        [
            gap + mill.gap_noise * rng.standard_normal(gap.shape),
            strips.entry,
            _noisy(strips.entry_temperature, mill.temperature_noise, rng),
            _noisy(strips.exit_temperature, mill.temperature_noise, rng),
            strips.width,
            force * _noisy(np.ones_like(force), mill.force_noise, rng),
            true_speed * _noisy(np.ones_like(force), mill.speed_noise, rng),
            wear,
        ]
    )
    return X, thickness[:, -1] * _noisy(np.ones(len(force)), mill.gauge_noise, rng)


def _noisy(values: Floats, size: float, rng: np.random.Generator) -> Floats:
    return values + size * rng.standard_normal(values.shape)


def _schedule(mill: StripMill, strips: Strips) -> Floats:
    """Planned thickness before the first stand and after each, (n, 9)."""
    done = np.concatenate([[0.0], np.cumsum(mill.share)])
    return strips.entry[:, None] * (strips.target / strips.entry)[:, None] ** done


def _temperature(strips: Strips, stand: int) -> Floats:
    way = (stand + 0.5) / STANDS
    return (1.0 - way) * strips.entry_temperature + way * strips.exit_temperature


def _force(
    mill: StripMill, strips: Strips, stand: int, entry: Floats, exit: Floats, speed: Floats
) -> Floats:
    """Force of one stand by Sims's theory with flattened rolls."""
    radius, celsius = mill.radius[stand], _temperature(strips, stand)
    strain = rolling_theory.PLANE_STRAIN * np.log(entry / exit)
    retained = 0.4 / (1.0 + np.exp((celsius - mill.retained_from) / 15.0))
    stress = rolling_theory.misaka_flow_stress(
        mill.carbon,
        celsius,
        strain + retained,
        rolling_theory.strain_rate(speed, radius, entry, exit),
    )
    return rolling_theory.rolling_force(stress, strips.width, radius, entry, exit)


def _planned_forces(mill: StripMill, strips: Strips, planned: Floats, speed: Floats) -> Floats:
    stands = range(STANDS)
    return np.column_stack(
        [_force(mill, strips, s, planned[:, s], planned[:, s + 1], speed[:, s]) for s in stands]
    )


def _computed_wear(mill: StripMill, strips: Strips, force: Floats) -> Floats:
    """The wear model's mm at each strip: force per width times length, summed since the change."""
    length = mill.strip_length * 2.0 / strips.target
    rubbed = mill.wear_rate * force / strips.width[:, None] * length[:, None]
    # Sums over all strips, less those at the last change of rolls.
    before = np.cumsum(rubbed, axis=0) - rubbed
    first = np.flatnonzero(strips.order == 0)
    return before - before[first][strips.campaign]


def _true_opening(
    mill: StripMill, strips: Strips, wear: Floats, rng: np.random.Generator
) -> Floats:
    """What worn and warm rolls really add to the gap."""
    campaigns = strips.campaign[-1] + 1
    rate = 1.0 + mill.wear_spread * rng.standard_normal((campaigns, STANDS))
    warm = -np.expm1(-strips.order / mill.growth_strips)
    heat = warm * (strips.entry_temperature - 700.0) / 345.0
    return wear * rate[strips.campaign] - mill.growth * heat[:, None]


def _stretch(mill: StripMill, strips: Strips, force: Floats) -> Floats:
    """How far a stand opens beyond the gap it shows, which is 0 under `zero_force`."""
    missing = 1.0 - strips.width / mill.full_width
    modulus = mill.modulus * (1.0 - mill.narrow_loss * missing)
    tight = -mill.bedding * np.exp(-force / mill.bedding_force)
    return force / modulus - mill.zero_force / mill.modulus + tight


def _tandem(
    mill: StripMill, strips: Strips, unloaded: Floats, speed: Floats
) -> tuple[Floats, Floats]:
    """Force and exit thickness of every stand, (n, 8) each, for the unloaded gaps given."""
    force, thickness = np.empty_like(unloaded), np.empty_like(unloaded)
    entry = strips.entry
    for stand in range(STANDS):
        exit = _exit_thickness(mill, strips, stand, unloaded[:, stand], entry, speed[:, stand])
        force[:, stand] = _force(mill, strips, stand, entry, exit, speed[:, stand])
        thickness[:, stand] = entry = exit
    return force, thickness


def _exit_thickness(
    mill: StripMill, strips: Strips, stand: int, unloaded: Floats, entry: Floats, speed: Floats
) -> Floats:
    """Bisection on `h = gap + stretch(F(h))`: the right side falls as `h` rises."""
    low, high = 0.3 * entry, 0.999 * entry
    # 2^-40 of the entry thickness is far below the gauge's noise.
    for _ in range(40):
        middle = 0.5 * (low + high)
        force = _force(mill, strips, stand, entry, middle, speed)
        too_thin = middle < unloaded + _stretch(mill, strips, force)
        low, high = np.where(too_thin, middle, low), np.where(too_thin, high, middle)
    return 0.5 * (low + high)
