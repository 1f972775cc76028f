from __future__ import annotations

import numpy as np
import pytest

from scm_train.chunks import ChunkMap, chunk_map
from scm_train.solve.readout import Readout, Shadow, ridge_path, ridge_solution

SERIAL = ChunkMap(None)


def sigmoids(rows: int, nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Nodes of small scale on few inputs: nearly collinear, as the paper's first lambda gives."""
    x = rng.random((rows, 6))
    signs = np.where(rng.random((6, nodes)) < 0.5, -1, 1)
    return 1 / (1 + np.exp(-0.5 * (x @ signs + rng.uniform(-1, 1, nodes))))


def grown(h: np.ndarray, targets: np.ndarray, shadow: Shadow | None = None) -> Readout:
    readout = Readout(targets, SERIAL, shadow)
    for column in h.T:
        readout.add(column, column[: len(shadow.targets)] if shadow else None)
    return readout


def close(found: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("nodes", [1, 12, 33])
def test_equals_least_squares(nodes: int) -> None:
    rng = np.random.default_rng(nodes)
    h, targets = rng.standard_normal((400, nodes)), rng.standard_normal((400, 3))
    readout = grown(h, targets)
    wanted = np.linalg.lstsq(h, targets, rcond=None)[0]
    assert close(ridge_solution(*readout.factors()), wanted)
    assert close(readout.residual, targets - h @ wanted)


def test_equals_least_squares_of_nearly_collinear_nodes() -> None:
    rng = np.random.default_rng(3)
    h, targets = sigmoids(800, 18, rng), rng.random((800, 1))
    assert np.linalg.cond(h) > 1e4
    wanted = np.linalg.lstsq(h, targets, rcond=None)[0]
    assert close(ridge_solution(*grown(h, targets).factors()), wanted)


def test_repeated_nodes_get_the_minimum_norm_readout() -> None:
    rng = np.random.default_rng(4)
    h, targets = rng.standard_normal((200, 10)), rng.standard_normal((200, 2))
    h[:, 5] = h[:, 1]
    h[:, 8] = h[:, 2] - 2 * h[:, 3]
    wanted = np.linalg.lstsq(h, targets, rcond=1e-12)[0]
    assert close(ridge_solution(*grown(h, targets).factors()), wanted)


def test_basis_stays_orthonormal() -> None:
    rng = np.random.default_rng(5)
    readout = grown(sigmoids(500, 40, rng), rng.random((500, 1)))
    basis = np.concatenate(readout.basis(slice(0, 500)))
    np.testing.assert_allclose(basis @ basis.T, np.eye(40), atol=1e-12)


def test_rewinding_restores_readout_and_residuals_to_the_last_bit() -> None:
    rng = np.random.default_rng(6)
    h, targets = sigmoids(300, 40, rng), rng.random((300, 2))
    full = grown(h, targets, Shadow(targets[:50].copy(), SERIAL))
    full.rewind(17)
    short = grown(h[:, :17], targets, Shadow(targets[:50].copy(), SERIAL))
    np.testing.assert_array_equal(full.residual, short.residual)
    np.testing.assert_array_equal(full.shadow.residual, short.shadow.residual)
    for found, wanted in zip(full.factors(), short.factors(), strict=True):
        np.testing.assert_array_equal(found, wanted)
    full.add(h[:, 20], h[:50, 20])
    short.add(h[:, 20], h[:50, 20])
    np.testing.assert_array_equal(full.residual, short.residual)


def test_shadow_follows_the_readout_on_other_rows() -> None:
    rng = np.random.default_rng(7)
    h, targets = rng.standard_normal((300, 20)), rng.random((300, 2))
    other, other_targets = rng.standard_normal((40, 20)), rng.random((40, 2))
    readout = Readout(targets, SERIAL, Shadow(other_targets, SERIAL))
    for k in range(20):
        readout.add(h[:, k], other[:, k])
    beta = np.linalg.lstsq(h, targets, rcond=None)[0]
    np.testing.assert_allclose(readout.shadow.residual, other_targets - other @ beta, atol=1e-12)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(8)
    h, targets = rng.standard_normal((200_000, 3)), rng.random((200_000, 1))
    with chunk_map() as threads:
        several = Readout(targets, threads)
        for column in h.T:
            several.add(column)
        single = grown(h, targets)
    np.testing.assert_array_equal(several.residual, single.residual)


@pytest.mark.parametrize("ridge", [1e-3, 10.0])
def test_ridge_equals_the_normal_equations(ridge: float) -> None:
    rng = np.random.default_rng(9)
    h, targets = rng.standard_normal((200, 12)), rng.standard_normal((200, 2))
    wanted = np.linalg.solve(h.T @ h + ridge * np.eye(12), h.T @ targets)
    found = ridge_solution(*grown(h, targets).factors(), ridge)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_no_nodes_have_an_empty_readout() -> None:
    assert ridge_solution(*grown(np.empty((5, 0)), np.ones((5, 2))).factors()).shape == (0, 2)


def test_one_factorisation_serves_all_ridges() -> None:
    rng = np.random.default_rng(4)
    factor, moments = rng.standard_normal((9, 7)), rng.standard_normal((9, 2))
    factor[:, 3] = factor[:, 1]
    ridges = np.array([0.0, 0.5, 30.0])
    path = ridge_path(factor, moments, ridges)
    for ridge, found in zip(ridges, path, strict=True):
        np.testing.assert_array_equal(found, ridge_solution(factor, moments, ridge))
        slope = factor.T @ (factor @ found - moments) + ridge * found
        assert np.abs(slope).max() < 1e-12


def test_the_rounded_basis_follows_the_nodes() -> None:
    rng = np.random.default_rng(5)
    h, targets = rng.standard_normal((70_000, 40)), rng.standard_normal((70_000, 1))
    readout = grown(h[:, :35], targets)
    assert len(np.concatenate(readout.rounded_basis()(slice(5, 9)))) == 35
    readout.rewind(15)
    for column in h.T[35:]:
        readout.add(column)
    rows = slice(3, 69_000)
    found = np.concatenate(readout.rounded_basis()(rows))
    np.testing.assert_array_equal(found, np.concatenate(readout.basis(rows)).astype(np.float32))
