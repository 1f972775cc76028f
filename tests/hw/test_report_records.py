"""What a page shows of a machine with memory over time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scm_hw.report._html_records import autocorrelation, one_step, records_sections
from scm_model.memory import positions
from tests.hw.test_records import designed


def test_errors_with_a_memory_are_told_from_noise() -> None:
    noise = np.random.default_rng(0).normal(size=2000)
    band = 1.96 / np.sqrt(2000)
    assert (np.abs(autocorrelation(noise, 40)) > band).mean() < 0.15
    found = autocorrelation(noise[1:] + 0.8 * noise[:-1], 40)
    assert_allclose(found[0], 0.8 / 1.64, atol=0.05)
    assert np.abs(found[1:]).max() < 0.1
    assert autocorrelation(np.ones(5), 40).tolist() == [0.0] * 4


def test_one_step_sees_the_measured_outputs() -> None:
    design, rows = designed("feedback")
    model, evaluation = design.model, design.model.evaluation
    found = one_step(design, rows, np.flatnonzero(rows.scored))
    full = model.memory.complete(evaluation.first)
    ahead = model.predict(evaluation.inputs, first=evaluation.first, outputs=evaluation.targets)
    # From where all rows of the past are scored ones.
    deep = positions(evaluation.first)[full] >= 2 * model.memory.depth
    assert deep.sum() > 20
    assert_allclose(found[deep], ahead[full][deep], atol=1e-12)
    free = model.predict(evaluation.inputs, first=evaluation.first, simulate=True)
    assert np.abs(found[deep] - free[full][deep]).max() > 1e-3


@pytest.mark.parametrize("kind", ["open", "feedback", "recurrent"])
def test_a_page_shows_records_over_time(kind: str) -> None:
    design, rows = designed(kind)
    (shown,) = records_sections(design, rows)
    page = str(shown.body)
    assert page.count('class="chart"') == 3 * min(3, design.model.outputs)
    assert ("one step ahead" in page) == (kind == "feedback")
    assert "Autocorrelation of the errors" in page


def test_classes_have_no_such_section() -> None:
    assert records_sections(*designed("classes")) == []
