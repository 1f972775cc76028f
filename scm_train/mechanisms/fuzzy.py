"""Fuzzy expert systems as mechanism models.

A Takagi-Sugeno system: rules such as *if temperature is low and reduction is high, then force is
1200 + 3 X_1*, blended by how well each rule applies.

    low, high = Triangle(800, 800, 1100), Triangle(800, 1100, 1100)
    force = FuzzySystem([Rule({0: low}, 1400.0), Rule({0: high}, 900.0)])
    SCMRegressor(mechanism=Table(force, inputs=[0]))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_train.errors import ParameterError

__all__ = ["FuzzySystem", "Rule", "Triangle"]


@dataclass(frozen=True)
class Triangle:
    """A fuzzy set: membership 1 at ``peak``, falling to 0 at ``left`` and ``right``.

    A side of no width is a shoulder: ``Triangle(0, 0, 5)`` is fully true of everything below 0.
    """

    left: float
    peak: float
    right: float

    def __post_init__(self) -> None:
        if not self.left <= self.peak <= self.right:
            raise ParameterError(
                f"corners of a triangle must be in order, not {self.left!r}, {self.peak!r}, "
                f"{self.right!r}"
            )

    def membership(self, values: NDArray) -> NDArray:
        """Degree in [0, 1] to which each value belongs to the set."""
        rising = _ramp(values, self.left, self.peak)
        # The mirror image: a ramp that rises from -right to -peak.
        falling = _ramp(-values, -self.right, -self.peak)
        return np.minimum(rising, falling)


def _ramp(values: NDArray, foot: float, top: float) -> NDArray:
    # A shoulder: the division below would be by zero.
    if foot == top:
        return np.ones(len(values))
    return np.clip((values - foot) / (top - foot), 0.0, 1.0)


@dataclass(frozen=True)
class Rule:
    """``if X_i is A_i and X_j is A_j ... then y = constant + sum of slope_i X_i``."""

    antecedent: Mapping[int, Triangle]
    constant: ArrayLike
    slopes: Mapping[int, ArrayLike] | None = None

    def strength(self, X: NDArray) -> NDArray:
        """The product of the memberships (n,)."""
        strength = np.ones(len(X))
        for feature, fuzzy_set in self.antecedent.items():
            strength *= fuzzy_set.membership(X[:, feature])
        return strength

    def consequent(self, X: NDArray) -> NDArray:
        """What the rule alone would say (n, m)."""
        constant = np.atleast_1d(np.asarray(self.constant, dtype=np.float64))
        value = np.tile(constant, (len(X), 1))
        for feature, slope in (self.slopes or {}).items():
            value += np.multiply.outer(X[:, feature], np.broadcast_to(slope, constant.shape))
        return value


@dataclass(frozen=True)
class FuzzySystem:
    """A callable on raw inputs: the rules' consequents, averaged by their strengths.

    Where no rule applies the answer is the plain mean of all consequents.
    """

    rules: Sequence[Rule]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ParameterError("rules of a fuzzy system must be at least one, not none")

    def __call__(self, X: NDArray) -> NDArray:
        X = np.asarray(X, dtype=np.float64)
        strengths = np.stack([rule.strength(X) for rule in self.rules], axis=1)
        # Equal strengths make the weighted mean below the plain one.
        strengths[strengths.sum(axis=1) == 0] = 1.0
        weighted = sum(
            strengths[:, k, None] * rule.consequent(X) for k, rule in enumerate(self.rules)
        )
        return weighted / strengths.sum(axis=1, keepdims=True)
