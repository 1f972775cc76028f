"""How a machine of families starts: pool, linear part or priors, and what those cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_train.families import costs
from scm_train.families.growth import FamilyGrowth, FamilySettings
from scm_train.families.linear import fit_few_inputs
from scm_train.families.problem import Problem, Source
from scm_train.families.signals import make_pool, random_pairs
from scm_train.solve.huber import huber_weights

__all__ = ["most_inputs", "start"]

Floats = NDArray[np.float64]

#: Thresholds of all signals together, where there are many signals.
MOST_BITS = 16_000
#: Rows that thresholds and linear part are made of.
POOL_ROWS = 200_000
#: Share of the budget that a linear part may take.
LINEAR_SHARE = 1 / 3
#: How often a robust linear part is fitted again, with weights from what it left.
REWEIGHTED = 5


def start(
    problem: Source, inputs: int, settings: FamilySettings, seed: int
) -> tuple[FamilyGrowth, Floats, Floats]:
    """A growth without a family, and the linear part (features, outputs) with its intercept.

    ``inputs`` are the most that the linear part may take.
    """
    # A stream of its own: with [seed, 1] rows are chosen.
    rng = np.random.default_rng([seed, 0])
    sample = problem.part(slice(None, None, -(-len(problem) // POOL_ROWS)))
    features = problem.features
    pairs = random_pairs(features, settings.pairs * features, rng)
    most = int(np.clip(MOST_BITS // (features + len(pairs)), 4, settings.thresholds))
    pool = make_pool(sample.codes, pairs, most)
    weights, intercept = _linear_part(sample, inputs)
    fixed = costs.HANDSHAKE_LUTS + costs.OUTPUT_LUTS * (problem.outputs - 1)
    fixed += costs.LINEAR_LUTS * problem.input_bits * np.count_nonzero(weights)
    prices = costs.Prices(pool, problem.input_bits, fixed)
    rows = problem.family_rows(pool, weights, intercept)
    growth = FamilyGrowth(pool, rows, problem.outputs, settings, prices, rng)
    return growth, weights, intercept


def most_inputs(problem: Source, luts: float) -> int:
    """How many inputs a linear part may take, with most of the budget left to families."""
    if problem.classes:
        return 0
    one = costs.LINEAR_LUTS * problem.input_bits * problem.outputs
    affordable = int(LINEAR_SHARE * luts / one)
    return min(max(affordable, 1), problem.features)


def _linear_part(problem: Problem, inputs: int) -> tuple[Floats, Floats]:
    """Linear weights (features, outputs) and intercept (outputs,) to begin with."""
    features, outputs = problem.features, problem.outputs
    if problem.classes:
        return np.zeros((features, outputs)), _log_odds(problem)
    weights, intercept = np.zeros((features, outputs)), np.zeros(outputs)
    x = problem.x if inputs else np.zeros((len(problem), features))
    for output in range(outputs):
        target, counts = problem.targets[:, output], problem.weights
        own = _one_output(x, target, counts, inputs)
        for _ in range(REWEIGHTED if problem.robust else 0):
            counts = problem.weights * huber_weights(target - x @ own[0] - own[1])
            own = _one_output(x, target, counts, inputs)
        weights[:, output], intercept[output] = own
    return weights, intercept


def _one_output(x: Floats, target: Floats, counts: Floats, inputs: int) -> tuple[Floats, float]:
    if inputs:
        return fit_few_inputs(x, target, counts, inputs)
    return np.zeros(x.shape[1]), float(np.average(target, weights=counts))


def _log_odds(problem: Problem) -> Floats:
    """Scores that answer each class's share of the rows."""
    # One row more for each class: one without rows has a finite score.
    shares = np.bincount(problem.targets, problem.weights, minlength=problem.classes) + 1.0
    logs = np.log(shares / shares.sum())
    return np.array([logs[1] - logs[0]]) if problem.classes == 2 else logs
