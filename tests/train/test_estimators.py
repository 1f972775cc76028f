from __future__ import annotations

import pickle
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import scm_train
from scm_train import (
    DeepSCNRegressor,
    DIRVFL2Regressor,
    IRVFLRegressor,
    SCMClassifier,
    SCMRegressor,
    SCNRegressor,
    datasets,
    paper_settings,
)
from scm_train.errors import DataError, ModelFileError, ParameterError
from scm_train.mechanisms import Table

NAMES = [
    f"{learner}{task}"
    for learner in ("SCN", "DeepSCN", "SCM", "IRVFL", "DIRVFL1", "DIRVFL2")
    for task in ("Regressor", "Classifier")
]


def not_kept(name: str, check: str) -> str | None:
    """Why a convention can't be kept, in the words of the error; None where it is."""
    if name.startswith("SCM"):
        # Families see rows drawn at random, and a row that is there twice is drawn twice.
        return "Comparing" if check == "check_sample_weight_equivalence_on_dense_data" else None
    weighted = (
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_class_weight_classifiers",
    )
    return "weights of rows and classes must be left out" if check in weighted else None


def sklearn_checks() -> list:
    checks = []
    for name in NAMES:
        # The searches of a whole table of learners add up; SCM's own defaults are checked as such.
        size = {"max_nodes": 30, "candidates": 20} if "SCN" in name else {}
        for estimator, check in estimator_checks_generator(getattr(scm_train, name)(**size)):
            label = check.func.__name__
            # The others are the same classes with another algorithm.
            marks = () if name.startswith(("SCM", "SCN")) else pytest.mark.long
            # It needs SCIPY_ARRAY_API set before SciPy is first imported.
            if label != "check_array_api_input":
                reason = not_kept(name, label)
                checks.append(
                    pytest.param(estimator, check, reason, id=f"{name}-{label}", marks=marks)
                )
    return checks


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("estimator", "check", "reason"), sklearn_checks())
def test_scikit_learn_conventions(estimator, check, reason) -> None:
    if reason is None:
        check(estimator)
    else:
        with pytest.raises(Exception, match=reason):
            check(estimator)


def regression(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 3, (rows, 4))
    return x, 10 * np.sin(x[:, 0]) + 4 * x[:, 1] * (x[:, 2] > 0) + 30


def rmse(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - wanted) ** 2)))


FAST = {"max_nodes": 15, "candidates": 20}


@pytest.mark.parametrize("name", NAMES)
def test_learners_differ_as_the_paper_says(name: str) -> None:
    x, y = regression()
    labels = (y > np.median(y)).astype(int)
    learner = name.removesuffix("Regressor").removesuffix("Classifier")
    deep = learner in ("DeepSCN", "SCM", "DIRVFL1", "DIRVFL2")
    # One layer by default; values for two layers ask for two, which only deep learners take.
    settings = FAST | ({"candidates": [20, 20]} if deep else {})
    model = getattr(scm_train, name)(random_state=0, **settings)
    model.fit(x, labels if name.endswith("Classifier") else y)
    linear = learner in ("SCM", "DIRVFL2")
    assert len(model.machine_.layers) == (2 if deep else 1)
    assert model.machine_.linear.any() == model.machine_.intercept.any() == linear
    assert model.machine_.algorithm == learner
    supervised = learner in ("SCN", "DeepSCN", "SCM")
    assert np.isfinite(model.history_.r).all() == supervised
    assert set(model.history_.lambdas) == ({0.5} if supervised else {1.0})


def test_defaults_are_ready_for_hardware_and_learn() -> None:
    x, y = regression()
    model = SCMRegressor(random_state=0).fit(x[:200], y[:200])
    assert model.machine_.hardware_reasons == []
    assert rmse(model.predict(x[200:]), y[200:]) < 0.35 * y.std()


def test_paper_settings_are_the_papers() -> None:
    x, y = regression()
    model = SCMRegressor(random_state=0, **paper_settings(max_nodes=10)).fit(x, y)
    layer = model.machine_.layers[0]
    assert layer.activation == "sigmoid"
    assert layer.mask is None
    assert np.abs(layer.biases).max() <= 1
    assert model.machine_.encoder.kind == "none"
    assert model.machine_.encoder.input_bits is None
    assert model.history_.ridge == 0


