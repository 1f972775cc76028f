"""A model of the plant: linear in all taps, and a polynomial of one or two of them.

It is what a machine of records starts from where validation records say so. Its inputs and outputs
are scaled so that the training range is [-1, 1]; beyond it the polynomial continues. In the machine
the polynomial is a table, between whose entries hardware interpolates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from scm_model import Encoder, Model, TableModel
from scm_model.mechanism import NoMechanism
from scm_model.memory import Memory
from scm_train.sequences.records import Records

__all__ = ["Plant", "Scale", "plant_machine", "plant_rows"]

Floats = NDArray[np.float64]

DEGREE = 3
#: Cells of the table of a polynomial, in each direction, by how many taps it is of.
TABLE_BITS = {1: 6, 2: 4}


@dataclass(frozen=True, eq=False)
class Scale:
    """Training ranges of sources (signals, and outputs behind them), and how far beyond them the
    machine sees and answers, as a share of the range on either side."""

    low: Floats
    high: Floats
    signals: int
    margin: float = 0.0

    @property
    def reach(self) -> float:
        """The end of the machine's range, where that of training is 1."""
        # The training range [-1, 1] is 2 wide, and the margin is a share of that on either side.
        return 1.0 + 2.0 * self.margin

    @property
    def span(self) -> Floats:
        return self.high - self.low

    @property
    def machine_range(self) -> tuple[Floats, Floats]:
        """The ranges of the machine's sources in raw units."""
        return self.low - self.margin * self.span, self.high + self.margin * self.span

    def scaled(self, values: Floats, sources: Sequence[int] | slice) -> Floats:
        return 2.0 * (values - self.low[sources]) / self.span[sources] - 1.0


@dataclass(frozen=True, eq=False)
class Plant:
    """Weights (1 + taps + terms, outputs): of a constant, the taps, and products of ``places``."""

    taps: int
    places: tuple[int, ...]
    weights: Floats

    @cached_property
    def terms(self) -> list[tuple[int, ...]]:
        return terms_of(self.places)

    def values(self, z: Floats) -> Floats:
        return plant_rows(z, self.terms) @ self.weights


def terms_of(places: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The products of taps that a polynomial of these places is made of, beyond the linear."""
    degrees = range(2, DEGREE + 1)
    return [term for degree in degrees for term in combinations_with_replacement(places, degree)]


def plant_rows(z: Floats, terms: Sequence[tuple[int, ...]]) -> Floats:
    """A constant, the taps (..., taps), and products of them, side by side."""
    products = [np.prod(z[..., list(term)], axis=-1) for term in terms]
    return np.concatenate(
        [np.ones((*z.shape[:-1], 1)), z, *(part[..., None] for part in products)], axis=-1
    )


def scaled_taps(records: Records, memory: Memory, scale: Scale) -> tuple[Floats, Floats]:
    """Rows of measured taps with a full history, and their targets, scaled."""
    taps, targets = records.taps(memory)
    sources = [tap.source for tap in memory.taps]
    outputs = targets.reshape(len(targets), -1).astype(np.float64)
    return scale.scaled(taps, sources), scale.scaled(outputs, slice(scale.signals, None))


def plant_machine(plant: Plant, memory: Memory, scale: Scale, targets: Sequence[str],
                  input_bits: int) -> Model:  # fmt: skip
    """The plant as a machine without nodes: linear part, and a table for its polynomial."""
    sources = [tap.source for tap in memory.taps]
    low, high = scale.machine_range
    # From inputs and outputs in [0, 1] of the machine's range to those in [-1, 1] of training's.
    steep, outputs = 2.0 * scale.reach, plant.weights.shape[1]
    linear = plant.weights[1 : 1 + plant.taps]
    answer = 1.0 / steep
    # z = reach (2 x - 1) for an input x in [0, 1]: each tap adds -reach times its weight to the
    # constant. An answer y of [-reach, reach] becomes y / (2 reach) + 1/2.
    constant = plant.weights[0] - scale.reach * linear.sum(axis=0)
    return Model(
        task="regression",
        algorithm="SCM",
        encoder=Encoder("none", input_bits, (), (), None, plant.taps),
        layers=(),
        readout=np.zeros((0, outputs)),
        linear=linear * steep * answer,
        intercept=constant * answer + 0.5,
        input_min=low[sources],
        input_max=high[sources],
        target_min=low[scale.signals :],
        target_max=high[scale.signals :],
        features=memory.names(targets),
        targets=tuple(targets),
        mechanism=_table(plant, scale, input_bits) if plant.places else NoMechanism(),
        memory=memory,
    )


def _table(plant: Plant, scale: Scale, input_bits: int) -> TableModel:
    """The polynomial at equal steps over the machine's range."""
    count = len(plant.places)
    steps = (1 << min(TABLE_BITS[count], input_bits)) + 1
    axis = scale.reach * np.linspace(-1.0, 1.0, steps)
    z = np.zeros((*(steps,) * count, plant.taps))
    for place, values in zip(plant.places, np.meshgrid(*[axis] * count, indexing="ij"),
                             strict=True):  # fmt: skip
        z[..., place] = values
    products = plant_rows(z, plant.terms)[..., 1 + plant.taps :]
    values = products @ plant.weights[1 + plant.taps :] / (2.0 * scale.reach)
    return TableModel(np.array(plant.places, dtype=np.int32), values)
