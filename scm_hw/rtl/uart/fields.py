"""Fields of a sample and of a result: their bits, and what their integers stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Feature:
    """An input: the code of `bits` bits that `low` to `high` are cut into.

    That is the training range, or the range of a `sensor` whose integer it is.
    """

    name: str
    bits: int
    low: float
    high: float
    sensor: bool = False


@dataclass(frozen=True)
class Word:
    """A mechanism from outside, scaled to [0, 1] over the target's range, in fixed point."""

    name: str
    bits: int
    fraction: int
    least: int
    most: int
    low: float
    high: float


@dataclass(frozen=True)
class Output:
    """A target, scaled to [0, 1] over its range, in fixed point; or the index of a class."""

    name: str
    bits: int
    signed: bool
    fraction: int
    low: float
    high: float


@dataclass(frozen=True)
class Reload:
    """What an upload must agree with: the digest, and the bits of the entries of an output's first
    table and of its others."""

    digest: str
    widths: tuple[int, int]


@dataclass(frozen=True)
class Adapt:
    """How the readout learns: the step and the leak as negative exponents of two, and how many
    samples ago the sample of a target may have been."""

    step: int
    leak: int | None
    most_age: int


def codes_of(port: Feature, column: Floats) -> Integers:
    """The same operations in the same order as the model's own."""
    top = (1 << port.bits) - 1
    span = port.high - port.low
    # Far beyond the range is infinite, and cut off as well.
    with np.errstate(over="ignore"):
        scaled = (column - port.low) / span if span > 0 else np.zeros_like(column)
        return np.clip(np.floor(scaled * (top + 1)), 0, top).astype(np.int64)


def words_of(port: Word, column: Floats) -> Integers:
    with np.errstate(over="ignore"):
        scaled = np.rint((column - port.low) / (port.high - port.low) * 2.0**port.fraction)
    return np.clip(scaled, port.least, port.most).astype(np.int64)
