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


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [
        ([9.0] * 20 + [5.0, 4.0, 6.0] + [7.0] * 17, 22 + choice.PATIENCE),
        ([9.0] * 30 + [8.0] * 10, 40),
        ([float(e) for e in range(50, 10, -1)], 40),
    ],
)
def test_growth_ends_when_unseen_rows_have_not_gained_for_long(errors, wanted) -> None:
    """Not before the first gain, and by the mean of all splits."""
    found = choice._mean_errors([iter(errors), iter([e + 2 for e in errors])])
    assert_array_equal(found, np.array(errors[:wanted]) + 1)


def test_errors_by_size_are_those_of_what_fits() -> None:
    rows, unseen = problem(0.2), problem(0.2, seed=1)
    sizes = choice._sizes(SIZE)
    errors = list(choice._growth(rows, unseen, 0, SETTINGS, SIZE, 0))
    growth, _ = grown(rows, luts=0.0)
    reached, scores = growth.pool.reached(unseen.codes), np.full((1, 500), rows.targets.mean())
    for place in (0, 10, choice.SIZES - 1):
        for _ in growth.grow(SIZE.luts, None):
            if growth.prices.total > sizes[place].luts:
                break
        fitting = growth.families[: -1 if place < choice.SIZES - 1 else None]
        found = scores.copy()
        apply(fitting, reached, found)
        assert errors[place] == pytest.approx(unseen.loss().error(found), rel=1e-12)
    assert len(errors) == choice.SIZES


@pytest.mark.parametrize(("gain", "fewest"), [(10.0, choice.FEWEST_BITS), (0.0, 5)])
@pytest.mark.parametrize("classes", [0, 2])
def test_varied_supports_need_less_error(monkeypatch, gain, fewest, classes) -> None:
    name = "CLASSES_GAIN" if classes else "VARIED_GAIN"
    monkeypatch.setattr(choice, name, gain)
    rows = problem(0.2)
    if classes:
        rows = replace(rows, targets=(rows.targets[:, 0] > 1.2).astype(int), classes=2)
    settings = choose(rows, 0.2, SIZE, SETTINGS, 0, 0).settings
    assert settings.fewest_bits == fewest
    assert (settings.drawn_thresholds is None) == (gain == 0)
