"""The search for a bit: compiled and in NumPy the same, and right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_train.families.bits import Rows, addresses, best_bit, best_bits_reference


def problem(seed, rows=200, signals=4, cells=4, most=9):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, most, signals)
    reached = np.stack([rng.integers(0, c + 1, rows) for c in counts]).astype(np.uint8)
    data = Rows(reached, rng.integers(-1000, 1000, rows), rng.integers(0, 5, rows))
    cell = rng.integers(0, cells, rows).astype(np.uint8)
    prices = rng.integers(0, 4, (signals, most)).astype(float)
    return data, counts, cell, cells, 2.0, prices, 6.0, 100.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_compiled_search_is_the_reference(seed):
    case = problem(seed)
    assert best_bit(*case) == best_bits_reference(*case)


def test_search_finds_the_split_that_explains_the_gradients():
    level = np.arange(100) % 10
    data = Rows(
        np.stack([np.zeros(100), level]).astype(np.uint8),
        np.where(level > 6, 50, -50),
        np.ones(100, np.int64),
    )
    found = best_bit(
        data, np.array([3, 9]), np.zeros(100, np.uint8), 1, 1.0, np.zeros((2, 9)), 1.0, 0.0
    )
    assert (found.signal, found.threshold) == (1, 6)


def test_price_decides_between_bits_of_like_gain():
    level = np.arange(100) % 2
    data = Rows(np.stack([level, level]).astype(np.uint8), 2 * level - 1, np.ones(100, np.int64))
    prices = np.array([[5.0], [1.0]])
    cell = np.zeros(100, np.uint8)
    assert best_bit(data, np.array([1, 1]), cell, 1, 1.0, prices, 1.0, 0.0).signal == 1


def test_nothing_is_found_where_no_bit_gains():
    data = Rows(np.zeros((1, 8), np.uint8), np.ones(8, np.int64), np.ones(8, np.int64))
    base = 8.0**2 / 9
    found = best_bit(
        data, np.array([1]), np.zeros(8, np.uint8), 1, 1.0, np.zeros((1, 1)), 1.0, base
    )
    assert found is None


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
