"""Which budgets `design` tries and what it chooses, on designs that cost nothing to make."""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from scm_explore.design import search as module
from scm_explore.design.candidate import Candidate, Job
from scm_explore.design.goal import Goal, cycles_of, for_targets
from scm_explore.design.search import AIM, Search, choose, knee, pareto, refitted
from scm_explore.design.text import no_design
from scm_hw.design import Options
from scm_hw.errors import OptionError

ROWS = np.arange(10)
BOARD = SimpleNamespace(name="board", room=SimpleNamespace(lut=60_000))


class Pool:
    """Does the jobs at once, and counts them; `until` is the number of rounds."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []

    def run(self, work: Any, shared: Any, jobs: Any, until: float | None = None) -> Any:
        if jobs:
            self.rounds.append(sorted(jobs))
        for number, arguments in jobs.items():
            if until is not None and len(self.rounds) > until:
                return
            yield number, work(shared, *arguments)


def made(job: Any, budget: int, train: Any, test: Any) -> Candidate:
    """Synthesis finds 0.8 of the budget and 20 more; a cycle more for every factor of four."""
    lut = round(0.8 * budget) + 20
    cycles = 2 + max(0, int(np.log2(budget / 100) // 2))
    error = 0.01 + 1 / (100 + budget)
    return Candidate(
        budget,
        error=error,
        rmse=(10 * error,),
        lut=lut,
        latency_cycles=cycles,
        latency_ns=10.0 * cycles,
    )


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Any:
    def search(goal: Goal, work: Any = made) -> Search:
        monkeypatch.setattr(module, "try_budget", work)
        data: Any = SimpleNamespace()
        job = Job(data, cast(Any, BOARD), Options(), argparse.Namespace())
        return Search(job, goal, Pool(), ROWS[:6], ROWS[6:])

    return search


@pytest.mark.parametrize("luts", [70, 150, 1000, 7777])
def test_a_budget_of_luts_is_nearly_used_up(make, luts: int) -> None:
    search = make(Goal(luts=luts))
    chosen = choose(search)
    assert chosen is not None
    assert 0.9 * luts <= chosen.lut <= luts
    assert len(search.pool.rounds) <= 4


def test_synthesis_decides_and_not_the_estimate(make) -> None:
    def larger(*words: Any) -> Candidate:
        found = made(*words)
        return Candidate(**{**found.__dict__, "lut": 2 * found.lut})

    chosen = choose(make(Goal(luts=1000), larger))
    assert chosen is not None and chosen.lut <= 1000 and chosen.budget < 600


def test_a_latency_takes_smaller_designs(make) -> None:
    chosen = choose(make(Goal(luts=1000, latency_ns=20)))
    assert chosen is not None and chosen.latency_ns == 20 and chosen.lut <= 1000
    alone = choose(make(Goal(latency_ns=30)))
    assert alone is not None and alone.latency_ns == 30


def test_the_smallest_design_with_an_error_is_found(make) -> None:
    limit = 10 * (0.01 + 1 / 1000)
    search = make(Goal(rmse=(limit,)))
    chosen = choose(search)
    assert chosen is not None and chosen.rmse[0] <= limit
    # The budget of 900 has exactly that error.
    assert 900 <= chosen.budget <= 1.1 * 900
    assert chosen == min((c for c in search.built if c.rmse[0] <= limit), key=lambda c: c.lut)


def test_an_accuracy_is_a_share_of_right_classes(make) -> None:
    def classes(*words: Any) -> Candidate:
        found = made(*words)
        return Candidate(**{**found.__dict__, "rmse": (), "accuracy": 1 - found.error})

    goal = Goal(accuracy=0.988)
    chosen = choose(make(goal, classes))
    assert chosen is not None and chosen.accuracy is not None and chosen.accuracy >= 0.988
    assert choose(make(Goal(accuracy=0.995), classes)) is None


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (Goal(luts=10), "with 60 LUT and 20 ns (on held-out rows); ask for --luts 60"),
        (Goal(latency_ns=10), "20 ns (on held-out rows); ask for --latency 20ns or a higher"),
        (Goal(rmse=(0.01,)), "the nearest design has RMSE 0.100"),
        (Goal(luts=500, rmse=(0.105,)), "ask for that, or allow more LUTs"),
    ],
)
def test_what_can_not_be_had_is_said_with_the_nearest(make, goal: Goal, words: str) -> None:
    search = make(goal)
    assert choose(search) is None
    assert words in str(no_design(search)) and str(no_design(search)).startswith("can't reach ")


def test_a_board_that_is_too_small_is_named(make) -> None:
    search = make(Goal(), lambda job, budget, *rows: Candidate(budget, "it must fit"))
    assert choose(search) is None
    assert str(no_design(search)) == "can't build a design for board: it must fit"


def test_without_a_goal_a_handful_is_tried_and_the_knee_chosen(make) -> None:
    search = make(Goal())
    chosen = choose(search)
    assert 4 <= len(search.built) <= 6
    assert chosen in search.built[1:-1]


def useless_but_first() -> list[Candidate]:
    found = {300: (188, 0.18), 800: (656, 0.07), 2000: (1716, 0.054), 5000: (4170, 0.031)}
    return [Candidate(budget, lut=lut, error=error) for budget, (lut, error) in found.items()]


def test_the_knee_is_where_little_is_to_be_gained() -> None:
    def one(lut: int, error: float) -> Candidate:
        return Candidate(lut, lut=lut, error=error)

    designs = [one(100, 0.9), one(200, 0.3), one(400, 0.25), one(800, 0.2), one(300, 0.5)]
    front = pareto(designs)
    assert [c.lut for c in front] == [100, 200, 400, 800]
    assert knee(front).lut == 200
    assert knee(front[:2]).lut == 200
    # A first design that tells nothing, as with far too few LUTs for the classes there are.
    blind = [Candidate(120, lut=1, error=0.764), *useless_but_first()]
    assert knee(blind).lut == 656
    assert knee([one(50, 0.2), one(100, 0.001), one(5000, 0.0)]).lut == 100
    # More brings more all the way: the last one.
    assert knee([one(100, 0.9), one(200, 0.8), one(400, 0.1)]).lut == 400


def test_all_rows_make_a_design_within_the_same_limits(make) -> None:
    """Trained on more rows, the same budget gives more LUTs: a smaller one is taken."""

    def more(job: Any, budget: int, train: Any, test: Any) -> Candidate:
        found = made(job, budget, train, test)
        lut = round(found.lut * (1.0 if len(train) == 6 else 1.2))
        return Candidate(**{**found.__dict__, "lut": lut})

    search = make(Goal(luts=1000), more)
    chosen = choose(search)
    final = refitted(search, chosen, ROWS[:8], ROWS[8:])
    assert 0.7 * 1000 <= final.lut <= 1000 and final.budget < AIM * chosen.budget


def test_the_chosen_one_is_kept_where_no_other_is_within_the_limits(make) -> None:
    def never(job: Any, budget: int, train: Any, test: Any) -> Candidate:
        found = made(job, budget, train, test)
        return found if len(train) == 6 else Candidate(**{**found.__dict__, "lut": 5000})

    search = make(Goal(luts=1000), never)
    chosen = choose(search)
    assert refitted(search, chosen, ROWS[:8], ROWS[8:]).lut == chosen.lut


@pytest.mark.parametrize("goal", [Goal(luts=1000), Goal(rmse=(0.11,)), Goal(), Goal(latency_ns=30)])
def test_no_design_is_tried_when_the_time_is_over(make, goal: Goal) -> None:
    """The first round is; what it has is chosen from."""
    search = make(goal)
    search.until = 1.0
    chosen = choose(search)
    every = make(goal)
    choose(every)
    assert search.tried.items() <= every.tried.items()
    assert len(search.tried) == len(search.pool.rounds[0])
    met = [one for one in search.built if goal.met(one)]
    assert (chosen in met) if met else chosen is None
    if not met:
        assert str(no_design(search)).endswith(", or more --budget")


def test_a_design_that_outgrows_the_limit_on_test_rows_is_replaced(make) -> None:
    def wider(job: Any, budget: int, train: Any, test: Any) -> Candidate:
        found = made(job, budget, train, test)
        if len(train) == 6:
            # The test rows ask for more bits.
            return Candidate(**{**found.__dict__, "lut": found.lut + 10 * (not test.max() < 9)})
        return Candidate(**{**found.__dict__, "lut": 5000})

    search = make(Goal(luts=1000), wider)
    search.held_out = ROWS[6:8]
    chosen = choose(search)
    final = refitted(search, chosen, ROWS[:8], ROWS[8:])
    assert final.lut <= 1000 and final.budget <= chosen.budget


def test_a_search_of_one_kind_takes_the_same_course_twice(make) -> None:
    one, other = make(Goal(luts=777)), make(Goal(luts=777))
    assert choose(one) == choose(other)
    assert one.pool.rounds == other.pool.rounds


def test_latency_is_in_whole_cycles_of_the_clock() -> None:
    assert cycles_of(None, 100) is None
    assert cycles_of(30, 100) == 3 and cycles_of(39.9, 100) == 3 and cycles_of(30, 250) == 7
    # 0.1 + 0.2 of a microsecond, as floats have it.
    assert cycles_of(0.3 * 1e3, 10) == 3
    with pytest.raises(OptionError) as caught:
        cycles_of(5, 100)
    assert str(caught.value) == (
        "--latency must be at least one cycle, 10 ns at 100 MHz, not 5 ns; allow more, or raise "
        "--clock"
    )


def test_an_error_is_for_all_targets_or_for_each() -> None:
    assert for_targets((1.0,), 3) == (1.0, 1.0, 1.0) and for_targets((1.0, 2.0), 2) == (1.0, 2.0)
    assert for_targets(None, 2) is None
    with pytest.raises(OptionError, match="or one for each of the 3 targets, not 2"):
        for_targets((1.0, 2.0), 3)
