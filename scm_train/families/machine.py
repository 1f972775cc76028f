"""From rows to a machine of families: pool, linear part, size, and the growth on all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.families import costs
from scm_train.families.growth import Family, FamilyGrowth, FamilySettings, apply
from scm_train.families.linear import fit_few_inputs
from scm_train.families.problem import Problem, Source, linear_scores
from scm_train.families.signals import MOST_THRESHOLDS, SignalPool, make_pool, random_pairs

__all__ = ["FittedFamilies", "Size", "fit_families"]

Floats = NDArray[np.float64]

#: Thresholds of all signals together, where there are many signals.
MOST_BITS = 16_000
#: Rows that thresholds and linear part are made of, and rows that their use and the size are
#: chosen on.
POOL_ROWS = 200_000
SELECTION_ROWS = 200_000
#: With more rows than this one split is enough to choose by.
ONE_SPLIT = 4000
FOLDS = 3
UNSEEN_ROWS = 20_000
#: With fewer rows than this none can be spared.
FEWEST_ROWS = 20
#: Sizes that are compared, evenly spaced up to the budget.
SIZES = 40
#: A smaller machine is taken where its unseen error is within this of the least.
SLACK = 1.0005
#: What a linear part has to bring, for it costs more than its LUTs say where rows are few.
LINEAR_GAIN = 0.98
#: Share of the budget that a linear part may take.
LINEAR_SHARE = 1 / 3


@dataclass(frozen=True)
class Size:
    """How large a machine may become: LUTs, and families."""

    luts: float
    families: int | None = None


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
    most_inputs = _most_inputs(problem, size) if linear else 0
    choice = _choose(problem, unseen, size, settings, seed, most_inputs)
    growth, weights, intercept = _grow(problem, choice.inputs, settings, size.luts, seed)
    for _ in growth.grow(choice.luts, choice.families):
        pass
    reason = choice.reason
    if reason == "budget" and growth.prices.total < choice.luts:
        reason = "families" if len(growth.families) == choice.families else "no family"
    return FittedFamilies(
        growth.pool, growth.families, weights, intercept, growth.prices.total, choice.errors,
        reason,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Choice:
    """The size that unseen rows chose, and whether inputs enter a linear part."""

    inputs: int
    luts: float
    families: int | None
    errors: Floats
    reason: str


def _choose(
    problem: Source,
    unseen: Problem | float,
    size: Size,
    settings: FamilySettings,
    seed: int,
    most_inputs: int,
) -> _Choice:
    splits = _splits(problem, unseen, seed)
    if not splits:
        return _Choice(most_inputs, size.luts, size.families, np.empty(0), "budget")
    tried = {
        inputs: np.mean(
            [_errors(*split, inputs, size, settings, seed + k) for k, split in enumerate(splits)],
            axis=0,
        )
        for inputs in sorted({0, most_inputs})
    }
    plain, chosen = tried[0].min(), 0
    if most_inputs and tried[most_inputs].min() < LINEAR_GAIN**2 * plain:
        chosen = most_inputs
    errors = tried[chosen]
    enough = int(np.flatnonzero(errors <= SLACK * errors.min())[0])
    last = enough == len(errors) - 1
    share = _size_marks()[enough]
    return _Choice(
        chosen,
        costs.HANDSHAKE_LUTS + share * (size.luts - costs.HANDSHAKE_LUTS),
        None if size.families is None else max(1, round(share * size.families)),
        errors,
        "budget" if last else "unseen rows",
    )


def _size_marks() -> Floats:
    return np.arange(1, SIZES + 1) / SIZES


def _splits(problem: Source, unseen: Problem | float, seed: int) -> list[tuple[Source, Problem]]:
    """Rows to learn from and rows to choose by; none where there are too few rows."""
    if isinstance(unseen, Problem):
        return [(problem, unseen)]
    rows = problem.some_rows(SELECTION_ROWS, seed)
    held = round(unseen * len(rows))
    if len(rows) < FEWEST_ROWS or not held:
        return []
    found = []
    for k in range(1 if len(rows) >= ONE_SPLIT else min(FOLDS, len(rows) // held)):
        out = rows[k * held : (k + 1) * held]
        kept = np.sort(np.setdiff1d(rows, out, assume_unique=True))
        found.append((problem.part(kept), problem.part(np.sort(out[:UNSEEN_ROWS]))))
    return found


def _errors(
    problem: Source,
    unseen: Problem,
    inputs: int,
    size: Size,
    settings: FamilySettings,
    seed: int,
) -> Floats:
    """The error on unseen rows at each of the sizes."""
    growth, weights, intercept = _grow(problem, inputs, settings, size.luts, seed)
    scores = linear_scores(unseen, weights, intercept)
    reached, loss = growth.pool.reached(unseen.codes), unseen.loss()
    errors = [loss.error(scores)]
    families = 0
    for share in _size_marks():
        luts = costs.HANDSHAKE_LUTS + share * (size.luts - costs.HANDSHAKE_LUTS)
        most = None if size.families is None else round(share * size.families)
        for _ in growth.grow(luts, most):
            pass
        apply(growth.families[families:], reached, scores)
        families = len(growth.families)
        errors.append(loss.error(scores))
    return np.array(errors[1:])


def _grow(
    problem: Source, inputs: int, settings: FamilySettings, budget: float, seed: int
) -> tuple[FamilyGrowth, Floats, Floats]:
    """A growth at its start: pool, linear part or priors, and what those cost."""
    rng = np.random.default_rng([seed, 0])
    sample = problem.part(slice(None, None, -(-len(problem) // POOL_ROWS)))
    features = problem.features
    pairs = random_pairs(features, settings.pairs * features, rng)
    most = int(np.clip(MOST_BITS // (features + len(pairs)), 4, MOST_THRESHOLDS))
    pool = make_pool(sample.codes, pairs, most)
    weights, intercept = _start(sample, inputs)
    fixed = costs.HANDSHAKE_LUTS + costs.OUTPUT_LUTS * (problem.outputs - 1)
    fixed += costs.LINEAR_LUTS * np.count_nonzero(weights)
    prices = costs.Prices(pool, problem.input_bits, fixed)
    rows = problem.family_rows(pool, weights, intercept)
    growth = FamilyGrowth(pool, rows, problem.outputs, settings, prices, rng)
    return growth, weights, intercept


def _start(problem: Problem, inputs: int) -> tuple[Floats, Floats]:
    """Linear weights (features, outputs) and intercept (outputs,) to begin with."""
    features, outputs = problem.features, problem.outputs
    if problem.classes:
        return np.zeros((features, outputs)), _log_odds(problem)
    weights, intercept = np.zeros((features, outputs)), np.zeros(outputs)
    for output in range(outputs):
        target = problem.targets[:, output]
        if inputs:
            found = fit_few_inputs(problem.x, target, problem.weights, inputs)
            weights[:, output], intercept[output] = found
        else:
            intercept[output] = np.average(target, weights=problem.weights)
    return weights, intercept


def _log_odds(problem: Problem) -> Floats:
    """Scores that answer each class's share of the rows."""
    shares = np.bincount(problem.targets, problem.weights, minlength=problem.classes) + 1.0
    logs = np.log(shares / shares.sum())
    return np.array([logs[1] - logs[0]]) if problem.classes == 2 else logs


def _most_inputs(problem: Source, size: Size) -> int:
    """How many inputs a linear part may take: so many that families have most of the budget."""
    if problem.classes:
        return 0
    affordable = int(LINEAR_SHARE * size.luts / costs.LINEAR_LUTS / problem.outputs)
    return min(max(affordable, 1), problem.features)