@pytest.mark.parametrize(
    ("parameters", "bits"),
    [
        ({}, 12),
        ({"encoder": "none"}, 12),
        ({"activation": "tanh"}, 12),
        ({"encoder": "none", "activation": ["sign", "tanh"]}, None),
        ({"input_bits": 7}, 7),
    ],
)
def test_automatic_input_bits(parameters, bits) -> None:
    x, y = regression(60)
    model = SCMRegressor(random_state=0, **(FAST | parameters)).fit(x, y)
    assert model.machine_.encoder.input_bits == bits


def test_same_seed_same_model_and_other_seed_other_model() -> None:
    x, y = regression()
    first, again, other = (SCMRegressor(random_state=s, **FAST).fit(x, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.predict(x), again.predict(x))
    np.testing.assert_array_equal(first.machine_.layers[0].biases, again.machine_.layers[0].biases)
    assert not np.array_equal(first.predict(x), other.predict(x))


def test_per_layer_lists() -> None:
    x, y = regression()
    model = DeepSCNRegressor(
        layers=3,
        max_nodes=[9, 7, 3],
        activation=["sign", "step", "sign"],
        candidates=[9, 30, 40],
        inputs_per_node=None,
        random_state=0,
    ).fit(x, y)
    assert model.machine_.nodes == (9, 7, 3)
    assert [layer.activation for layer in model.machine_.layers] == ["sign", "step", "sign"]


@pytest.mark.parametrize("search", ["pool", "fresh"])
def test_inputs_per_node_of_each_layer(search: str, tmp_path: Path) -> None:
    x, y = regression()
    fan = [1, (2, 3), None]
    settings = {"max_nodes": 14, "search": search, "stop_step": 100, "random_state": 0}
    model = SCMRegressor(inputs_per_node=fan, encoder="none", **settings).fit(x, y)
    seen = [layer.mask.sum(axis=1) for layer in model.machine_.layers[:2]]
    assert set(seen[0]) == {1}
    assert set(seen[1]) <= {2, 3}
    assert model.machine_.layers[2].mask is None
    model.save(tmp_path / "m.npz")
    loaded = SCMRegressor.load(tmp_path / "m.npz")
    assert loaded.inputs_per_node == (1, (2, 3), None)
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))


def test_inputs_per_node_of_another_number_of_layers() -> None:
    with pytest.raises(ParameterError, match=r"inputs_per_node must be one value or one per layer"):
        SCMRegressor(max_nodes=(5, 5, 5), inputs_per_node=[(1, 2), 6]).fit(*regression())


def test_several_targets_in_their_own_units() -> None:
    x, y = regression()
    targets = np.stack([y, -1000 * y + 5], axis=1)
    model = SCMRegressor(random_state=0).fit(x, targets)
    predicted = model.predict(x)
    assert predicted.shape == targets.shape
    assert rmse(predicted[:, 0], y) < 0.25 * y.std()
    assert rmse(predicted[:, 1], targets[:, 1]) < 250 * y.std()


@pytest.mark.parametrize("labels", [["low", "high", "mid"], [3, -1, 7], [True, False], [1.0, 2.0]])
def test_class_labels_of_any_type(labels) -> None:
    x, y = regression()
    bins = np.digitize(y, np.quantile(y, np.arange(1, len(labels)) / len(labels)))
    wanted = np.array(labels)[bins]
    model = SCMClassifier(random_state=0, **FAST).fit(x, wanted)
    assert model.predict(x).dtype == wanted.dtype
    assert model.score(x, wanted) > 0.8
    assert list(model.classes_) == sorted(labels)


