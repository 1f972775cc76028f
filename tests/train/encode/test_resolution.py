"""Bits of codes, by how far a few rows reach beyond all others."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from scm_model.encoder import MAX_INPUT_BITS
from scm_train import SCMClassifier
from scm_train.encode.resolution import plain_codes, sufficient_bits

AUTO = {"input_bits": "auto"}


def reaching(x, reach: float):
    """The inputs as they are scaled if one row lies ``reach`` ranges beyond the others."""
    return np.concatenate([x / reach, np.ones((1, x.shape[1]))])


@pytest.fixture
def even():
    return np.random.default_rng(0).uniform(size=(3000, 3))


def test_even_inputs_keep_twelve_bits(even) -> None:
    assert sufficient_bits(even) == 12


def test_a_constant_input_asks_for_nothing(even) -> None:
    assert sufficient_bits(np.c_[even, np.zeros(len(even))]) == 12


def test_one_far_row_takes_as_many_bits_as_its_distance(even) -> None:
    near, far = (sufficient_bits(reaching(even, 2.0**k)) for k in (9, 12))
    assert near > 12 and far == near + 3


def test_one_such_input_of_several_is_enough(even) -> None:
    x = reaching(even, 1.0)
    x[:-1, 0] /= 2.0**10
    assert sufficient_bits(x) > 12


def test_bits_end_with_those_that_a_code_may_have(even) -> None:
    assert sufficient_bits(reaching(even, 2.0**20)) == MAX_INPUT_BITS


def test_rows_on_a_cluster_get_the_same_bits(even) -> None:
    x = reaching(even, 2.0**10)
    low, high = np.zeros(3), np.ones(3)
    here, there = (plain_codes(AUTO, rows, low, high) for rows in (x, da.from_array(x, (500, 3))))
    assert here.input_bits == there.input_bits > 12


def test_what_is_asked_for_stays(even) -> None:
    x = reaching(even, 2.0**10)
    assert plain_codes({"input_bits": 9}, x, np.zeros(3), np.ones(3)).input_bits == 9


def test_a_class_below_a_far_row_is_learned() -> None:
    rng = np.random.default_rng(1)
    x = np.exp(4 * rng.normal(size=(600, 2)))
    y = (x[:, 0] > 1) ^ (x[:, 1] > 1)
    machine = SCMClassifier(luts=150, random_state=0).fit(x[:400], y[:400])
    coarse = SCMClassifier(luts=150, input_bits=12, random_state=0).fit(x[:400], y[:400])
    unseen = np.clip(x[400:], x[:400].min(axis=0), x[:400].max(axis=0))
    assert machine.score(unseen, y[400:]) > 0.9 > coarse.score(unseen, y[400:]) + 0.1
