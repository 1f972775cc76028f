"""Simulation of a plate mill's rolling force, standing in for the paper's private data set I-DB3.

The mechanism is what a set-up computer would use: textbook flow stress of carbon steel, rigid
rolls, the measured temperature. The plant hardens with its alloy, flattens its rolls, is colder at
its surface and its edges than the pyrometer says, and rolls the ends that plan view pattern control
has thickened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.datasets import rolling_theory
from scm_train.datasets.dataset import Dataset

__all__ = ["NominalRollingForce", "PlateMill", "load_rolling_force_sim"]

ROWS, TRAIN_ROWS = 6000, 5400
ELEMENTS = ("C", "Si", "Mn", "Cr", "Ni", "V", "Nb")
FEATURES = (
    "entry_thickness",
    "exit_thickness",
    "width",
    "speed",
    "temperature",
    *ELEMENTS,
    "pvpc_depth",
    "pvpc_share",
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NominalRollingForce:
    """Mechanism P0: Misaka's flow stress and Orowan and Pascoe's factor on rigid rolls.

    Maps raw rows of `rolling_force_sim` to force in kN. Only carbon of the seven elements counts,
    and plan view pattern control does not.
    """

    roll_radius: float = 550.0

    def __call__(self, X: NDArray) -> Floats:
        entry, exit, width, speed, celsius, carbon = np.asarray(X, dtype=np.float64).T[:6]
        rate = rolling_theory.strain_rate(speed, self.roll_radius, entry, exit)
        strain = rolling_theory.PLANE_STRAIN * np.log(entry / exit)
        stress = rolling_theory.misaka_flow_stress(carbon, celsius, strain, rate)
        return rolling_theory.rolling_force(
            stress,
            width,
            self.roll_radius,
            entry,
            exit,
            factor=rolling_theory.orowan_pascoe_factor,
            flattening_rounds=0,
        )


@dataclass(frozen=True)
class PlateMill:
    """The plant as it is: what the nominal formula does not know."""

    roll_radius: float = 540.0  # worn and ground
    alloy: tuple[float, ...] = (0.0, 0.05, 0.18, 0.07, 0.02, 0.9, 3.2)
    """Hardening per percent of each element, over carbon's own part."""
    alloy_base: float = 0.916
    retained: float = 0.35  # of the last pass's strain, at the cold end, in full niobium
    retained_from: float = 980.0  # degrees Celsius, below which strain is retained
    surface_loss: float = 28.0  # degrees at 20 mm, inversely with thickness
    edge_loss: float = 55.0  # degrees at the very edge
    edge_width: float = 120.0  # mm over which the edge is cold
    friction_loss: float = 0.035  # of the factor, per m/s of speed
    scatter: float = 0.006  # relative, from pass to pass
    sensor_noise: float = 60.0  # kN

    def force(self, X: Floats) -> Floats:
        """Force without scatter and noise, kN: body and thickened ends, centre and edges."""
        depth, share = X[:, -2], X[:, -1]
        body = self._pass_force(X, X[:, 0])
        ends = self._pass_force(X, X[:, 0] + depth)
        return (1.0 - share) * body + share * ends

    def measured(self, X: Floats, rng: np.random.Generator) -> Floats:
        scatter, noise = rng.standard_normal((2, len(X)))
        return self.force(X) * (1.0 + self.scatter * scatter) + self.sensor_noise * noise

    def _pass_force(self, X: Floats, entry: Floats) -> Floats:
        width = X[:, 2]
        edges = np.minimum(2.0 * self.edge_width / width, 1.0)
        centre_stress = self._flow_stress(X, entry, 0.0)
        edge_stress = self._flow_stress(X, entry, 0.5 * self.edge_loss)
        stress = (1.0 - edges) * centre_stress + edges * edge_stress
        lubricated = 1.0 - self.friction_loss * X[:, 3]
        return rolling_theory.rolling_force(
            stress * lubricated, width, self.roll_radius, entry, X[:, 1]
        )

    def _flow_stress(self, X: Floats, entry: Floats, colder: float) -> Floats:
        exit, speed, celsius, carbon = X[:, 1], X[:, 3], X[:, 4], X[:, 5]
        body = celsius - self.surface_loss * 20.0 / (entry + 10.0) - colder
        rate = rolling_theory.strain_rate(speed, self.roll_radius, entry, exit)
        strain = rolling_theory.PLANE_STRAIN * np.log(entry / exit) + self._retained_strain(X, body)
        hardening = self.alloy_base + X[:, 5:12] @ np.asarray(self.alloy)
        return hardening * rolling_theory.misaka_flow_stress(carbon, body, strain, rate)

    def _retained_strain(self, X: Floats, body: Floats) -> Floats:
        # Niobium stops recrystallisation in the cold passes: strain is carried over.
        cold = 1.0 / (1.0 + np.exp((body - self.retained_from) / 25.0))
        return self.retained * cold * np.minimum(X[:, 11] / 0.03, 1.0)


def load_rolling_force_sim(seed: int = 0) -> Dataset:
    """Passes of many plates through the simulated mill, and its nominal formula as mechanism."""
    rng = np.random.default_rng(seed)
    X = _passes(ROWS, rng)
    return Dataset(
        name="rolling_force_sim",
        X=X,
        y=PlateMill().measured(X, rng),
        feature_names=FEATURES,
        target_names=("force",),
        task="regression",
        description="simulation of a plate mill, of I-DB3's shape: rolling force (kN), with a "
        "nominal force formula as its mechanism",
        simulated=True,
        train_rows=TRAIN_ROWS,
        mechanism=NominalRollingForce(),
    )


def _passes(rows: int, rng: np.random.Generator) -> Floats:
    """Schedules as plates see them: thinner is colder, faster and reduced by more."""
    entry = np.exp(rng.uniform(np.log(12.0), np.log(180.0), rows))
    thin = 1.0 - np.log(entry / 12.0) / np.log(15.0)
    reduction = np.clip(rng.normal(0.12 + 0.07 * thin, 0.035), 0.04, 0.32)
    exit = entry * (1.0 - reduction)
    width = rng.uniform(1600.0, 4200.0, rows)
    speed = np.clip(rng.normal(2.2 + 2.6 * thin, 0.5), 1.0, 6.0)
    celsius = rng.normal(1090.0 - 190.0 * thin, 28.0)
    # Pattern control acts on thick passes of the broadside stage, and only for some plates.
    patterned = (rng.random(rows) < 0.5) * (entry > 40.0)
    depth = patterned * rng.uniform(0.5, 4.0, rows)
    share = patterned * rng.uniform(0.05, 0.4, rows)
    return np.column_stack(
        [entry, exit, width, speed, celsius, _chemistry(rows, rng), depth, share]
    )


def _chemistry(rows: int, rng: np.random.Generator) -> Floats:
    """Percent by weight of `ELEMENTS`: three families of steel with a scatter from heat to heat."""
    families = np.array(
        [
            [0.16, 0.20, 0.70, 0.03, 0.02, 0.002, 0.002],  # structural
            [0.14, 0.30, 1.45, 0.05, 0.15, 0.030, 0.025],  # high strength
            [0.06, 0.22, 1.65, 0.20, 0.25, 0.010, 0.045],  # pipeline
        ]
    )
    mean = families[rng.integers(len(families), size=rows)]
    return mean * np.clip(rng.normal(1.0, 0.15, mean.shape), 0.5, 1.5)