def test_eval_set_is_validated_on_and_never_trained_on() -> None:
    x, y = regression()
    model = SCMRegressor(random_state=0, ridge=0.0, **FAST).fit(
        x[:200], y[:200], eval_set=(x[200:], y[200:])
    )
    span = np.ptp(y[:200])
    kept = [
        e
        for e, gone in zip(model.history_.validation_rmse, model.history_.removed, strict=True)
        if not gone
    ]
    assert rmse(model.predict(x[200:]), y[200:]) / span == pytest.approx(kept[-1], rel=1e-6)
    # Least squares on the training rows, all of them and no others: the residual is orthogonal.
    hidden = np.concatenate(model.machine_.hidden_layers(x[:200]), axis=1)
    residual = (model.predict(x[:200]) - y[:200]) / span
    np.testing.assert_allclose(hidden.T @ residual, 0, atol=1e-9)


def test_eval_set_must_fit_the_training_set() -> None:
    x, y = regression(60)
    with pytest.raises(DataError, match="targets of eval_set must be 1 per row as in training"):
        SCMRegressor(**FAST).fit(x, y, eval_set=(x, np.stack([y, y], axis=1)))
    labels = y > 30
    with pytest.raises(DataError, match="labels of eval_set must be among those of training"):
        SCMClassifier(**FAST).fit(x, labels.astype(int), eval_set=(x, labels + 5))


def test_mechanism_is_taken_off_and_added_again() -> None:
    x, y = regression()

    def physics(rows: np.ndarray) -> np.ndarray:
        return 10 * np.sin(rows[:, 0]) + 30

    left = 4 * x[:, 1] * (x[:, 2] > 0)
    with_physics = SCMRegressor(random_state=0, mechanism=physics, **FAST).fit(x, y)
    without = SCMRegressor(random_state=0, **FAST).fit(x, y)
    assert with_physics.machine_.mechanism.kind == "external"
    assert rmse(with_physics.predict(x), y) < 0.5 * left.std()
    assert rmse(with_physics.predict(x), y) < rmse(without.predict(x), y)
    table = SCMRegressor(random_state=0, mechanism=Table(physics, [0], 33), **FAST).fit(x, y)
    assert rmse(table.predict(x), with_physics.predict(x)) < 0.1 * y.std()


def test_history_tells_the_whole_story() -> None:
    x, y = regression()
    history = SCMRegressor(random_state=0, max_nodes=30, candidates=20).fit(x, y).history_
    steps = len(history.layer)
    for series in (history.train_rmse, history.validation_rmse, history.removed, history.r):
        assert len(series) == steps
    assert sum(history.nodes_per_layer) == steps - sum(history.removed)
    assert all(seconds > 0 for seconds in history.seconds.values())
    assert history.selected_inputs == [0, 1, 2, 3]


def test_float32_rows_train_as_they_are() -> None:
    x, y = regression()
    x = x.astype(np.float32)
    single = SCMRegressor(random_state=0, **FAST).fit(x, y)
    double = SCMRegressor(random_state=0, **FAST).fit(x.astype(np.float64), y)
    np.testing.assert_array_equal(single.predict(x), double.predict(x))


def test_saves_and_loads(tmp_path) -> None:
    x, y = regression()
    model = SCMRegressor(random_state=0, inputs_per_node={1: 1, 2: 3}, **FAST).fit(x, y)
    model.save(tmp_path / "model.npz")
    loaded = SCMRegressor.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    assert loaded.inputs_per_node == {1: 1, 2: 3}
    assert loaded.lambdas == model.lambdas
    with pytest.raises(ModelFileError, match="must hold a regression model of SCN, not"):
        SCNRegressor.load(tmp_path / "model.npz")


def test_classifier_saves_and_loads(tmp_path) -> None:
    x, y = regression()
    labels = np.where(y > 30, "hot", "cold")
    model = SCMClassifier(random_state=0, **FAST).fit(x, labels)
    model.save(tmp_path / "model.npz")
    loaded = SCMClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))


def test_works_in_pipelines_and_searches_and_survives_pickling() -> None:
    x, y = regression(120)
    pipeline = make_pipeline(StandardScaler(), SCMRegressor(random_state=0, **FAST))
    grid = GridSearchCV(pipeline, {"scmregressor__max_nodes": [2, 15]}, cv=2).fit(x, y)
    assert grid.best_params_ == {"scmregressor__max_nodes": 15}
    again = pickle.loads(pickle.dumps(grid.best_estimator_))
    np.testing.assert_array_equal(again.predict(x), grid.predict(x))
    assert clone(grid.best_estimator_[1]).get_params() == grid.best_estimator_[1].get_params()


