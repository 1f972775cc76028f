"""Sums over the rows of a family: compiled and in NumPy the same, whole and in parts."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_train.families.losses import Squared
from scm_train.families.rows import (
    FamilyRows,
    Part,
    cells_and_sums,
    cells_and_sums_reference,
    chosen,
    chosen_reference,
    joined_rows,
    scale_of,
)

ROWS, SIGNALS = 1000, 7


def arrays(seed):
    rng = np.random.default_rng(seed)
    reached = rng.integers(0, 9, (SIGNALS, ROWS)).astype(np.uint8)
    targets, weights = rng.normal(size=(2, ROWS)), rng.integers(0, 4, ROWS) / 3
    return reached, targets, weights, rng.normal(size=(2, ROWS))


def rows(seed, own=slice(0, ROWS)):
    reached, targets, weights, scores = arrays(seed)
    loss = Squared(targets[:, own], weights[own])
    return FamilyRows(reached[:, own], loss, scores[:, own].copy(), own.start)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("first", [0, 12345])
def test_a_part_is_that_of_the_reference_and_as_large_as_asked(share, first):
    part = Part(2**63 - 17, share)
    found = chosen(part, first, 50_000)
    assert_array_equal(found, chosen_reference(part, first, 50_000))
    assert abs(len(found) / 50_000 - share) < 0.01
    assert share < 1 or len(found) == 50_000


def test_parts_of_one_key_are_nested_and_of_two_keys_independent():
    large, small = (chosen(Part(5, share), 0, 20_000) for share in (0.6, 0.3))
    assert np.isin(small, large).all()
    both = np.intersect1d(large, chosen(Part(6, 0.6), 0, 20_000))
    assert abs(len(both) / 20_000 - 0.36) < 0.02


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_compiled_sums_are_those_of_the_reference(bits):
    reached, targets, weights, _ = arrays(bits)
    support = np.random.default_rng(bits).integers(0, SIGNALS, (2, bits))
    slopes = (weights * targets[0], weights)
    own = rows(bits)
    scale = scale_of([own.extent(0)], ROWS)
    found = []
    for function in (cells_and_sums, cells_and_sums_reference):
        cell = np.empty(ROWS, np.uint8)
        sums = function(reached, slopes, tuple(support), Part(3, 0.8), scale, 40, cell)
        found.append((sums.gradients.tolist(), sums.weights.tolist(), sums.energy, cell.tolist()))
    assert found[0] == found[1]
    assert any(found[0][0]) and found[0][2] > 0


def test_rows_in_parts_are_the_rows_together():
    """As on a cluster: of any parts the same scale, search, sums and answers."""
    whole = rows(0)
    places = [rows(0, slice(a, b)) for a, b in ((0, 1), (1, 400), (400, ROWS))]
    part, signals = Part(9, 0.7), np.array([4, 0, 2])
    thresholds = np.array([3, 1, 5])
    for output in (0, 1, 0):
        scale = scale_of([whole.extent(output)], ROWS)
        assert scale == scale_of([one.extent(output) for one in places], ROWS)
        searched = whole.searched(Part(9, 0.2), scale, signals)
        joined = joined_rows([one.searched(Part(9, 0.2), scale, signals) for one in places])
        for name in ("reached", "gradients", "weights"):
            assert_array_equal(getattr(searched, name), getattr(joined, name))
        sums = whole.sums(part, scale, signals, thresholds)
        others = [one.sums(part, scale, signals, thresholds) for one in places]
        assert_array_equal(sums.gradients, sum(one.gradients for one in others))
        assert_array_equal(sums.weights, sum(one.weights for one in others))
        assert sums.energy == sum(one.energy for one in others)
        for one in (whole, *places):
            one.add(output, np.arange(8) / 8)
        assert_array_equal(whole.scores, np.concatenate([one.scores for one in places], axis=1))


def test_sums_keep_their_precision():
    """They differ from those of floats by no more than rounding each row to a whole number does."""
    own = rows(1)
    scale = scale_of([own.extent(0)], ROWS)
    _, targets, weights, scores = arrays(1)
    support = np.array([1]), np.array([4])
    sums = own.sums(Part(0, 1.0), scale, *support)
    above = own.reached[1] > 4
    slopes = weights * (targets[0] - scores[0])
    np.testing.assert_allclose(sums.gradients[1] / scale.slope, slopes[above].sum(), rtol=1e-9)
    np.testing.assert_allclose(sums.weights[0] / scale.slope, weights[~above].sum(), rtol=1e-9)
    left = slopes[weights > 0] ** 2 / weights[weights > 0]
    np.testing.assert_allclose(sums.energy / scale.energy, left.sum(), rtol=1e-9)
