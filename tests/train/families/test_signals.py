"""Signals, their thresholds, and the pool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scm_train.families.signals import MOST_THRESHOLDS, Signal, make_pool, random_pairs, roundest


@given(st.integers(-5000, 5000), st.integers(1, 5000))
def test_roundest_number_of_a_gap(low, size):
    found = int(roundest(np.array([low]), np.array([low + size]))[0])

    def zeros(value):
        return 64 if value == 0 else (value & -value).bit_length()

    inside = range(low + 1, low + size + 1)
    assert found in inside
    assert zeros(found) == max(map(zeros, inside))


def test_thresholds_tell_training_values_apart():
    codes = np.array([[3], [9], [9], [200]])
    pool = make_pool(codes, [])
    assert pool.thresholds[0].tolist() == [8, 128]
    assert pool.reached(codes).tolist() == [[0, 1, 1, 2]]


def test_constant_signals_are_left_out():
    codes = np.array([[5, 1], [5, 2]])
    pool = make_pool(codes, [Signal((0, 1), (1, -1))])
    assert pool.signals == (Signal((1,)), Signal((0, 1), (1, -1)))


def test_many_values_have_thresholds_at_quantiles():
    codes = np.arange(4096)[:, None]
    pool = make_pool(codes, [], most=3)
    assert len(pool.thresholds[0]) == 3
    shares = [(codes >= t).mean() for t in pool.thresholds[0]]
    assert shares == pytest.approx([0.75, 0.5, 0.25], abs=0.01)
    assert len(make_pool(codes, []).thresholds[0]) == MOST_THRESHOLDS


def test_pairs_are_different_and_as_many_as_there_are():
    rng = np.random.default_rng(0)
    assert len(set(random_pairs(5, 7, rng))) == 7
    assert len(random_pairs(3, 100, rng)) == 6


def test_signal_of_two_features():
    codes = np.array([[1, 10], [4, 2]])
    assert Signal((0, 1), (1, -1)).values(codes).tolist() == [-9, 2]


def test_thresholds_reached_by_many_rows_and_by_few():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 500, (3000, 2))
    pool = make_pool(codes, [Signal((0, 1), (1, -1))], most=9)
    assert pool.reached(codes).max() == 9
    for few in (codes, codes[:40]):
        values = np.stack([signal.values(few) for signal in pool.signals])
        wanted = [
            (own[:, None] >= t).sum(axis=1) for own, t in zip(values, pool.thresholds, strict=True)
        ]
        np.testing.assert_array_equal(pool.reached(few), wanted)
