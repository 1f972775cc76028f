"""Mechanism models P0, what is known of the plant before any learning, as prediction adds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scm_model.arguments import ByName, Function, by_name
from scm_model.errors import DataError, ParameterError, ScmError
from scm_model.scaling import Floats, to_unit

__all__ = [
    "ExternalModel",
    "Mechanism",
    "NoMechanism",
    "PolynomialModel",
    "TableModel",
    "call_mechanism",
    "interpolate",
    "monomials",
]


class Mechanism:
    """A mechanism model, bound to the ranges of inputs and targets."""

    kind: ClassVar[str]
    #: Largest difference seen to the callable it stands for, in normalised units; None if exact.
    worst_error: float | None = None

    def values(self, X: NDArray[Any], x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        """Return P0 in normalised target units (n, m).

        ``X`` are raw inputs; ``x`` the same rows as the machine sees them, ``x_q`` or ``x_norm``.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class NoMechanism(Mechanism):
    """P0 = 0 in normalised units."""

    kind: ClassVar[str] = "none"

    def values(self, X: NDArray[Any], x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        return np.zeros((len(x), len(target_min)))


@dataclass(frozen=True, eq=False)
class ExternalModel(Mechanism):
    """P0 from a callable, or, in a model loaded without one, given row by row."""

    kind: ClassVar[str] = "external"
    #: Least and greatest P0, normalised (2, m), that a number format must hold.
    range: Floats
    function: Function | None = None

    def values(self, X: NDArray[Any], x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        if self.function is None:
            raise ParameterError(
                "mechanism_values must be given for a model with an external mechanism, not None; "
                "pass P0 of each row, or load the model with mechanism=<callable>"
            )
        return call_mechanism(self.function, X, target_min, target_max)

    def named(self, names: Sequence[str]) -> ExternalModel:
        """The same model, where the function's arguments are columns of these names."""
        return (
            self if self.function is None else replace(self, function=by_name(self.function, names))
        )

    def covering(self, values: Floats) -> ExternalModel:
        """The same model, its range widened to hold ``values`` (n, m), normalised."""
        low = np.minimum(self.range[0], values.min(axis=0, initial=np.inf))
        high = np.maximum(self.range[1], values.max(axis=0, initial=-np.inf))
        return replace(self, range=np.stack([low, high]))


@dataclass(frozen=True, eq=False)
class PolynomialModel(Mechanism):
    """``P0_norm = sum over terms of coefficient * prod x**exponent``."""

    kind: ClassVar[str] = "polynomial"
    exponents: NDArray[np.uint8]
    coefficients: Floats
    worst_error: float | None = None

    def values(self, X: NDArray[Any], x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        return monomials(x, self.exponents) @ self.coefficients


@dataclass(frozen=True, eq=False)
class TableModel(Mechanism):
    """``P0_norm`` at equally spaced x from 0 to 1, multilinear in between; ends hold."""

    kind: ClassVar[str] = "table"
    inputs: NDArray[np.int32]
    grid: Floats
    worst_error: float | None = None

    def values(self, X: NDArray[Any], x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        return interpolate(self.grid, x[:, self.inputs])


def call_mechanism(
    function: Function, X: NDArray[Any], target_min: Floats, target_max: Floats
) -> Floats:
    """Call a mechanism on raw rows, check what it returns, and normalise it to (n, m)."""
    try:
        values = np.asarray(function(X), dtype=np.float64)
    except ScmError:
        raise
    # Whatever a user's function raises becomes one line; Python users see its cause too.
    except Exception as error:
        own = function.function if isinstance(function, ByName) else function
        name = getattr(own, "__name__", type(own).__name__)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(
            f"can't compute the mechanism {name}: {reason}; correct the function"
        ) from error
    n, m = len(X), len(target_min)
    if values.shape == (n,) and m == 1:
        values = values[:, None]
    if values.shape != (n, m):
        wanted = f"({n},) or ({n}, 1)" if m == 1 else f"({n}, {m})"
        raise DataError(
            f"mechanism values must be of shape {wanted}, not {values.shape!r}; "
            "return one value per row and target"
        )
    if not np.isfinite(values).all():
        raise DataError(
            f"mechanism values must be finite, not {values[~np.isfinite(values)][0]}; "
            "mend the mechanism for the inputs it is asked about"
        )
    return to_unit(values, target_min, target_max)


def interpolate(grid: Floats, x: Floats) -> Floats:
    """Multilinear interpolation of ``grid`` (g_1, ..., g_t, m) at ``x`` (n, t); ends hold."""
    shape = np.array(grid.shape[:-1])
    position = np.clip(x, 0.0, 1.0) * (shape - 1)
    # The last point belongs to the last cell, at a fraction of 1.
    cell = np.minimum(position.astype(np.int64), shape - 2)
    fraction = position - cell
    total = np.zeros((len(x), grid.shape[-1]))
    for corner in np.ndindex(*(2,) * len(shape)):
        weight = np.where(np.array(corner, dtype=bool), fraction, 1 - fraction).prod(axis=1)
        total += weight[:, None] * grid[tuple((cell + corner).T)]
    return total


def monomials(x: Floats, exponents: NDArray[Any]) -> Floats:
    """``prod x**exponent`` (n, terms), by repeated multiplication."""
    product = np.ones((len(x), len(exponents)))
    for feature in np.flatnonzero(exponents.any(axis=0)):
        powers = np.ones(len(x))
        for power in range(1, int(exponents[:, feature].max()) + 1):
            powers = powers * x[:, feature]
            product[:, exponents[:, feature] == power] *= powers[:, None]
    return product
