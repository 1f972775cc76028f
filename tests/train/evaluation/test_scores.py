from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_train.errors import DataError
from scm_train.evaluation.scores import class_indices, score
from tests.train.machines import inputs, machine


def test_regression_errors_in_both_units():
    m = machine()
    X = inputs(50)
    targets = m.predict(X) + np.array([0.4, -1.2])
    scores = score(m, X, targets)
    assert_allclose(scores["rmse_raw"]["y0"], 0.4)
    assert_allclose(scores["rmse_raw"]["y1"], 1.2)
    assert_allclose(scores["rmse"], np.sqrt((0.1**2 + 0.3**2) / 2))


def test_a_classifier_has_accuracy():
    m = machine(classes=("a", "b"))
    certain = replace(m, readout=m.readout * 0, linear=m.linear * 0, intercept=np.array([1.0, 0]))
    scores = score(certain, inputs(4), np.array([0, 0, 0, 1]))
    assert scores["accuracy"] == 0.75
    assert_allclose(scores["rmse"], np.sqrt(2 / 8))


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (("low", "high"), np.array(["high", "low", "high"])),
        ((1.0, 2.0), np.array([2, 1, 2])),
        ((1, 2), np.array([2.0, 1.0, 2.0])),
        ((False, True), np.array(["True", "False", "True"])),
        ((False, True), np.array([True, False, True])),
        (("0", "1"), np.array([1, 0, 1])),
    ],
)
def test_labels_are_found_however_they_were_read(classes, labels):
    assert_array_equal(class_indices(machine(classes=classes), labels), [1, 0, 1])


def test_unknown_labels():
    with pytest.raises(DataError, match="2 classes, not 'hihg'; did you mean 'high'"):
        class_indices(machine(classes=("low", "high")), np.array(["low", "hihg"]))
