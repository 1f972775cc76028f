"""From rows to a machine of families: what unseen rows choose, and the growth on all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.families.choice import Choice, Size, choose
from scm_train.families.growth import Family, FamilyGrowth, FamilySettings, apply
from scm_train.families.problem import Problem, Source, linear_scores
from scm_train.families.signals import SignalPool
from scm_train.families.start import most_inputs, start

__all__ = ["FittedFamilies", "Size", "fit_families"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedFamilies:
    """What was found. ``linear`` (features, outputs) and ``intercept`` (outputs,) come first.

    ``unseen`` is the error by size on rows that were not learned from, ``stop`` why it ended.
    """

    pool: SignalPool
    families: list[Family]
    linear: Floats
    intercept: Floats
    luts: float
    unseen: Floats
    stop: str

    def scores(self, problem: Problem) -> Floats:
        """What the machine answers, (outputs, rows)."""
        found = linear_scores(problem, self.linear, self.intercept)
        apply(self.families, self.pool.reached(problem.codes), found)
        return found


def fit_families(
    problem: Source,
    size: Size,
    settings: FamilySettings,
    seed: int,
    *,
    linear: bool = True,
    unseen: Problem | float = 0.2,
) -> FittedFamilies:
    """Choose linear part and size by rows that are not learned from, then grow on all rows.

    ``unseen`` are rows that choose, or the share of the problem's own to hold back for it.
    """
    inputs = most_inputs(problem, size.luts) if linear else 0
    choice = choose(problem, unseen, size, settings, seed, inputs)
    # Anew on all rows of the problem: those that were held back to choose are learned from too.
    growth, weights, intercept = start(problem, choice.inputs, choice.settings, seed)
    for _ in growth.grow(choice.size.luts, choice.size.families):
        pass
    if choice.refit:
        growth.refit()
    return FittedFamilies(
        growth.pool, growth.families, weights, intercept, growth.prices.total, choice.errors,
        _reason(choice, growth),
    )  # fmt: skip


def _reason(choice: Choice, growth: FamilyGrowth) -> str:
    """Why the machine has the size that it has."""
    if choice.reason != "budget" or growth.full or growth.prices.total >= choice.size.luts:
        return choice.reason
    return "families" if len(growth.families) == choice.size.families else "no family"
