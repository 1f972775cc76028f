"""What unseen rows decide, and the refit at the end."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_train.families import choice
from scm_train.families.choice import Size, choose
from scm_train.families.growth import FamilySettings, apply
from scm_train.families.problem import Problem, linear_scores
from scm_train.families.start import start

SIZE = Size(300.0)
SETTINGS = FamilySettings.for_budget(300.0, classifier=False)


def problem(noise: float, rows: int = 500, seed: int = 0) -> Problem:
    """A step of two inputs' product beside a line; the line is steeper than the step is high."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, size=(rows, 3))
    x = codes / 256
    y = 2 * x[:, 2] + (x[:, 0] > 0.5) * (x[:, 1] > 0.3) + noise * rng.normal(size=rows)
    return Problem(codes, y[:, None], np.ones(rows), 0, 8)


def grown(rows: Problem, settings: FamilySettings = SETTINGS, luts: float = 300.0):
    growth, weights, intercept = start(rows, 0, settings, 0)
    for _ in growth.grow(luts, None):
        pass
    scores = linear_scores(rows, weights, intercept)
    reached = growth.pool.reached(rows.codes)

    def error() -> float:
        found = scores.copy()
        apply(growth.families, reached, found)
        return rows.loss().error(found)

    return growth, error


def test_a_line_is_left_to_the_linear_part() -> None:
    assert choose(problem(0.05), 0.2, SIZE, SETTINGS, 0, 3).inputs == 3


def test_the_other_penalty_needs_less_error(monkeypatch) -> None:
    """With any gain enough, and with none that is."""
    for gain, wanted in ((10.0, choice.NOISY_PENALTY), (0.0, SETTINGS.penalty)):
        monkeypatch.setattr(choice, "NOISY_GAIN", gain)
        assert choose(problem(0.2), 0.2, SIZE, SETTINGS, 0, 0).settings.penalty == wanted


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_of_two_features_is_left_to_their_sum_or_difference(sign: int) -> None:
    rows = problem(0.0, choice.PAIRED_ROWS)
    signal = rows.codes[:, 0] + sign * rows.codes[:, 1]
    noise = 0.05 * np.random.default_rng(1).normal(size=len(rows))
    step = (signal > np.median(signal)) + noise
    for targets, wanted in ((step, choice.PAIRS), (rows.codes[:, 0] / 256 + noise, 0)):
        own = replace(rows, targets=targets[:, None])
        assert choose(own, 0.2, SIZE, SETTINGS, 0, 0).settings.pairs == wanted


def test_signals_of_two_features_need_less_error_many_rows_and_few_features(monkeypatch) -> None:
    for gain, least, most, wanted in (
        (10.0, 500, 3, choice.PAIRS),
        (0.0, 500, 3, 0),
        (10.0, 501, 3, 0),
        (10.0, 500, 2, 0),
    ):
        monkeypatch.setattr(choice, "PAIRS_GAIN", gain)
        monkeypatch.setattr(choice, "PAIRED_ROWS", least)
        monkeypatch.setattr(choice, "MOST_PAIRED", most)
        assert choose(problem(0.2), 0.2, SIZE, SETTINGS, 0, 0).settings.pairs == wanted


def test_rows_that_are_given_choose() -> None:
    """Rows that are learned from ask for more of the budget than others, and for a refit."""
    rows = problem(1.0)
    own, others = (
        choose(rows, unseen, SIZE, SETTINGS, 0, 0) for unseen in (rows, problem(1.0, 500, 1))
    )
    assert own.size.luts > 1.3 * others.size.luts and own.refit
    assert own.settings.penalty == SETTINGS.penalty


def test_refit_lowers_the_error_and_keeps_the_cost() -> None:
    growth, error = grown(problem(0.2))
    families, before = list(growth.families), error()
    growth.refit()
    assert error() < 0.99 * before
    for old, new in zip(families, growth.families, strict=True):
        assert old.entries.bits == new.entries.bits
        assert_array_equal(old.thresholds, new.thresholds)
        steps = new.entries.values / 2.0**new.entries.place
        assert_array_equal(steps, np.rint(steps))
        assert np.ptp(steps) < 2**new.entries.bits


def test_refit_without_anything_left_changes_nothing() -> None:
    rows = problem(0.0)
    growth, error = grown(rows, replace(SETTINGS, shrinkage=1.0, penalty=0.0))
    for _ in range(20):
        growth.refit()
    families, before = list(growth.families), error()
    growth.refit()
    assert error() == pytest.approx(before, rel=0.02)
    same = [a is b for a, b in zip(families, growth.families, strict=True)]
    assert np.mean(same) > 0.5
