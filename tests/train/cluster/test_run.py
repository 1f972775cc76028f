"""Training on a real cluster on loopback: the same nodes, the same model, little on the client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal

from scm_train import SCMClassifier, SCMRegressor, SCNRegressor
from scm_train.cluster.coordinator import Cluster
from scm_train.errors import DataError, ParameterError
from scm_train.mechanisms import Polynomial, Table
from tests.cluster import cluster
from tests.train.machines import by_columns, physics

FAST = {"max_nodes": 3, "candidates": 20, "random_state": 3, "search": "fresh"}


def plant(rows: int = 900, targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 3, (rows, 4))
    y = x[:, 0] ** 2 + x[:, 1] * x[:, 2] + 0.05 * rng.normal(size=rows)
    return x, y if targets == 1 else np.column_stack([y, x[:, 3] - y])


def assert_same(one, other) -> None:
    """Equal nodes; readout and linear part equal but for the order of sums."""
    a, b = one.machine_, other.machine_
    assert a.nodes == b.nodes and a.classes == b.classes
    for left, right in zip(a.layers, b.layers, strict=True):
        assert_array_equal(left.weights, right.weights)
        assert_array_equal(left.biases, right.biases)
        assert_array_equal(left.lambdas, right.lambdas)
        assert (left.mask is None) == (right.mask is None)
        if left.mask is not None:
            assert_array_equal(left.mask, right.mask)
    for name in ("input_min", "input_max", "target_min", "target_max"):
        assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.encoder.kind == b.encoder.kind
    for left, right in zip(a.encoder.thresholds, b.encoder.thresholds, strict=True):
        assert_array_equal(left, right)
    for name in ("readout", "linear", "intercept"):
        assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-7, atol=1e-9)
    assert one.history_.stops == other.history_.stops
    assert one.history_.removed == other.history_.removed
    assert_allclose(one.history_.train_rmse, other.history_.train_rmse, rtol=1e-9)
    assert_allclose(one.history_.validation_rmse, other.history_.validation_rmse, rtol=1e-9)
    assert_allclose(list(a.info["scores"].values()), list(b.info["scores"].values()), rtol=1e-9)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_frames_are_matched_by_name(client, order) -> None:
    x, y = plant(300, targets=2)
    names, targets = ["speed", "load", "heat", "width"], ["force", "power"]
    frame, wanted = pd.DataFrame(x, columns=names), pd.DataFrame(y, columns=targets)
    shuffled, reverse = frame[[names[i] for i in order]], wanted[targets[::-1]]
    settings = FAST | {"mechanism": by_columns}
    expected = SCMRegressor(**settings).fit(frame, wanted, (frame[:90], wanted[:90]))
    model = SCMRegressor(**settings).fit(
        dd.from_pandas(frame, npartitions=3),
        dd.from_pandas(wanted, npartitions=3),
        (dd.from_pandas(shuffled[:90], npartitions=2), reverse[:90]),
    )
    assert_same(expected, model)
    assert model.machine_.features == tuple(names)
    assert_array_equal(model.predict(dd.from_pandas(frame, npartitions=2)), model.predict(frame))
    if order != (0, 1, 2, 3):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(dd.from_pandas(shuffled, npartitions=2))
    # An array has no names, nor has a model that is then trained on one.
    model.set_params(mechanism=None)
    model.fit(da.from_array(x, chunks=(100, 4)), da.from_array(y, chunks=(100, 2)))
    assert not hasattr(model, "feature_names_in_")


CASES = {
    "default": {},
    "two layers": {"layers": 2, "activation": ["sign", "step"]},
    "early stopping": {"stop_step": 2, "stop_tolerance": 0.05, "max_nodes": 30, "layers": 2},
    "all inputs": {"inputs_per_node": None, "sign_pattern": "free", "encoder": "binary:5"},
    "quantiles": {"encoder": "thermometer:7:quantile"},
    "thresholds in the middle": {"bias_range": "middle", "encoder": "none", "layers": 2},
    "sigmoid": {"activation": "sigmoid", "encoder": "none"},
    "paper's criterion": {"criterion": "paper", "ridge": 0.0},
    "mechanism outside": {"mechanism": physics},
    "mechanism as a table": {"mechanism": Table(physics, inputs=(0, 3), points=9)},
    "mechanism as a polynomial": {"mechanism": Polynomial(function=physics, degree=2)},
    "some rows for the nodes": {"search_rows": 400, "layers": 2, "activation": ["sign", "step"]},
    "removal": {"removal": 1.0, "layers": 2, "activation": ["sign", "step"]},
    "removal without validation": {"removal": 0.5, "ridge": 0.0, "layers": 1},
    "no rows for validation": {"ridge": 0.0, "search_rows": 300, "input_bits": 6},
}


@pytest.mark.parametrize("case", CASES)
def test_the_machine_is_that_of_one_machine(client, case: str) -> None:
    x, y = plant()
    here = SCMRegressor(**(FAST | CASES[case])).fit(x, y)
    there = SCMRegressor(**(FAST | CASES[case])).fit(
        da.from_array(x, chunks=(250, 2)), da.from_array(y, chunks=300)
    )
    assert_same(here, there)
    assert_allclose(here.predict(x), there.predict(x), rtol=1e-7)


@pytest.mark.parametrize("there", [True, False], ids=["on the cluster", "in memory"])
def test_rows_to_validate_on(client, there: bool) -> None:
    x, y = plant()
    held = (x[600:], y[600:])
    options = FAST | {"stop_step": 2, "max_nodes": 20, "search_rows": 500, "mechanism": physics}
    here = SCMRegressor(**options).fit(x[:600], y[:600], eval_set=held)
    if there:
        held = (da.from_array(held[0], chunks=(200, 3)), da.from_array(held[1], chunks=90))
    elsewhere = SCMRegressor(**options).fit(
        da.from_array(x[:600], chunks=(250, -1)), da.from_array(y[:600], chunks=300), eval_set=held
    )
    assert_same(here, elsewhere)


def test_the_range_of_a_mechanism_outside_is_that_of_all_rows(client) -> None:
    x, y = plant()
    here = SCMRegressor(**FAST, mechanism=physics).fit(x, y)
    there = SCMRegressor(**FAST, mechanism=physics).fit(
        da.from_array(x, chunks=(100, -1)), da.from_array(y, chunks=300)
    )
    assert_array_equal(here.machine_.mechanism.range, there.machine_.mechanism.range)


def test_workers_that_die_in_mid_fit(tmp_path: Path, monkeypatch) -> None:
    """One after another, until one of three is left."""
    doomed = {"moments": 3, "subtract": 9}
    x, y = plant()
    options = FAST | {"max_nodes": 5, "layers": 2, "activation": ["sign", "step"]}
    with cluster(tmp_path, 3) as there, Client(there.address, set_as_default=True) as client:
        client.wait_for_workers(3, timeout=60)
        asked, ask = Counter(), Cluster.ask

        def deadly(self: Cluster, method: str, *arguments: Any) -> list[Any]:
            asked[method] += 1
            if doomed.get(method) == asked[method]:
                del doomed[method]
                there.workers[len(doomed)].kill()
            return ask(self, method, *arguments)

        monkeypatch.setattr(Cluster, "ask", deadly)
        remote = SCMRegressor(**options).fit(
            da.from_array(x, chunks=(180, -1)), da.from_array(y, chunks=180)
        )
        assert not doomed and sum(worker.poll() is None for worker in there.workers) == 1
    assert_same(SCMRegressor(**options).fit(x, y), remote)


def test_rows_that_cannot_be_had_again_are_told(tmp_path: Path, monkeypatch) -> None:
    """They are on one worker; the other comes when the first has made its shards of them."""
    x, y = plant(300)
    with cluster(tmp_path, 1) as there, Client(there.address, set_as_default=True) as client:
        client.wait_for_workers(1, timeout=60)
        parts = [client.scatter(part) for part in (x[:150], x[150:])]
        rows = [da.from_delayed(part, (150, x.shape[1]), x.dtype) for part in parts]
        ask = Cluster.ask

        def deadly(self: Cluster, method: str, *arguments: Any) -> list[Any]:
            if method == "commit" and len(there.workers) == 1:
                there.hire()
                client.wait_for_workers(2, timeout=60)
                there.workers[0].kill()
            return ask(self, method, *arguments)

        monkeypatch.setattr(Cluster, "ask", deadly)
        with pytest.raises(DataError, match="were lost with a worker"):
            SCMRegressor(**FAST).fit(da.concatenate(rows), da.from_array(y, chunks=150))


def test_several_targets_and_no_linear_part(client) -> None:
    x, y = plant(targets=2)
    here = SCNRegressor(**FAST).fit(x, y)
    there = SCNRegressor(**FAST).fit(
        da.from_array(x, chunks=(200, -1)), da.from_array(y, chunks=(200, 1))
    )
    assert_same(here, there)


def test_constant_inputs_and_targets(client) -> None:
    x, y = plant(300, targets=2)
    x[:, 2], y[:, 1] = 4.0, -1e20
    here = SCMRegressor(**FAST).fit(x, y)
    there = SCMRegressor(**FAST).fit(
        da.from_array(x, chunks=(100, -1)), da.from_array(y, chunks=(150, -1))
    )
    assert here.machine_.input_max[2] == 5.0
    assert_same(here, there)


def test_classifiers(client) -> None:
    x, y = plant()
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [1, 4])]
    here = SCMClassifier(**FAST).fit(x, labels)
    there = SCMClassifier(**FAST).fit(
        da.from_array(x, chunks=(300, -1)), da.from_array(labels, chunks=300)
    )
    assert_same(here, there)
    assert_array_equal(here.predict(x), there.predict(x))


def test_what_cannot_be_done_is_told(client, monkeypatch) -> None:
    x, y = plant()
    rows, targets = da.from_array(x, chunks=(300, -1)), da.from_array(y, chunks=300)
    with pytest.raises(DataError, match=r"eval_set must have the columns of training, \(4,\)"):
        SCMRegressor().fit(rows, targets, eval_set=(x[:, :3], y))
    with pytest.raises(DataError, match="labels of eval_set must be among those of training"):
        SCMClassifier().fit(rows, (targets > 2), eval_set=(x, np.full(len(y), 3)))
    with pytest.raises(DataError, match=r"mechanism values must be of shape \(300,\)"):
        SCMRegressor(mechanism=np.sum).fit(rows, targets)
    monkeypatch.setattr(physics, "__module__", "elsewhere")
    monkeypatch.setitem(sys.modules, "elsewhere", sys.modules["tests.train.machines"])
    with pytest.raises(ParameterError, match="mechanism must be a function that the workers can"):
        SCMRegressor(mechanism=physics).fit(rows, targets)
    with pytest.raises(DataError, match="targets must be a Dask array as the inputs are"):
        SCMRegressor().fit(rows, y)
    with pytest.raises(DataError, match="must have as many rows"):
        SCMRegressor().fit(rows, targets[:-1])
    x[5, 1] = np.nan
    with pytest.raises(DataError, match="must be finite"):
        SCMRegressor().fit(da.from_array(x, chunks=(300, -1)), targets)


def test_without_a_cluster_it_is_told() -> None:
    program = (
        "import dask.array as da, scm_train\n"
        "x = da.ones((30, 2), chunks=10)\n"
        "try: scm_train.SCMRegressor().fit(x, x[:, 0])\n"
        "except scm_train.ParameterError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "no client is connected to a cluster" in done.stdout, done.stderr


LARGE = """
import json, resource, sys
import dask.array as da
from distributed import Client
from scm_train import SCMRegressor

