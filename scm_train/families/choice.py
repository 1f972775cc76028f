"""What unseen rows decide: linear part, penalty, signals of two features, size, last refit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_train.families import costs
from scm_train.families.growth import FamilySettings, apply
from scm_train.families.problem import Problem, Source, linear_scores
from scm_train.families.start import start

__all__ = ["Choice", "Size", "choose"]

Floats = NDArray[np.float64]

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
LINEAR_GAIN = 0.995
#: The other penalty, for targets with much noise, and what it has to bring.
NOISY_PENALTY, NOISY_GAIN = 20.0, 0.997
#: Sums and differences of two features as signals: how many for each feature, and what they have
#: to bring. With fewer rows than these they are chosen by luck, and with more features than these
#: they take too much memory, a byte of every row each.
PAIRS, PAIRS_GAIN = 4, 0.99
PAIRED_ROWS, MOST_PAIRED = 1000, 64


@dataclass(frozen=True)
class Size:
    """How large a machine may become: LUTs, and families."""

    luts: float
    families: int | None = None

    def share(self, share: float) -> Size:
        """A part of it; what surrounds the families is there in any case."""
        luts = costs.HANDSHAKE_LUTS + share * (self.luts - costs.HANDSHAKE_LUTS)
        return Size(luts, None if self.families is None else max(1, round(share * self.families)))


@dataclass(frozen=True, eq=False)
class Choice:
    """``inputs`` may enter a linear part, families grow by ``settings`` up to ``size``.

    ``errors`` are those on unseen rows by size; ``reason`` is why it ends there.
    """

    inputs: int
    settings: FamilySettings
    size: Size
    refit: bool
    errors: Floats
    reason: str


def choose(
    problem: Source,
    unseen: Problem | float,
    size: Size,
    settings: FamilySettings,
    seed: int,
    most_inputs: int,
) -> Choice:
    """Let ``unseen`` rows choose, or this share of the problem's own."""
    splits = _splits(problem, unseen, seed)
    if not splits:
        return Choice(most_inputs, settings, size, False, np.empty(0), "budget")

    def tried(inputs: int, settings: FamilySettings) -> _Trial:
        grown = [
            _errors(*split, inputs, settings, _sizes(size), seed + k)
            for k, split in enumerate(splits)
        ]
        return _Trial(inputs, settings, np.mean(grown, axis=0))

    best = tried(0, settings)
    if most_inputs:
        best = best.or_if_less(tried(most_inputs, settings), LINEAR_GAIN**2)
    if not problem.classes:
        noisy = replace(settings, penalty=NOISY_PENALTY)
        best = best.or_if_less(tried(best.inputs, noisy), NOISY_GAIN**2)
        if len(problem) >= PAIRED_ROWS and 1 < problem.features <= MOST_PAIRED:
            paired = replace(best.settings, pairs=PAIRS)
            best = best.or_if_less(tried(best.inputs, paired), PAIRS_GAIN**2)
    enough = int(np.flatnonzero(best.errors <= SLACK * best.errors.min())[0])
    chosen = _sizes(size)[enough]
    refit = False
    if not problem.classes:
        refitted = [
            _errors(*split, best.inputs, best.settings, [chosen], seed + k, refit=True)
            for k, split in enumerate(splits)
        ]
        refit = bool(np.mean(refitted) < best.errors[enough])
    last = enough == len(best.errors) - 1
    reason = "budget" if last else "unseen rows"
    return Choice(best.inputs, best.settings, chosen, refit, best.errors, reason)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A setting, and its error on unseen rows at each of the sizes."""

    inputs: int
    settings: FamilySettings
    errors: Floats

    def or_if_less(self, other: _Trial, share: float) -> _Trial:
        """The other trial, if its least error is below this share of the own."""
        return other if other.errors.min() < share * self.errors.min() else self


def _errors(
    problem: Source,
    unseen: Problem,
    inputs: int,
    settings: FamilySettings,
    sizes: Sequence[Size],
    seed: int,
    refit: bool = False,
) -> Floats:
    """The error on unseen rows at each of the sizes; ``refit`` is for one size."""
    growth, weights, intercept = start(problem, inputs, settings, seed)
    reached, loss = growth.pool.reached(unseen.codes), unseen.loss()
    scores = linear_scores(unseen, weights, intercept)
    errors, families = [], 0
    for size in sizes:
        for _ in growth.grow(size.luts, size.families):
            pass
        if refit:
            growth.refit()
        apply(growth.families[families:], reached, scores)
        families = len(growth.families)
        errors.append(loss.error(scores))
    return np.array(errors)


def _sizes(size: Size) -> list[Size]:
    return [size.share(k / SIZES) for k in range(1, SIZES + 1)]


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
