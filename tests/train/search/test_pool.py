from __future__ import annotations

import numpy as np
import pytest

from scm_train import SCMClassifier, SCMRegressor, paper_settings
from scm_train.chunks import ChunkMap, chunk_map
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.errors import ParameterError
from scm_train.history import History
from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import first_inputs
from scm_train.search.pool import PoolSearch
from scm_train.search.search import SearchSettings
from scm_train.solve import packed
from scm_train.solve.bit_readout import BitReadout

SERIAL = ChunkMap(None)
R_VALUES = (0.9, 0.99, 0.999, 0.9999)


def problem(encoder: str = "none", rows: int = 700):
    rng = np.random.default_rng(0)
    x = rng.random((rows, 4))
    targets = np.stack([np.sin(5 * x[:, 0]) * x[:, 1], np.cos(4 * x[:, 2])], axis=1)
    fitted = fit_encoder(encoder, x, input_bits=10)
    inputs = first_inputs(ScaledRows(x, np.zeros(4), np.ones(4), fitted))
    return inputs, targets - targets.mean(axis=0)


def search(lambdas=(0.5, 5.0), r_values=R_VALUES, seed: int = 5) -> PoolSearch:
    settings = SearchSettings(lambdas, r_values, "exact", pool=True)
    draw = CandidateDraw(inputs_per_node=(1, 2))
    return PoolSearch(settings, draw, np.random.default_rng(seed), SERIAL, History())


def gains(pool, readout: BitReadout) -> np.ndarray:
    """What each candidate of the pool gains by least squares, from scratch."""
    rows = len(readout.targets)
    nodes = [readout.nodes().outputs(k) for k in range(len(readout))]
    basis = np.linalg.qr(np.reshape(nodes, (-1, rows)).T)[0]
    found = []
    for k in range(len(pool._norm)):
        h = pool._nodes.outputs(k)
        part = h - basis @ (basis.T @ h)
        usable = part @ part > 1e-6 * (h @ h) > 0
        found.append((readout.residual.T @ h) ** 2 / (part @ part) if usable else np.zeros(2))
    return np.array(found)


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("encoder", ["none", "thermometer:15"])
def test_takes_the_best_of_the_pool_under_the_inequality(encoder: str, activation: str) -> None:
    inputs, targets = problem(encoder)
    ours, readout = search(), BitReadout(targets, SERIAL)
    for _ in range(25):
        found = ours.find(inputs, activation, readout, 10)
        every = gains(ours._pool, readout)
        np.testing.assert_allclose(ours._pool._gains(), every, rtol=1e-6, atol=1e-9)
        for r in R_VALUES:
            passing = (every > (1 - r) * readout.energy).all(axis=1)
            if passing.any():
                break
        # A node and its complement gain the same, where one that always fires is there.
        pool = ours._pool._nodes
        best = np.flatnonzero(every.sum(axis=1) >= (1 - 1e-9) * every[passing].sum(axis=1).max())
        assert any(np.array_equal(found.h, pool.outputs(k)) for k in best[passing[best]])
        assert (found.lambda_, found.r) == (0.5, r)
        sums = inputs.take(np.arange(len(targets))) @ found.node.weights[0].astype(float)
        fires = sums + found.node.biases[0] > 0
        np.testing.assert_array_equal(found.h > 0, fires)
        readout.add(found.h)


def test_nothing_is_found_where_nothing_passes() -> None:
    inputs, _ = problem()
    noise = np.random.default_rng(7).standard_normal((700, 1))
    ours = search(r_values=(0.1,))
    assert ours.find(inputs, "sign", BitReadout(noise, SERIAL), 10) is None


def test_another_lambda_has_another_pool() -> None:
    inputs, targets = problem()
    ours, readout = search((0.5, 5.0), (0.7,)), BitReadout(targets[:, :1], SERIAL)
    ours.find(inputs, "sign", readout, 1)
    first = ours._pool._nodes.words.copy()
    assert ours.find(inputs, "sign", BitReadout(targets[:, 1:] * 0 + 1e-3, SERIAL), 1) is not None
    ours._pool.renew()
    assert not np.array_equal(first, ours._pool._nodes.words)


