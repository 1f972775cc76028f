"""Pipelines of scikit-learn as one model of raw rows, or a reason why not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import scm_train
from scm_model import Model
from scm_train import SCMClassifier, SCMRegressor, model_file
from scm_train.errors import DataError, ParameterError

NUMBERS = ["speed", "load"]


def frame(rows=160, missing=True):
    random = np.random.default_rng(0)
    data = pd.DataFrame(
        {
            "speed": random.normal(100, 30, rows),
            "sex": random.choice(["F", "I", "M"], rows),
            "load": random.uniform(-1, 1, rows),
        }
    )
    y = data["speed"] / 100 + data["load"] ** 2 + (data["sex"] == "M")
    if missing:
        data.loc[random.random(rows) < 0.2, "load"] = np.nan
    return data, y.rename("force")


def columns(*numbers, **one_hot):
    return ColumnTransformer(
        [("numbers", make_pipeline(*numbers), NUMBERS), ("sex", OneHotEncoder(**one_hot), ["sex"])]
    )


def saved(pipeline, tmp_path, *test) -> Model:
    scm_train.save(pipeline, tmp_path / "m.npz", *test)
    return model_file.load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]
)
@pytest.mark.parametrize("growth", [{"luts": 300}, {"growth": "nodes", "max_nodes": 8}], ids=str)
def test_scalers_are_other_ranges(scaler, growth, tmp_path):
    X, y = frame(missing=False)
    pipeline = make_pipeline(scaler, SCMRegressor(random_state=0, **growth)).fit(X[NUMBERS], y)
    machine = saved(pipeline, tmp_path)
    assert machine.features == ("speed", "load")
    assert machine.columns is None
    assert_allclose(machine.input_min, X[NUMBERS].min())
    # Only a value on the very edge of a code may be on its other side.
    found, wanted = machine.predict(X[NUMBERS])[:, 0], pipeline.predict(X[NUMBERS])
    assert (np.abs(found - wanted) < 1e-6).mean() > 0.97


@pytest.mark.parametrize("encoder", ["thermometer:15", "none"])
def test_imputers_and_one_hot_encoders_are_columns(encoder, tmp_path):
    X, y = frame()
    learner = SCMRegressor(growth="nodes", max_nodes=12, encoder=encoder, random_state=0)
    steps = columns(
        SimpleImputer(strategy="median", add_indicator=True),
        StandardScaler(),
        handle_unknown="ignore",
    )
    pipeline = Pipeline([("columns", steps), ("learner", learner)]).fit(X[:120], y[:120])
    machine = saved(pipeline, tmp_path, X[120:], y[120:])
    assert machine.signals == ("speed", "sex", "load")
    assert "load missing" in machine.features
    assert len(machine.evaluation) == 40
    X.loc[3, "sex"] = "new"
    found, wanted = machine.predict(X)[:, 0], pipeline.predict(X)
    # The greatest code stands for missing values, so the largest value has the one below.
    assert (np.abs(found - wanted) < 1e-6).mean() > 0.95
    assert np.abs(found - wanted).max() < 0.2


def test_a_classifier_with_its_test_rows(tmp_path):
    X, y = frame(missing=False)
    labels = np.where(y > y.median(), "high", "low")
    pipeline = Pipeline(
        [("columns", columns("passthrough", drop="first")), ("learner", SCMClassifier(luts=200))]
    ).fit(X, labels)
    machine = saved(pipeline, tmp_path, X, labels)
    assert machine.features == ("speed", "load", "sex=I", "sex=M")
    assert (machine.predict(X) == pipeline.predict(X)).mean() > 0.97
    assert machine.evaluation.targets.tolist() == [int(label == "low") for label in labels]
    with pytest.raises(DataError, match="column 'sex' must be one of 'F', 'I', 'M', not 'Q'"):
        machine.predict(X.assign(sex="Q"))


REFUSED = {
    "PCA": (PCA(2), r"step 'pca' \(PCA\) can't be folded into it, for it is no scaler"),
    "function": (FunctionTransformer(), r"\(FunctionTransformer\) can't be folded"),
    "clip": (MinMaxScaler(clip=True), r"\(MinMaxScaler\) can't be folded into it"),
    "other values": (SimpleImputer(missing_values=0.0), "it fills in other values than NaN"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_steps_are_refused(name, tmp_path):
    step, message = REFUSED[name]
    X, y = frame(missing=False)
    pipeline = make_pipeline(step, SCMRegressor(luts=100)).fit(X[NUMBERS], y)
    with pytest.raises(ParameterError, match=message):
        scm_train.save(pipeline, tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (OrdinalEncoder(), "it is no scaler, imputer or one-hot encoder"),
        (OneHotEncoder(min_frequency=0.4), "it joins rare categories"),
    ],
)
def test_other_encoders_are_refused(step, message, tmp_path):
    X, y = frame(missing=False)
    pipeline = make_pipeline(
        ColumnTransformer([("sex", step, ["sex"])], sparse_threshold=0), SCMRegressor(luts=100)
    ).fit(X, y)
    with pytest.raises(ParameterError, match=message):
        scm_train.save(pipeline, tmp_path / "m.npz")


def test_what_is_no_pipeline_of_ours(tmp_path):
    X, y = frame(missing=False)
    with pytest.raises(ParameterError, match="a pipeline that ends in one, not StandardScaler"):
        scm_train.save(StandardScaler().fit(X[NUMBERS]), tmp_path / "m.npz")
    learner = SCMRegressor(luts=100).fit(X, y)
    with pytest.raises(ParameterError, match="X_test and y_test must be given both"):
        learner.save(tmp_path / "m.npz", X)
    with pytest.raises(DataError, match="y_test must have a target for each row of X_test, not 3"):
        learner.save(tmp_path / "m.npz", X, y[:3])


def test_names_and_test_rows_from_python(tmp_path):
    X, y = frame()
    learner = SCMRegressor(luts=200, random_state=0).fit(X, y)
    learner.save(tmp_path / "m.npz", X[:50], y[:50])
    machine = model_file.load(tmp_path / "m.npz")
    assert (machine.signals, machine.targets) == (("speed", "sex", "load"), ("force",))
    assert_array_equal(machine.evaluation.targets[:, 0], y[:50])
    assert_array_equal(machine.predict(machine.evaluation.inputs)[:, 0], learner.predict(X[:50]))
