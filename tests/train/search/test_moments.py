from __future__ import annotations

import numpy as np

from scm_train.search.moments import best

ENERGY = np.array([3.0, 5.0])


def test_of_equal_candidates_the_first_drawn_is_best() -> None:
    xi = np.array([[0.1, 0.5, 0.2, 0.5], [0.1, 0.25, 0.2, 0.25]])
    xi[0, 3] += 1e-15
    assert best(xi, ENERGY) == 1


def test_a_candidate_passes_on_every_output_or_not_at_all() -> None:
    xi = np.array([[9.0, 0.1, 0.2, -np.inf], [-0.1, 0.1, 0.2, -np.inf]])
    assert best(xi, ENERGY) == 2
    assert best(xi[:, [0, 3]], ENERGY) is None