def test_feature_names_come_from_the_data_frame() -> None:
    x, y = regression(60)
    frame = pd.DataFrame(x, columns=["speed", "load", "gap", "heat"])
    model = IRVFLRegressor(**FAST).fit(frame, y)
    assert model.machine_.features == ("speed", "load", "gap", "heat")
    assert IRVFLRegressor(**FAST).fit(x, y).machine_.features == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SCMRegressor(max_nodes=0), "max_nodes must be a positive whole number, not 0"),
        (SCMRegressor(layers=0), "layers must be a positive whole number, not 0"),
        (SCNRegressor(layers=2), "layers must be 1 for SCN, not 2; use a deep learner for more"),
        (SCMRegressor(candidates=2.5), "candidates must be a positive whole number, not 2.5"),
        (SCMRegressor(layers=2, max_nodes=[5]), r"must be one value or one per layer \(2\)"),
        (SCMRegressor(weights="real"), "weights must be 'binary' for SCM, not 'real'"),
        (DIRVFL2Regressor(weights="real"), "weights must be 'binary' for DIRVFL2, not 'real'"),
        (SCMRegressor(activation="relu"), "activation must be one of"),
        (SCMRegressor(criterion="best"), "criterion must be 'paper' or 'exact', not 'best'"),
        (SCMRegressor(lambdas=(0, 1)), "lambdas must be positive numbers"),
        (SCMRegressor(r_values=(0.99, 0.9)), "r_values must be an increasing sequence"),
        (SCMRegressor(r_values=(0.9, 1.0)), "r_values must be an increasing sequence"),
        (SCMRegressor(ridge=-1), "ridge must be a number of at least 0 or 'auto', not -1"),
        (SCMRegressor(ridge="much"), "ridge must be a number of at least 0 or 'auto', not 'much'"),
        (SCMRegressor(alpha=-1), "alpha must be a number of at least 0, not -1"),
        (SCMRegressor(tolerance=None), "tolerance must be a number of at least 0, not None"),
        (SCMRegressor(stop_step=0), "stop_step must be a positive whole number, not 0"),
        (SCMRegressor(removal_tolerance="tau"), "removal_tolerance must be a number or None, not"),
        (
            SCMRegressor(removal_tolerance=nan),
            "removal_tolerance must be a number",
        ),
        (SCMRegressor(validation_fraction=1), "validation_fraction must be at least 0 and below 1"),
        (SCMRegressor(validation_fraction=0.999), "leave at least 10 of the 60 rows to train on"),
        (SCMRegressor(validation_fraction=0.85), "not 9 as with 0.85; lower it, or pass eval_set"),
    ],
)
def test_refuses_parameters_that_break_a_rule(model, message: str) -> None:
    x, y = regression(60)
    with pytest.raises(ParameterError, match=message):
        model.fit(x, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("activation", ["sigmoid", "brelu", "tanh", "sign", "step"])
@pytest.mark.parametrize("encoder", ["none", "thermometer:7"])
@pytest.mark.parametrize("lambda_", [1e-300, 1e20, 1e300])
def test_any_scale_saturates_quietly(activation: str, encoder: str, lambda_: float) -> None:
    x, y = regression(100)
    model = SCNRegressor(
        activation=activation, encoder=encoder, lambdas=[lambda_], max_nodes=2, random_state=0
    )
    assert np.isfinite(model.fit(x, y).predict(x)).all()


@pytest.mark.filterwarnings("error")
def test_defaults_train_quietly_on_nearly_repeated_inputs() -> None:
    """The simulated servo has its currents at three successive samples."""
    data = datasets.load("servo_sim")
    model = SCMRegressor(max_nodes=2, random_state=0).fit(data.X, data.y)
    assert model.history_.selected_inputs


def test_refuses_a_single_class() -> None:
    with pytest.raises(DataError, match="labels must be of at least two classes"):
        SCMClassifier().fit([[0.0], [1.0]], ["a", "a"])