client = Client(sys.argv[1])
client.wait_for_workers(2)
rows, features = int(sys.argv[2]), 50
x = da.random.default_rng(1).random((rows, features), chunks=(50_000, features))
y = x[:, 0] ** 2 + x[:, 1] * x[:, 2]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = SCMRegressor(
    max_nodes=3, candidates=5, layers=1, encoder="thermometer:7", input_bits=8, random_state=0
).fit(x, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scores = model.machine_.info["scores"]
print(json.dumps({"bytes": x.nbytes, "client": 1024 * (after - before), **scores}))
"""


@pytest.mark.long
def test_data_beyond_one_workers_memory(tmp_path: Path) -> None:
    """Two workers of 900 MB take 920 MB of rows, and the client none of them.

    Without rows, a worker with its libraries takes near 300 MB.
    """
    with cluster(tmp_path, 2, "--memory-limit", "900MB") as there:
        done = subprocess.run(
            [sys.executable, "-c", LARGE, there.address, "2300000"],
            capture_output=True,
            text=True,
            timeout=550,
        )
        assert all(worker.poll() is None for worker in there.workers)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bytes"] > 900e6
    assert found["client"] < 100e6
    assert 0 < found["train_rmse"] < 0.2


def test_a_pool_is_for_rows_in_memory(client) -> None:
    x, y = plant(300)
    rows = da.from_array(x, chunks=(150, -1)), da.from_array(y, chunks=150)
    auto = SCMRegressor(**FAST | {"search": "auto"}).fit(*rows)
    assert_same(SCMRegressor(**FAST).fit(x, y), auto)
    with pytest.raises(ParameterError) as error:
        SCMRegressor(**FAST | {"search": "pool"}).fit(*rows)
    assert str(error.value) == "search must be 'fresh' for rows on a cluster, not 'pool'"
