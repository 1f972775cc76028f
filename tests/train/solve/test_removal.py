"""Backward removal of nodes that do not pay."""

from __future__ import annotations

import numpy as np
import pytest

from scm_train import SCMRegressor
from scm_train.errors import ParameterError
from scm_train.search.node_store import NodeStore
from scm_train.solve.removal import without_least_useful


def penalised(h: np.ndarray, targets: np.ndarray, ridge: float) -> float:
    gram = h.T @ h + ridge * np.eye(h.shape[1])
    b = np.linalg.solve(gram, h.T @ targets)
    return float(np.square(h @ b - targets).sum() + ridge * np.square(b).sum())


@pytest.mark.parametrize("first", [0, 3])
def test_each_removal_raises_the_error_least(first: int) -> None:
    rng = np.random.default_rng(first)
    h = np.where(rng.random((60, 9)) < 0.5, -1.0, 1.0)
    h[:, 7] = h[:, 5]
    targets = rng.standard_normal((60, 2)) + h[:, :2]
    wanted = list(range(9))
    for count in range(1, 5):
        trials = {
            k: penalised(h[:, [j for j in wanted if j != k]], targets, 0.3) for k in wanted[first:]
        }
        wanted.remove(min(trials, key=trials.__getitem__))
        found = without_least_useful(h, targets, 0.3, first, count)
        # Nodes 5 and 7 are the same, and rounding decides between them.
        assert sorted({7: 5}.get(k, k) for k in found) == sorted({7: 5}.get(k, k) for k in wanted)


def problem(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.random((rows, 4))
    return x, np.sin(5 * x[:, 0]) * x[:, 1] + 0.02 * rng.standard_normal(rows)


def fitted(**parameters) -> SCMRegressor:
    settings = {"max_nodes": 15, "candidates": 20, "stop_step": 99, "random_state": 0} | parameters
    return SCMRegressor(**settings).fit(*problem())


@pytest.mark.parametrize("activation", ["sign", "step", "tanh"])
def test_a_machine_keeps_the_best_of_the_nodes_it_grew(activation: str) -> None:
    common = {"activation": activation, "layers": 1}
    grown = fitted(max_nodes=30, **common)
    kept = fitted(removal=1.0, **common)
    plain = fitted(**common)
    assert kept.machine_.nodes == (15,)
    assert sum(kept.history_.removed) == 15 and kept.history_.nodes_per_layer == [15]
    stayed = np.flatnonzero(~np.array(kept.history_.removed))
    np.testing.assert_array_equal(
        kept.machine_.layers[0].biases, grown.machine_.layers[0].biases[stayed]
    )
    scores = [m.machine_.info["scores"]["train_rmse"] for m in (grown, kept, plain)]
    assert scores == sorted(scores)


def test_the_readout_is_that_of_the_nodes_that_stayed() -> None:
    model = fitted(layers=2, max_nodes=(12, 6), removal=0.5, ridge=0.7)
    machine, (x, y) = model.machine_, problem()
    assert machine.nodes == (12, 6)
    layer, removed = np.array(model.history_.layer), np.array(model.history_.removed)
    assert [int(removed[layer == k].sum()) for k in (1, 2)] == [6, 3]
    hidden = np.concatenate(machine.hidden_layers(x), axis=1)
    seen = machine.encoder.quantised(machine.normalise(x))
    span = machine.target_max - machine.target_min
    left = (y[:, None] - machine.target_min) / span - seen @ machine.linear - machine.intercept
    gram = hidden.T @ hidden + 0.7 * np.eye(18)
    np.testing.assert_allclose(machine.readout, np.linalg.solve(gram, hidden.T @ left), atol=1e-9)


def test_early_stopping_leaves_less_to_remove() -> None:
    model = fitted(layers=1, stop_step=3, stop_tolerance=0.05, removal=1.0)
    assert model.history_.stops == ["early stopping"]
    assert len(model.history_.removed) - sum(model.history_.removed) == sum(model.machine_.nodes)


@pytest.mark.parametrize("activation", ["sign", "step", "tanh"])
def test_a_store_gives_back_a_column_and_keeps_some(activation: str) -> None:
    rng = np.random.default_rng(2)
    h = rng.standard_normal((13, 5))
    if activation != "tanh":
        h = np.where(h > 0, 1.0, -1.0 if activation == "sign" else 0.0)
    store = NodeStore(13, activation)
    for column in h.T:
        store.append(column)
    store.keep([4, 1])
    assert len(store) == 2
    np.testing.assert_array_equal(store.column(0), h[:, 4])
    np.testing.assert_array_equal(store.chunk(slice(0, 13)), h[:, [4, 1]])


@pytest.mark.parametrize("value", [-0.1, "some", True, np.inf])
def test_removal_is_a_share(value: object) -> None:
    with pytest.raises(ParameterError, match="removal must be a number of at least 0, not "):
        fitted(removal=value)


def test_removal_needs_a_limit() -> None:
    with pytest.raises(ParameterError, match="removal must be 0 for layers without max_nodes"):
        fitted(removal=1.0, max_nodes=None)
