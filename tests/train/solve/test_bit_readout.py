from __future__ import annotations

import numpy as np
import pytest

from scm_train.chunks import ChunkMap
from scm_train.solve import packed
from scm_train.solve.bit_readout import BitNodes, BitReadout, Residual, WholeNumbers
from scm_train.solve.readout import Readout, Shadow

SERIAL = ChunkMap(None)


def problem(nodes: int, rows: int = 1500, held: int = 300):
    """Signs and steps in turns, on rows and on rows held back, and targets for both."""
    rng = np.random.default_rng(nodes)
    x = rng.random((rows + held, 6))
    sums = rng.standard_normal((nodes, 6)) @ (x - 0.5).T
    bits = sums > np.array([np.quantile(own, rng.uniform(0.2, 0.8)) for own in sums])[:, None]
    outputs = np.where(np.arange(nodes)[:, None] % 2, bits, 2.0 * bits - 1)
    targets = np.stack([np.sin(5 * x[:, 0]) * x[:, 1], x[:, 2] ** 2 - x[:, 3]], axis=1)
    return outputs[:, :rows], targets[:rows], outputs[:, rows:], targets[rows:]


def readouts(nodes: int):
    """Both readouts after the same nodes."""
    h, targets, held_h, held = problem(nodes)
    ours = BitReadout(targets, SERIAL, Residual(held, SERIAL))
    theirs = Readout(targets, SERIAL, Shadow(held, SERIAL))
    for own, held_own in zip(h, held_h, strict=True):
        ours.add(own, held_own)
        theirs.add(own, held_own)
    return ours, theirs


def same(ours: BitReadout, theirs: Readout) -> None:
    np.testing.assert_allclose(ours.residual, theirs.residual, atol=1e-11)
    assert (ours.rmse, ours.shadow.rmse) == pytest.approx((theirs.rmse, theirs.shadow.rmse))
    for found, wanted in zip(ours.factors(), theirs.factors(), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("nodes", [1, 8, 33, 70, 300])
def test_is_the_readout_by_gram_schmidt(nodes: int) -> None:
    ours, theirs = readouts(nodes)
    assert len(ours) == nodes
    same(ours, theirs)


def test_a_sign_node_that_fires_on_all_rows_is_one_on_the_others() -> None:
    h, targets, held_h, held = problem(5)
    h[0] = 1.0
    ours = BitReadout(targets, SERIAL, Residual(held, SERIAL))
    theirs = Readout(targets, SERIAL, Shadow(held, SERIAL))
    for own, held_own in zip(h, held_h, strict=True):
        ours.add(own, held_own)
        theirs.add(own, held_own)
    assert held_h[0].min() == -1
    same(ours, theirs)


def test_knows_products_with_what_it_never_writes_down() -> None:
    ours, theirs = readouts(300)
    bits = np.random.default_rng(1).random((5, 1500)) < 0.5
    nodes = BitNodes.of(packed.pack(bits), "sign", 1500)
    h = 2.0 * bits - 1
    np.testing.assert_allclose(ours.projections(nodes), theirs.projection(h.T).T, atol=1e-9)
    np.testing.assert_allclose(ours.correlations(nodes), h @ theirs.residual, atol=1e-9)
    for k in range(5):
        alone = ours.correlation(nodes.subset(slice(k, k + 1)))
        np.testing.assert_allclose(alone, h[k] @ theirs.residual, atol=1e-9)
    np.testing.assert_array_equal(nodes.square_norms, 1500.0)
    np.testing.assert_array_equal(nodes.outputs(3), h[3])


def test_rows_are_looked_at_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Energy and products of single nodes need none; a fit that is exact is measured."""
    ours, theirs = readouts(70)
    passes = []
    right = packed.subtract_sums
    monkeypatch.setattr(
        packed, "subtract_sums", lambda *args: passes.append(len(args[0])) or right(*args)
    )
    energy = ours.energy
    ours.correlation(ours.nodes(slice(0, 1)))
    assert not passes
    np.testing.assert_allclose(energy, (theirs.residual**2).sum(axis=0), rtol=1e-9)
    assert ours.residual.shape == theirs.residual.shape
    assert ours.residual is not None
    assert len(passes) == 1
    # What is left is a billionth of the targets: the difference of two squares would be rounding.
    h, noise = problem(70)[0][:3], np.random.default_rng(0).standard_normal((1500, 1))
    exact = BitReadout(h.T @ np.ones((3, 1)) + 1e-9 * noise, SERIAL)
    for own in h:
        exact.add(own)
    assert exact.rmse == pytest.approx(1e-9, rel=0.1)


def test_rewinding_leaves_no_trace() -> None:
    longer, _ = readouts(70)
    h, _, held_h, _ = problem(70)
    shorter = BitReadout(longer.targets, SERIAL, Residual(problem(70)[3], SERIAL))
    for own, held_own in zip(h[:21], held_h[:21], strict=True):
        shorter.add(own, held_own)
    longer.rewind(21)
    for more in (40, 41):
        assert len(longer) == len(shorter)
        np.testing.assert_array_equal(longer.residual, shorter.residual)
        assert longer.shadow.rmse == shorter.shadow.rmse
        # Bits of nodes that are gone do not come back with the next.
        for readout in (longer, shorter):
            readout.add(h[more], held_h[more])


def test_whole_numbers_are_as_fine_as_floats() -> None:
    values = np.random.default_rng(3).standard_normal((1000, 2)) * [1e-9, 1e6]
    for column in values.T:
        whole = WholeNumbers.of(column[:, None])
        np.testing.assert_allclose(
            whole.whole[0] * whole.unit, column, atol=1e-14 * abs(column).max()
        )
    assert not WholeNumbers.of(np.zeros((10, 2))).whole.any()
