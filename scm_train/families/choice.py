"""What unseen rows decide: linear part, variety of supports, penalty, pairs, size, last refit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train.families import costs
from scm_train.families.growth import FamilyGrowth, FamilySettings, apply
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
#: Growth ends after this many sizes without a new least error on unseen rows.
PATIENCE = 10
#: Supports of fewer bits from some of the thresholds, and the other penalty, are for few rows and
#: much noise; what each has to bring.
FEWEST_BITS, DRAWN_THRESHOLDS, VARIED_GAIN = 2, 24, 0.997
NOISY_PENALTY, NOISY_GAIN = 20.0, 0.997
#: The same of a classifier, whose error jumps more.
UNSURE_PENALTY, CLASSES_GAIN = 8.0, 0.99
#: Sums and differences of two features as signals: how many for each feature, and what they have
#: to bring. With fewer rows than these they are chosen by luck, and with more features than these
#: they take too much memory, a byte of every row each.
PAIRS, PAIRS_GAIN = 8, 0.998
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

    def has_room(self, growth: FamilyGrowth) -> bool:
        """Whether what has grown is no larger."""
        most = self.families
        return growth.prices.total <= self.luts and (most is None or len(growth.families) <= most)


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
        growths = [
            _growth(*split, inputs, settings, size, seed + k) for k, split in enumerate(splits)
        ]
        return _Trial(inputs, settings, _mean_errors(growths))

    # Greedy: each change is tried on top of those that have won so far, which takes one trial per
    # change and not one per combination.
    best = tried(0, settings)
    if most_inputs:
        best = best.or_if_less(tried(most_inputs, settings), LINEAR_GAIN**2)
    for change, gain in _changes(problem):
        best = best.or_if_less(tried(best.inputs, replace(best.settings, **change)), gain)
    enough = int(np.flatnonzero(best.errors <= SLACK * best.errors.min())[0])
    chosen = _sizes(size)[enough]
    refit = False
    if not problem.classes:
        refitted = [
            _refitted_error(*split, best.inputs, best.settings, chosen, seed + k)
            for k, split in enumerate(splits)
        ]
        refit = bool(np.mean(refitted) < best.errors[enough])
    reason = "budget" if enough == SIZES - 1 else "unseen rows"
    return Choice(best.inputs, best.settings, chosen, refit, best.errors, reason)


def _changes(problem: Source) -> Iterator[tuple[dict[str, Any], float]]:
    """What is changed of the best settings so far, one after the other, and the share to be kept.

    The error of real targets is a square, and its share too.
    """
    varied = {"fewest_bits": FEWEST_BITS, "drawn_thresholds": DRAWN_THRESHOLDS}
    if problem.classes:
        yield varied, CLASSES_GAIN
        yield {"penalty": UNSURE_PENALTY}, CLASSES_GAIN
        return
    yield varied, VARIED_GAIN**2
    yield {"penalty": NOISY_PENALTY}, NOISY_GAIN**2
    if len(problem) >= PAIRED_ROWS and 1 < problem.features <= MOST_PAIRED:
        yield {"pairs": PAIRS}, PAIRS_GAIN**2


@dataclass(frozen=True, eq=False)
class _Trial:
    """A setting, and its error on unseen rows at each of the sizes."""

    inputs: int
    settings: FamilySettings
    errors: Floats

    def or_if_less(self, other: _Trial, share: float) -> _Trial:
        """The other trial, if its least error is below this share of its own."""
        return other if other.errors.min() < share * self.errors.min() else self


def _mean_errors(growths: Sequence[Iterator[float]]) -> Floats:
    """The mean error at each of the sizes, as long as it makes sense to grow."""
    errors: list[float] = []
    for at_size in zip(*growths, strict=True):
        errors.append(float(np.mean(at_size)))
        # Before the first family all are equal, which is no reason to end.
        if min(errors[-PATIENCE:]) > min(errors):
            break
    return np.array(errors)


def _growth(
    problem: Source,
    unseen: Problem,
    inputs: int,
    settings: FamilySettings,
    size: Size,
    seed: int,
) -> Iterator[float]:
    """Grow to a size; the error on unseen rows at each of the sizes up to it."""
    growth, weights, intercept = start(problem, inputs, settings, seed)
    reached, loss = growth.pool.reached(unseen.codes), unseen.loss()
    scores = linear_scores(unseen, weights, intercept)
    sizes = _sizes(size)
    for family in growth.grow(size.luts, size.families):
        # The price includes this family already: a size without room for it keeps the scores of the
        # families before.
        while sizes and not sizes[0].has_room(growth):
            yield loss.error(scores)
            del sizes[0]
        apply([family], reached, scores)
    # Growth ended below the remaining sizes, which all have the same machine.
    for _ in sizes:
        yield loss.error(scores)


def _refitted_error(
    problem: Source,
    unseen: Problem,
    inputs: int,
    settings: FamilySettings,
    size: Size,
    seed: int,
) -> float:
    """The error on unseen rows after growth to a size and a refit."""
    growth, weights, intercept = start(problem, inputs, settings, seed)
    for _ in growth.grow(size.luts, size.families):
        pass
    growth.refit()
    scores = linear_scores(unseen, weights, intercept)
    apply(growth.families, growth.pool.reached(unseen.codes), scores)
    return unseen.loss().error(scores)


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
        # `rows` are in random order, so that a slice of them is a random part.
        out = rows[k * held : (k + 1) * held]
        kept = np.sort(np.setdiff1d(rows, out, assume_unique=True))
        found.append((problem.part(kept), problem.part(np.sort(out[:UNSEEN_ROWS]))))
    return found
