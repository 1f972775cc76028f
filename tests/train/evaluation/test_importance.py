"""What shuffling a feature does to the error, on machines whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from scm_train.evaluation.importance import importance, ranked
from tests.train.machines import inputs, machine


def linear(**changes):
    """Outputs that are a sum of inputs, with weights that are known."""
    m = machine(**changes)
    return replace(m, readout=m.readout * 0, intercept=m.intercept * 0, linear=m.linear * 0)


def test_the_rise_is_that_of_the_part_of_a_feature():
    m = linear()
    weights = np.zeros_like(m.linear)
    weights[0], weights[1] = 0.6, 0.2
    m = replace(m, linear=weights)
    X = inputs(2000)
    found = importance(m, X, m.predict(X))
    # Of independent columns the difference of two draws has twice the variance of one.
    spread = m.predict(X)[:, 0].std() / (m.target_max - m.target_min)[0] / np.hypot(0.6, 0.2)
    assert_allclose(found[m.features[0]], 0.6 * np.sqrt(2) * spread, rtol=0.1)
    assert_allclose(found[m.features[1]], 0.2 * np.sqrt(2) * spread, rtol=0.1)
    assert all(found[name] == 0 for name in m.features[2:])
    assert [name for name, _ in ranked(found)[:2]] == list(m.features[:2])


def test_the_rows_stay_as_they_are_and_so_does_the_answer():
    m = machine()
    X = inputs(50)
    before = X.copy()
    assert importance(m, X, m.predict(X)) == importance(m, X, m.predict(X))
    assert_allclose(X, before, atol=0)
