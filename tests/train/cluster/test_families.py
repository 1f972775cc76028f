"""Machines of families on a cluster are those of training in memory, to the bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal

from scm_train import SCMClassifier, SCMRegressor
from scm_train.cluster.families import FamilyCluster, FamilyShard
from scm_train.cluster.shards import Frame
from scm_train.encode.encoders import fit_encoder
from scm_train.errors import ParameterError
from scm_train.families.rows import Part, scale_of
from scm_train.families.signals import make_pool
from scm_train.mechanisms import Polynomial
from tests.cluster import cluster
from tests.train.cluster.test_run import plant
from tests.train.machines import physics

CODES = fit_encoder("none", np.zeros((1, 4)), input_bits=8)
FAST = {"luts": 150, "random_state": 3}


def assert_equal(one, other) -> None:
    a, b = one.machine_, other.machine_
    assert a.families is not None and a.classes == b.classes
    for name in ("weights", "mask", "biases"):
        assert_array_equal(getattr(a.layers[0], name), getattr(b.layers[0], name))
    assert_array_equal(a.families.supports, b.families.supports)
    for name in ("readout", "linear", "intercept", "input_min", "target_max"):
        assert_array_equal(getattr(a, name), getattr(b, name))
    assert one.history_.stops == other.history_.stops
    # A mechanism's products may round otherwise where rows are fewer.
    assert_allclose(one.history_.train_rmse, other.history_.train_rmse, rtol=1e-12)


def chunks(x, y, rows=250):
    whole = (350, *y.shape[1:]) if y.ndim > 1 else 350
    return da.from_array(x, chunks=(rows, 2)), da.from_array(y, chunks=whole)


CASES: dict[str, dict[str, Any]] = {
    "one target": {},
    "targets and members": {"targets": 2, "members": 2},
    "a mechanism": {"mechanism": Polynomial(function=physics, degree=2)},
    "no row to choose by": {"validation_fraction": 0.0},
}


@pytest.mark.parametrize("case", CASES)
def test_the_machine_is_that_of_one_machine(client, case: str) -> None:
    options = FAST | CASES[case]
    x, y = plant(targets=options.pop("targets", 1))
    here = SCMRegressor(**options).fit(x, y)
    assert_equal(here, SCMRegressor(**options).fit(*chunks(x, y)))


def test_signals_of_two_features(client) -> None:
    x, _ = plant(1200)
    y = (x[:, 0] - x[:, 1] > 0).astype(float)
    here = SCMRegressor(**FAST).fit(x, y)
    assert here.machine_.layers[0].mask.sum(axis=1).max() == 2
    assert_equal(here, SCMRegressor(**FAST).fit(*chunks(x, y)))


@pytest.mark.parametrize("labels", [("low", "high"), ("low", "mid", "high")])
def test_classifiers(client, labels) -> None:
    x, y = plant()
    names = np.array(labels)[np.digitize(y, [1, 4][: len(labels) - 1])]
    here = SCMClassifier(**FAST).fit(x, names)
    there = SCMClassifier(**FAST).fit(*chunks(x, names))
    assert_equal(here, there)
    assert_array_equal(here.predict(x), there.predict(x))


@pytest.mark.parametrize("on_cluster", [True, False])
def test_rows_that_choose_the_size(client, on_cluster: bool) -> None:
    x, y = plant()
    held = x[600:], y[600:]
    here = SCMRegressor(**FAST).fit(x[:600], y[:600], eval_set=held)
    there = SCMRegressor(**FAST).fit(
        *chunks(x[:600], y[:600]), eval_set=chunks(*held, 100) if on_cluster else held
    )
    assert_equal(here, there)


def test_by_default_as_in_memory(client) -> None:
    x, y = plant(300)
    here = SCMRegressor(max_nodes=4, luts=500, random_state=0).fit(x, y)
    assert_equal(here, SCMRegressor(max_nodes=4, luts=500, random_state=0).fit(*chunks(x, y)))
    assert SCMRegressor()._growth() == "families"
    with pytest.raises(ParameterError, match="weights of rows and classes must be None"):
        SCMRegressor().fit(*chunks(x, y), sample_weight=np.ones(300))


@pytest.mark.long
def test_a_worker_that_dies_in_mid_fit(tmp_path: Path, monkeypatch) -> None:
    x, y = plant()
    with cluster(tmp_path, 2) as there, Client(there.address, set_as_default=True) as client:
        client.wait_for_workers(2, timeout=60)
        asked, ask = Counter(), FamilyCluster.ask

        def deadly(self: FamilyCluster, method: str, *arguments: Any) -> list[Any]:
            asked[method] += 1
            if method == "sums" and asked[method] == 3:
                there.workers[0].kill()
            return ask(self, method, *arguments)

        monkeypatch.setattr(FamilyCluster, "ask", deadly)
        remote = SCMRegressor(**FAST).fit(*chunks(x, y))
        assert asked["add"] > 3
    assert_equal(SCMRegressor(**FAST).fit(x, y), remote)


def test_a_shard_made_anew_answers_as_the_one_that_was_lost() -> None:
    x, y = plant(300)
    frame = Frame(x.min(0), x.max(0), y.min(keepdims=True), y.max(keepdims=True), CODES)
    shard, told = FamilyShard(x, y, 40, frame), []

    def tell(method: str, *arguments: Any) -> Any:
        if method in FamilyCluster.changes:
            told.append((method, arguments))
        return getattr(shard, method)(*arguments)

    tell("begin", make_pool(shard.problem.codes, [], 15), np.zeros((4, 1)), np.array([0.5]))
    one_bit = np.array([1]), np.array([7])
    for key, values in ((1, [0.1, -0.2]), (2, [0.0, 0.3])):
        part, scale = Part(key, 0.7), scale_of([tell("extent", 0)], 300)
        sums = tell("sums", part, scale, *one_bit)
        tell("searched", part, scale, np.arange(4))
        tell("add", 0, np.array(values))
    again = FamilyShard(x, y, 40, frame)
    again.catch_up(told)
    assert tell("extent", 0) == again.extent(0) and sums.energy > 0
    for one, other in zip(
        (shard.searched(part, scale, np.arange(4)), shard.sums(part, scale, *one_bit)),
        (again.searched(part, scale, np.arange(4)), again.sums(part, scale, *one_bit)),
        strict=True,
    ):
        for name in vars(one):
            assert_array_equal(getattr(one, name), getattr(other, name))


def test_every_step_that_changes_a_shard_is_told_to_those_made_anew() -> None:
    """A worker's answers follow from its rows and these steps alone."""
    steps = {name for name in vars(FamilyShard) if not name.startswith("_")}
    assert steps - set(FamilyCluster.changes) == {"catch_up", "counts", "part", "searched"}
