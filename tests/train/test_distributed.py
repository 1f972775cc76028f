"""Training on a real cluster on loopback: the same nodes, the same model, little on the client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal

from scm_train import SCMClassifier, SCMRegressor, SCNRegressor
from scm_train.errors import DataError, ParameterError
from tests.cluster import cluster

FAST = {"max_nodes": 8, "candidates": 20, "random_state": 3}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory):
    with (
        cluster(tmp_path_factory.mktemp("cluster"), 2) as there,
        Client(there.address) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


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
    assert_allclose(one.history_.train_rmse, other.history_.train_rmse, rtol=1e-9)
    assert_allclose(one.history_.validation_rmse, other.history_.validation_rmse, rtol=1e-9)
    assert_allclose(list(a.info["scores"].values()), list(b.info["scores"].values()), rtol=1e-9)


CASES = {
    "default": {},
    "two layers": {"layers": 2, "activation": ["sign", "step"]},
    "early stopping": {"stop_step": 2, "stop_tolerance": 0.05, "max_nodes": 30, "layers": 2},
    "all inputs": {"inputs_per_node": None, "sign_pattern": "free", "encoder": "binary:5"},
    "quantiles": {"encoder": "thermometer:7:quantile"},
    "sigmoid": {"activation": "sigmoid", "encoder": "none"},
    "paper's criterion": {"criterion": "paper", "ridge": 0.0},
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


def test_several_targets_and_no_linear_part(client) -> None:
    x, y = plant(targets=2)
    here = SCNRegressor(**FAST).fit(x, y)
    there = SCNRegressor(**FAST).fit(
        da.from_array(x, chunks=(200, -1)), da.from_array(y, chunks=(200, 1))
    )
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


def test_what_cannot_be_done_is_told(client) -> None:
    x, y = plant()
    rows, targets = da.from_array(x, chunks=(300, -1)), da.from_array(y, chunks=300)
    with pytest.raises(ParameterError, match="mechanism must be None on Dask arrays"):
        SCMRegressor(mechanism=np.sum).fit(rows, targets)
    with pytest.raises(ParameterError, match="eval_set must be None on Dask arrays"):
        SCMRegressor().fit(rows, targets, eval_set=(x, y))
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
    assert "must come with a client of a cluster" in done.stdout, done.stderr


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
