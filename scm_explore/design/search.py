"""Which budgets are tried, and which of the designs is chosen.

Designs differ in one number, the LUTs that the trainer may use by its own estimate. What synthesis
makes of it is known afterwards only, so that a limit is approached from the figures so far. Every
round tries as many budgets as there are cores on most machines, and rounds follow from nothing but
the rounds before: with a seed, the choice is the same everywhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scm_explore.design.candidate import Candidate, Job, Rows, try_budget
from scm_explore.design.goal import Goal
from scm_explore.pools import Pool
from scm_train.training.parameters import FEWEST_LUTS

#: From small to accurate, where nothing else is asked for.
HANDFUL = (120, 300, 800, 2000, 5000)
#: Budgets on the way to an error, two at a time.
LADDER = (100, 200, 400, 800, 1600, 3200, 6400, 12_800)
#: A design this near to the limit is as large as it may be.
NEAR = 0.94
#: As a share of the largest error of several designs.
LEAST_ERROR = 1e-3
AIM = 0.975
ROUNDS = 4
#: Two steps of the ladder that bring less than this share of the error bring nothing.
WORTH = 0.01
#: Left to the rest of the board top.
ROOM = 0.7

Log = Callable[[str], None]


class OutOfTime(Exception):
    """No further designs are to be tried."""


@dataclass
class Search:
    """The designs tried so far by budget; `train` and `held_out` are row numbers."""

    job: Job
    goal: Goal
    pool: Pool
    train: Rows
    held_out: Rows
    log: Log = lambda _: None
    until: float | None = None
    """Of `time.monotonic`; the first round is tried all the same."""
    tried: dict[int, Candidate] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """The largest budget that is worth a try on this board."""
        return int(ROOM * self.job.board.room.lut)

    def possible(self, budget: float) -> int:
        """The nearest budget that the trainer takes and the board has room for."""
        return max(FEWEST_LUTS, min(round(budget), self.most))

    def run(self, budgets: Iterable[float]) -> list[Candidate]:
        """The designs of some budgets, those that are new tried side by side; OutOfTime if late."""
        wanted = list(dict.fromkeys(self.possible(b) for b in budgets))
        missing = [b for b in wanted if b not in self.tried]
        jobs = {b: (b, self.train, self.held_out) for b in missing}
        if missing:
            names = " and ".join(f"{b:,}" for b in missing)
            self.log(f"training, compiling and synthesising for about {names} LUTs")
        until = self.until if self.tried else None
        for budget, found in self.pool.run(try_budget, self.job, jobs, until):
            self.tried[budget] = found
        if any(b not in self.tried for b in wanted):
            raise OutOfTime
        return [self.tried[b] for b in wanted]

    @property
    def late(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    @property
    def built(self) -> list[Candidate]:
        """All that can be built at all, by LUTs."""
        good = [one for one in self.tried.values() if one.fault is None]
        return sorted(good, key=lambda one: (one.lut, one.error))


def choose(search: Search) -> Candidate | None:
    """The design that the goal asks for; None where none of those tried meets it."""
    try:
        return _searched(search)
    except OutOfTime:
        search.log("the time is over")
    if search.goal == Goal():
        return knee(pareto(search.built)) if search.built else None
    return _smallest(search) if search.goal.wants_score else _best(search)


def _searched(search: Search) -> Candidate | None:
    if search.goal.wants_score:
        return _for_score(search)
    if search.goal.luts is not None:
        return _for_luts(search, search.goal.luts)
    search.run(HANDFUL)
    if search.goal.latency_ns is None:
        front = pareto(search.built)
        return knee(front) if front else None
    if not any(map(search.goal.fits, search.built)):
        search.run((FEWEST_LUTS,))
    return _best(search)


def _best(search: Search) -> Candidate | None:
    """The most accurate that meets the goal, the smaller of equal ones."""
    good = [one for one in search.built if search.goal.met(one)]
    return min(good, key=lambda one: (one.error, one.lut), default=None)


# --------------------------------------------------------------------------------- as many LUTs


def _for_luts(search: Search, luts: int) -> Candidate | None:
    """The most accurate design of at most `luts` LUTs: budgets close in on the limit."""
    # Synthesis finds fewer than the trainer's estimate more often than more.
    search.run((luts, 1.25 * luts))
    for _ in range(ROUNDS - 1):
        good = [one for one in search.built if search.goal.fits(one)]
        if any(one.lut >= NEAR * luts or one.full for one in good):
            break
        proposals = [b for b in _towards(search, luts) if search.possible(b) not in search.tried]
        if not proposals:
            break
        search.run(proposals)
    return _best(search)


def _towards(search: Search, luts: int) -> list[int]:
    """Budgets whose designs should be just within the limit, by those on either side of it."""
    fitting = [one for one in search.built if search.goal.fits(one)]
    others = [one for one in search.built if not search.goal.fits(one)]
    if not fitting:
        smallest = min(search.tried)
        slow = [one for one in others if one.lut <= luts]
        # Too slow, not too large: fewer LUTs are the way to fewer levels all the same.
        share = 0.5 if slow else AIM * luts / min((one.lut for one in others), default=2 * luts)
        first = round(min(share, 0.8) * smallest)
        return [first, first // 2]
    low = fitting[-1]
    above = [one for one in others if one.budget > low.budget]
    # No design above the limit yet: LUTs taken as proportional to the budget.
    grown = low.budget * AIM * luts / max(low.lut, 1)
    if not above:
        return [round(grown), round(1.1 * grown)]
    high = min(above, key=lambda one: one.budget)
    if high.lut <= low.lut or high.lut <= luts:
        # Its LUTs are within the limit, and only its latency is not: no line through both designs
        # leads to the limit, and halfway by ratio is tried.
        return [round(math.sqrt(low.budget * high.budget))]
    # The secant through the designs on either side, to just below the limit and close to it.
    step = (high.budget - low.budget) / (high.lut - low.lut)
    return [round(low.budget + step * (share * luts - low.lut)) for share in (AIM, 0.995)]


# -------------------------------------------------------------------------------------- an error


def _for_score(search: Search) -> Candidate | None:
    """The smallest design with the error that was asked for: a ladder, then bisection."""
    goal = search.goal
    top = search.most if goal.luts is None else min(search.most, round(1.5 * goal.luts))
    ladder = [b for b in LADDER if b < top] + [min(top, 2 * LADDER[-1])]
    for pair in (ladder[i : i + 2] for i in range(0, len(ladder), 2)):
        before = min((one.error for one in search.built), default=math.inf)
        search.run(pair)
        if any(map(goal.met, search.built)):
            return _bisected(search)
        errors = [search.tried[b].error for b in pair]
        if min(errors) > (1 - WORTH) * before and before < math.inf:
            break
    if goal.luts is not None:
        _for_luts(search, goal.luts)
    return _smallest(search)


def _smallest(search: Search) -> Candidate | None:
    good = [one for one in search.built if search.goal.met(one)]
    return min(good, key=lambda one: (one.lut, one.error), default=None)


def _bisected(search: Search) -> Candidate | None:
    """Between the smallest design that meets the goal and the next smaller one, two rounds."""
    for _ in range(2):
        found = _smallest(search)
        assert found is not None
        below = max((b for b in search.tried if b < found.budget), default=FEWEST_LUTS)
        ratio = found.budget / below
        if ratio < 1.1:
            break
        # Thirds and not halves, for two budgets a round side by side; by ratio, as on the ladder.
        search.run(below * ratio**share for share in (1 / 3, 2 / 3))
    return _smallest(search)


# ------------------------------------------------------------------------------------ a handful


def pareto(built: Sequence[Candidate]) -> list[Candidate]:
    """Designs that are not both larger and worse than another, the smallest first."""
    front: list[Candidate] = []
    for one in sorted(built, key=lambda one: (one.lut, one.error)):
        if not front or one.error < front[-1].error:
            front.append(one)
    return front


def knee(front: Sequence[Candidate]) -> Candidate:
    """Where more LUTs begin to bring little: farthest below the line from first to last.

    Budgets are compared by ratio and so are errors: a first design that can tell nothing, in hardly
    a LUT, would otherwise decide it. Where more brings more all the way, it is the last one.
    """
    if len(front) < 3:
        return front[-1]
    size = np.log([one.budget for one in front])
    error = np.array([one.error for one in front])
    # Where none of the held-out rows is wrong, the error is small, not nothing.
    error = np.log(np.maximum(error, LEAST_ERROR * error.max()))
    below = (size - size.min()) / np.ptp(size) + (error - error[-1]) / (error[0] - error[-1])
    best = int(np.argmin(below))
    return front[best] if below[best] < 1 - 1e-9 else front[-1]


# ------------------------------------------------------------------------------- on all the rows


def refitted(search: Search, chosen: Candidate, rest: Rows, test: Rows) -> Candidate:
    """The chosen design trained anew on all rows but those of the test, within the same limits.

    Other rows make other gates. Where no budget near the chosen one gives a design within the
    limits, the one that was chosen is kept as it is, with the test rows in its file; these have a
    say in the bits that synthesis sees, so that a smaller one may have to take its place.
    """
    job = replace(search.job, final=True)
    again = Search(job, search.goal, search.pool, rest, test, search.log)
    budget = float(chosen.budget)
    limited = search.goal.luts is not None or search.goal.latency_ns is not None
    for _ in range(1 if search.late else ROUNDS - 1):
        # The largest that fits, but no larger than what was chosen.
        for one in again.run((budget, AIM * budget) if limited else (budget,)):
            if search.goal.fits(one):
                return one
        luts = min((one.lut for one in again.built), default=0)
        over = luts / search.goal.luts if search.goal.luts else 1.0
        budget = 0.95 * budget / max(over, 1.0)
    kept = Search(job, search.goal, search.pool, search.train, test, search.log)
    smaller = [one for one in search.built if search.goal.met(one) and one.lut < chosen.lut]
    for one in (chosen, *reversed(smaller)):
        (found,) = kept.run((one.budget,))
        if search.goal.fits(found):
            break
    return found
