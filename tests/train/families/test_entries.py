"""Entries of few bits."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_train.families.entries import round_entries


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 3))
def test_entries_are_on_a_grid_of_few_bits(seed, narrowest, more):
    rng = np.random.default_rng(seed)
    wanted, weights = rng.normal(size=32), rng.integers(0, 3, 32).astype(float)
    entries = round_entries(wanted, weights, range(narrowest, narrowest + more + 1), 2.8, -10)
    assert entries is not None
    steps = entries.values / 2.0**entries.place
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert np.ptp(steps) < 2**entries.bits
    assert narrowest <= entries.bits <= narrowest + more
    assert entries.place >= -10


def test_entries_that_need_few_bits_are_kept_whole():
    wanted = np.array([0.0, 0.25, 0.5, 0.75])
    entries = round_entries(wanted, np.ones(4), range(2, 6), 2.8, -16)
    np.testing.assert_array_equal(entries.values, wanted)
    assert entries.bits == 2


def test_cell_without_rows_has_the_entry_nearest_to_nothing():
    wanted, weights = np.array([1.0, 2.0, -5.0, 4.0]), np.array([1.0, 1.0, 0.0, 1.0])
    entries = round_entries(wanted, weights, range(2, 3), 2.8, -16)
    assert entries.values[2] == min(entries.values, key=abs)


def test_entries_that_are_all_alike_are_none():
    assert round_entries(np.ones(4), np.ones(4), range(2, 6), 2.8, -16) is None
    assert round_entries(np.ones(4), np.zeros(4), range(2, 6), 2.8, -16) is None
