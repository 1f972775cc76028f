"""Columns are matched by name at every door: in another order they give the same, or an error."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from scm_model.columns import column_names, in_order
from scm_train import SCMClassifier, SCMRegressor, model_file
from scm_train.__main__ import main
from scm_train.errors import DataError
from scm_train.mechanisms import External, Polynomial, Table
from tests.train.machines import machine

NAMES = ("speed", "load", "heat")
BOUNDED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SMALL = {"max_nodes": 4, "candidates": 10, "random_state": 0}


def rows(n: int = 60) -> pd.DataFrame:
    X = np.random.default_rng(0).uniform(1, 3, (n, 3))
    frame = pd.DataFrame(X, columns=list(NAMES))
    frame["force"] = frame.speed**2 + 5 * frame.load - frame.heat
    frame["power"] = frame.force * frame.speed
    return frame


FRAME = rows()
ORDERS = st.permutations(["speed", "load", "heat", "force", "power", "other"])
SHUFFLED = FRAME.assign(other=-7.0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    FRAME.to_csv(folder / "rows.csv", index=False)
    argv = ["fit", str(folder / "rows.csv"), "--target", "force,power", "--max-nodes", "4", "-q"]
    assert main([*argv, "--candidates", "10", "--out", str(folder / "m.npz")]) == 0
    return folder


def write(frame: pd.DataFrame, path: Path) -> str:
    if path.suffix == ".npz":
        np.savez(path, **{name: frame[name].to_numpy() for name in frame})
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return str(path)


@BOUNDED
@given(order=ORDERS, ending=st.sampled_from([".csv", ".npz", ".parquet"]))
def test_files_of_evaluate_and_predict(trained, order, ending, capsys):
    model = str(trained / "m.npz")
    plain, other = (
        write(frame, trained / f"{name}{ending}")
        for name, frame in (("plain", FRAME), ("other", SHUFFLED[order]))
    )
    for command in ("evaluate", "predict"):
        said = []
        for data in (plain, other):
            assert main([command, model, data, "--json"]) == 0
            said.append(json.loads(capsys.readouterr().out) | {"data": None})
        assert said[0] == said[1]


@pytest.mark.parametrize("targets", ["power,force", "force,power"])
def test_the_models_own_targets_in_any_order(trained, targets, capsys):
    argv = ["evaluate", str(trained / "m.npz"), str(trained / "rows.csv"), "--json"]
    assert main(argv) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main([*argv, "--target", targets]) == 0
    assert json.loads(capsys.readouterr().out) == expected


@BOUNDED
@given(order=ORDERS)
def test_frames_of_a_machine(trained, order):
    loaded = model_file.load(trained / "m.npz")
    expected = loaded.predict(FRAME[list(NAMES)].to_numpy())
    assert_array_equal(loaded.predict(SHUFFLED[order]), expected)
    hidden = loaded.hidden_layers(SHUFFLED[order])
    assert_array_equal(hidden[0], loaded.hidden_layers(FRAME[list(NAMES)].to_numpy())[0])
    kept = loaded.with_evaluation(SHUFFLED[order], FRAME[["force", "power"]].to_numpy())
    assert_array_equal(kept.evaluation.inputs, FRAME[list(NAMES)].to_numpy())


def test_a_frame_without_a_column_is_refused(trained):
    loaded = model_file.load(trained / "m.npz")
    with pytest.raises(DataError, match="column 'heat' must be in the data frame once, not 0"):
        loaded.predict(FRAME[["speed", "load", "force"]])


def test_mechanism_values_go_by_target():
    external = machine(mechanism="external")
    X = np.random.default_rng(1).normal(size=(9, 3))
    p0 = pd.DataFrame({"y0": np.arange(9.0), "y1": -np.arange(9.0)})
    expected = external.predict(X, p0.to_numpy())
    assert_array_equal(external.predict(X, p0[["y1", "y0"]]), expected)


def same_or_refused(predict, expected, frame: pd.DataFrame) -> bool:
    """scikit-learn refuses frames in another order; whatever is answered must be right."""
    try:
        found = predict(frame)
    except ValueError as error:
        assert "feature names" in str(error)
        return False
    assert_array_equal(found, expected)
    return True


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
@BOUNDED
@given(order=st.permutations(NAMES))
def test_frames_of_an_estimator(tmp_path, loaded, order):
    X = FRAME[list(NAMES)]
    regressor = SCMRegressor(**SMALL).fit(X, FRAME.force)
    classifier = SCMClassifier(**SMALL).fit(X, FRAME.force > FRAME.force.median())
    for model in (regressor, classifier):
        expected = model.predict(X)
        if loaded:
            model.save(tmp_path / "m.npz")
            model = type(model).load(tmp_path / "m.npz")
        assert same_or_refused(model.predict, expected, X[order]) == (tuple(order) == NAMES)


def test_loaded_models_without_names_take_arrays(tmp_path):
    X = FRAME[list(NAMES)].to_numpy()
    SCMRegressor(**SMALL).fit(X, FRAME.force).save(tmp_path / "m.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SCMRegressor.load(tmp_path / "m.npz").predict(X)


@BOUNDED
@given(order=st.permutations(NAMES), targets=st.permutations(["force", "power"]))
def test_frames_of_an_eval_set(order, targets):
    X, Y = FRAME[list(NAMES)], FRAME[["force", "power"]]
    expected = SCMRegressor(**SMALL).fit(X, Y, (X[:20], Y[:20])).predict(X)

    def fit(frame: pd.DataFrame):
        return SCMRegressor(**SMALL).fit(X, Y, (frame[:20], Y[targets][:20])).predict(X)

    same_or_refused(fit, expected, X[order])


def force(speed, load, heat):
    return speed**2 + 5 * load - heat


def partial_force(load, speed):
    return speed**2 + 5 * load


@pytest.mark.parametrize(
    "mechanism",
    [
        force,
        External(partial_force),
        Table(partial_force, points=9),
        Table(partial_force, ["speed", "load"], points=9),
        Table(force, ["heat"], points=9),
        Polynomial.approximating(partial_force),
        Polynomial.approximating(force, inputs=["load", "heat"]),
        Polynomial({(1, 0): 5.0, (0, 1): -1.0}, inputs=("load", "heat")),
    ],
    ids=[
        "function",
        "outside",
        "table",
        "table-names",
        "table-of-all",
        "fit",
        "fit-names",
        "terms",
    ],
)
@settings(BOUNDED, max_examples=6)
@given(order=st.permutations(NAMES))
def test_inputs_of_mechanisms(mechanism, order):
    """A plant trained on columns in another order has the same mechanism of the same columns."""
    values = []
    for names in (NAMES, order):
        X = FRAME[list(names)]
        trained = SCMRegressor(**SMALL, mechanism=mechanism).fit(X, FRAME.force).machine_
        x = trained.encoder.quantised(trained.normalise(X))
        span = (trained.target_min, trained.target_max)
        values.append(trained.mechanism.values(X.to_numpy(), x, *span))
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-12)


def test_columns_of_one_name_are_refused():
    twice = pd.concat([FRAME[["speed"]], FRAME[["speed"]]], axis=1)
    assert column_names(twice) == ("speed", "speed")
    with pytest.raises(DataError, match="column 'speed' must be in the data frame once, not 2"):
        in_order(twice, ["speed"])
    assert column_names(pd.DataFrame(np.eye(2))) is None
