from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from scm_train.chunks import ChunkMap
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.solve.linear import LinearPart, LocalSums, fit_linear

SERIAL = ChunkMap(None)


def problem(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.random((rows, 6))
    t = np.stack([2 * x[:, 0] - x[:, 3] + 0.5, x[:, 1]], axis=1)
    return x, t + 0.05 * rng.standard_normal(t.shape)


def unit_rows(x: np.ndarray) -> ScaledRows:
    return ScaledRows(x, np.zeros(x.shape[1]), np.ones(x.shape[1]))


def fitted(parts: list[tuple[ScaledRows, np.ndarray]], alpha: float) -> LinearPart:
    return fit_linear(LocalSums(parts, SERIAL), alpha)


@pytest.mark.parametrize("alpha", [0.01, 2.0, 20.0])
def test_minimises_the_papers_objective_as_scikit_learn_does(alpha: float) -> None:
    x, t = problem()
    found = fitted([(unit_rows(x), t)], alpha)
    for q in range(2):
        reference = Lasso(alpha / (2 * len(x)), tol=1e-12).fit(x, t[:, q])
        np.testing.assert_allclose(found.weights[:, q], reference.coef_, atol=1e-8)
        np.testing.assert_allclose(found.intercept[q], reference.intercept_, atol=1e-8)


def test_alpha_zero_is_least_squares() -> None:
    x, t = problem()
    design = np.column_stack([x, np.ones(len(x))])
    reference = np.linalg.lstsq(design, t, rcond=None)[0]
    found = fitted([(unit_rows(x), t)], 0.0)
    np.testing.assert_allclose(found.weights, reference[:-1], atol=1e-10)
    np.testing.assert_allclose(found.intercept, reference[-1], atol=1e-10)


def test_selected_inputs_shrink_with_alpha() -> None:
    x, t = problem()
    kept = [fitted([(unit_rows(x), t[:, :1])], a).selected for a in (0.0, 5.0, 1e6)]
    assert kept == [[0, 1, 2, 3, 4, 5], [0, 3], []]


def test_intercept_is_the_mean_of_the_targets_when_nothing_is_selected() -> None:
    x, t = problem()
    np.testing.assert_allclose(fitted([(unit_rows(x), t)], 1e6).intercept, t.mean(axis=0))


def test_repeated_and_constant_inputs_are_no_obstacle(recwarn: pytest.WarningsRecorder) -> None:
    x, t = problem()
    x = np.column_stack([x, x[:, 0], np.full(len(x), 0.25)])
    found = fitted([(unit_rows(x), t)], 0.001)
    plain = fitted([(unit_rows(x[:, :6]), t)], 0.001)
    np.testing.assert_allclose(found(x), plain(x[:, :6]), atol=1e-5)
    assert not recwarn


def test_sees_quantised_inputs() -> None:
    x, t = problem()
    encoder = fit_encoder("thermometer:3", x, input_bits=2)
    coarse = ScaledRows(x, np.zeros(6), np.ones(6), encoder)
    reference = fitted([(unit_rows((np.floor(x * 4) + 0.5) / 4), t)], 0.01)
    np.testing.assert_allclose(fitted([(coarse, t)], 0.01).weights, reference.weights)
