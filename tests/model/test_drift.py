"""The drift flag: where its alarm is set, and how often it is false."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scm_model.drift import SAMPLES_TO_FALSE_ALARM, Drift, no_drift, watch

SHAPES = {
    "half normal": lambda rng: np.abs(rng.normal(0, 60, 400)).astype(np.int64),
    "exponential": lambda rng: rng.exponential(40, 400).astype(np.int64),
    "rarely large": lambda rng: np.where(rng.random(400) < 0.03, 400, 20),
}


def samples_to_alarm(drift: Drift, errors: np.ndarray) -> int:
    """How many of the errors come before the first alarm; all of them without one."""
    excess = 0
    for number, error in enumerate(errors.tolist()):
        excess = drift.excess(excess, error)
        if drift.flag(excess):
            return number
    return len(errors)


def mean_run(drift: Drift, errors: np.ndarray, runs: int = 40, most: int = 4000) -> float:
    """The mean number of samples to a false alarm, from a censored exponential."""
    rng = np.random.default_rng(5)
    lengths = [samples_to_alarm(drift, rng.choice(errors, most)) for _ in range(runs)]
    alarms = sum(length < most for length in lengths)
    return sum(lengths) / max(alarms, 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_false_alarms_are_as_rare_as_they_are_said_to_be(shape: str) -> None:
    errors = SHAPES[shape](np.random.default_rng(1))
    drift = watch(errors)
    assert mean_run(drift, errors) >= SAMPLES_TO_FALSE_ALARM
    # With half the threshold they come early, and this test sees it.
    sooner = replace(drift, threshold=drift.threshold // 2)
    assert mean_run(sooner, errors) < SAMPLES_TO_FALSE_ALARM / 4


@pytest.mark.parametrize("shape", SHAPES)
def test_errors_that_have_doubled_are_found(shape: str) -> None:
    rng = np.random.default_rng(1)
    errors = SHAPES[shape](rng)
    assert samples_to_alarm(watch(errors), 2 * rng.choice(errors, 2000)) < 400


def test_the_excess_stays_in_its_register_and_the_flag_falls_again() -> None:
    drift = Drift(10, 100)
    excess = drift.excess(0, 10**9)
    assert excess == drift.top == 127 and drift.flag(excess)
    for _ in range(3):
        excess = drift.excess(excess, 0)
    assert not drift.flag(excess)
    assert drift.excess(5, 0) == 0


def test_equal_errors_are_no_drift() -> None:
    drift = watch(np.full(20, 7))
    assert samples_to_alarm(drift, np.full(1000, 7)) == 1000
    assert samples_to_alarm(drift, np.full(1000, 9)) < 20


def test_without_errors_there_is_no_alarm() -> None:
    assert samples_to_alarm(no_drift(), np.full(100, 10**6)) == 100
