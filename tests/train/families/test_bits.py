"""The search for a bit: compiled and in NumPy the same, and right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_train.families.bits import (
    SignalRows,
    SupportSearch,
    addresses,
    find_support,
    find_support_reference,
)


def problem(seed, rows=200, signals=4, most=9):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, most, signals)
    reached = np.stack([rng.integers(0, c + 1, rows) for c in counts]).astype(np.uint8)
    data = SignalRows(reached, rng.integers(-1000, 1000, rows), rng.integers(0, 5, rows))
    prices = rng.integers(0, 4, (signals, most)).astype(float)
    return data, SupportSearch(counts, prices, 2.0, 6.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_compiled_search_is_the_reference(seed, bits):
    case = problem(seed)
    assert find_support(*case, bits) == find_support_reference(*case, bits)


def test_a_support_has_no_bit_twice():
    for seed in range(50):
        support = find_support(*problem(seed, rows=12, signals=2, most=4), 5)
        assert len(set(support)) == len(support)


def test_search_finds_the_split_that_explains_the_gradients():
    level = np.arange(100) % 10
    data = SignalRows(
        np.stack([np.zeros(100), level]).astype(np.uint8),
        np.where(level > 6, 50, -50),
        np.ones(100, np.int64),
    )
    assert find_support(data, SupportSearch(np.array([3, 9]), np.zeros((2, 9)), 1.0, 1.0), 5) == [
        (1, 6)
    ]


def test_price_decides_between_bits_of_like_gain():
    level = np.arange(100) % 2
    data = SignalRows(
        np.stack([level, level]).astype(np.uint8), 2 * level - 1, np.ones(100, np.int64)
    )
    search = SupportSearch(np.array([1, 1]), np.array([[5.0], [1.0]]), 1.0, 1.0)
    assert find_support(data, search, 1) == [(1, 0)]


def test_nothing_is_found_where_no_bit_gains():
    data = SignalRows(np.zeros((1, 8), np.uint8), np.ones(8, np.int64), np.ones(8, np.int64))
    assert find_support(data, SupportSearch(np.array([1]), np.zeros((1, 1)), 1.0, 1.0), 5) == []


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_addresses_have_the_first_bit_lowest(bits):
    rng = np.random.default_rng(bits)
    reached = rng.integers(0, 4, (5, 50)).astype(np.uint8)
    signals, thresholds = rng.integers(0, 5, bits), rng.integers(0, 3, bits)
    out = np.empty(50, np.uint8)
    addresses(reached, signals, thresholds, out)
    wanted = sum(
        (reached[s] > t).astype(int) << k
        for k, (s, t) in enumerate(zip(signals, thresholds, strict=True))
    )
    np.testing.assert_array_equal(out, wanted)