def fitted(estimator=SCMRegressor, **changes):
    rng = np.random.default_rng(7)
    x = rng.random((900, 5))
    y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2]
    if estimator is SCMClassifier:
        y = np.digitize(y, [0.2, 0.9])
    settings = {"max_nodes": (30, 10), "candidates": 20, "random_state": 1, "encoder": "none"}
    machine = estimator(**settings | changes).fit(x, y).machine_
    return [(layer.weights, layer.biases) for layer in machine.layers], machine.readout


@pytest.mark.parametrize("estimator", [SCMRegressor, SCMClassifier])
@pytest.mark.parametrize(
    "changes",
    [{}, {"activation": "step", "encoder": "thermometer:7"}, {"removal": 0.5}],
    ids=["sign", "step on codes", "removal"],
)
def test_numpy_finds_the_same_nodes(
    monkeypatch: pytest.MonkeyPatch, estimator: type, changes: dict
) -> None:
    compiled = fitted(estimator, **changes)
    monkeypatch.setattr(packed, "overlaps", packed.overlaps_reference)
    monkeypatch.setattr(packed, "sums", packed.sums_reference)
    monkeypatch.setattr(packed, "subtract_sums", packed.subtract_sums_reference)
    for kind in ("DirectInputs", "LevelInputs", "NodeInputs"):
        monkeypatch.setattr(f"scm_train.search.layer_inputs.{kind}.packs", lambda *_: None)
    monkeypatch.setattr("scm_train.search.kernels.loops", None)
    np.testing.assert_equal(fitted(estimator, **changes), compiled)


def test_threads_do_not_change_the_nodes() -> None:
    inputs, targets = problem(rows=60_000)

    def biases(mapped: ChunkMap) -> list[float]:
        settings = SearchSettings((0.5,), R_VALUES, "exact", pool=True)
        rng = np.random.default_rng(1)
        ours = PoolSearch(settings, CandidateDraw(), rng, mapped, History())
        readout, found = BitReadout(targets, mapped), []
        for _ in range(5):
            node = ours.find(inputs, "sign", readout, 10)
            readout.add(node.h)
            found.append(float(node.node.biases[0]))
        return found

    with chunk_map() as several:
        assert biases(several) == biases(ChunkMap(None))


def test_a_large_pool_is_bounded_by_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = problem()
    monkeypatch.setattr("scm_train.search.pool.MOST_BYTES", 25 * 88)
    ours = search()
    ours.find(inputs, "sign", BitReadout(targets, SERIAL), 10)
    assert len(ours._pool._norm) == 25


def test_pool_takes_fewer_nodes_than_fresh_draws() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((3000, 8))
    y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + (x[:, 3] > 0.5)
    errors = {
        how: np.mean(
            [
                SCMRegressor(
                    max_nodes=60, encoder="none", search=how, stop_step=100, random_state=seed
                )
                .fit(x, y)
                .history_.train_rmse[-1]
                for seed in range(2)
            ]
        )
        for how in ("pool", "fresh")
    }
    assert errors["pool"] < 0.95 * errors["fresh"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"search": "best"}, "search must be 'auto', 'pool' or 'fresh', not 'best'"),
        (
            {"search": "pool", "activation": "tanh"},
            "search must be 'fresh' for nodes that are neither sign nor step, not 'pool'",
        ),
        (
            {"search": "pool", "criterion": "paper"},
            "search must be 'fresh' for criterion 'paper', not 'pool'",
        ),
    ],
)
def test_a_pool_is_refused_where_it_does_not_serve(changes: dict, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        fitted(**changes)
    assert str(error.value) == message


def test_the_paper_draws_afresh() -> None:
    assert paper_settings()["search"] == "fresh"
