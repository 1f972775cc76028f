"""Rolling theory shared by the simulated mills. Lengths in mm, stresses in MPa, forces in kN."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "contact_length",
    "flattened_radius",
    "misaka_flow_stress",
    "orowan_pascoe_factor",
    "rolling_force",
    "sims_factor",
    "strain_rate",
]

Floats = NDArray[np.float64]

KELVIN = 273.15
PLANE_STRAIN = 2.0 / np.sqrt(3.0)
HITCHCOCK = 16.0 * (1.0 - 0.3**2) / (np.pi * 2.06e5)  # 1/MPa, steel rolls
LEAST_DRAFT = 1e-3  # mm; keeps the formulae defined where a pass hardly reduces


def misaka_flow_stress(carbon: Floats, celsius: Floats, strain: Floats, rate: Floats) -> Floats:
    """Misaka and Yoshimoto's mean flow stress of carbon steel; `carbon` in percent by weight."""
    kelvin = celsius + KELVIN
    exponent = (
        0.126
        - 1.75 * carbon
        + 0.594 * carbon**2
        + (2851.0 + 2968.0 * carbon - 1120.0 * carbon**2) / kelvin
    )
    # The formula is in kgf/mm^2, which are 9.80665 MPa.
    return 9.80665 * np.exp(exponent) * strain**0.21 * rate**0.13


def contact_length(radius: Floats, entry: Floats, exit: Floats) -> Floats:
    return np.sqrt(radius * np.maximum(entry - exit, LEAST_DRAFT))


def strain_rate(speed: Floats, radius: Floats, entry: Floats, exit: Floats) -> Floats:
    """Mean rate in the gap, 1/s; `speed` of the roll surface in m/s."""
    return 1e3 * speed / contact_length(radius, entry, exit) * np.log(entry / exit)


def sims_factor(radius: Floats, entry: Floats, exit: Floats) -> Floats:
    """Sims's geometric factor for sticking friction; about pi/4 where the arc is short."""
    reduction = np.maximum(entry - exit, LEAST_DRAFT) / entry
    ratio = np.sqrt(reduction / (1.0 - reduction))
    slender = np.sqrt(radius / exit)
    neutral = np.tan(np.pi / 8.0 / slender * np.log1p(-reduction) + 0.5 * np.arctan(ratio))
    neutral_height = np.log1p(neutral**2)
    return (
        0.5 * np.pi / ratio * np.arctan(ratio)
        - 0.25 * np.pi
        - slender / ratio * (neutral_height + 0.5 * np.log1p(-reduction))
    )


def orowan_pascoe_factor(radius: Floats, entry: Floats, exit: Floats) -> Floats:
    """The simplified factor of Orowan and Pascoe, linear in arc over mean thickness."""
    return 0.25 * (np.pi + contact_length(radius, entry, exit) / (0.5 * (entry + exit)))


def flattened_radius(
    radius: Floats | float, force_per_width: Floats, entry: Floats, exit: Floats
) -> Floats:
    """Hitchcock's radius of the loaded roll; `force_per_width` in kN/mm."""
    # c = 16 (1 - nu^2) / (pi E): R' = R (1 + c F / (w draft)).
    draft = np.maximum(entry - exit, LEAST_DRAFT)
    return radius * (1.0 + HITCHCOCK * 1e3 * force_per_width / draft)


def rolling_force(
    flow_stress: Floats,
    width: Floats,
    radius: Floats | float,
    entry: Floats,
    exit: Floats,
    factor: Callable[[Floats, Floats, Floats], Floats] = sims_factor,
    flattening_rounds: int = 4,
) -> Floats:
    """Force of one pass in kN; 0 flattening rounds is a rigid roll."""
    arc_radius = np.broadcast_to(np.asarray(radius, dtype=np.float64), np.shape(entry))
    rigid = arc_radius
    # Force and flattened radius depend on each other: a fixed point, from the rigid roll on.
    for remaining in range(flattening_rounds, -1, -1):
        pressure = PLANE_STRAIN * flow_stress * factor(arc_radius, entry, exit)
        per_width = 1e-3 * pressure * contact_length(arc_radius, entry, exit)
        if remaining:
            arc_radius = flattened_radius(rigid, per_width, entry, exit)
    return per_width * width
