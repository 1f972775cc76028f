"""What columns of training rows become: numbers, categories, missing values; rows in order."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from scm_model import Feature
from scm_model.raw_columns import IS_MISSING, VALUE
from scm_train import SCMClassifier, SCMRegressor
from scm_train.data.fit_columns import ColumnRules, fit_columns, needs_columns
from scm_train.data.order import left_out, time_order, times_of
from scm_train.errors import DataError, ParameterError

NO_RULES = ColumnRules()


def column(values, y=None, **rules):
    """The one column of some values, and what of it is seen."""
    data = pd.DataFrame({"a": values})
    targets = np.zeros((len(data), 1)) if y is None else np.asarray(y, float).reshape(len(data), -1)
    columns, read = fit_columns(data, targets, ["a"], ColumnRules(**rules))
    return columns.columns[0], [what for _, what in columns.features], read[:, 0]


def test_few_values_have_a_bit_each_and_rare_ones_none():
    values = ["b"] * 10 + ["a"] * 10 + ["rare"] + [None] * 10
    found, seen, read = column(values)
    assert found.values == ("a", "b", None)
    assert (found.other, seen) == (3, [0, 1, 2])
    assert read.tolist() == [1] * 10 + [0] * 10 + [3] + [2] * 10


def test_truth_values_are_one_bit():
    found, seen, _ = column([True, False, True])
    assert (found.values, found.other, found.bits, seen) == (("False", "True"), None, 1, [VALUE])


def test_many_values_are_in_the_order_of_the_target():
    random = np.random.default_rng(0)
    place = random.integers(0, 12, 600)
    labels = np.array([f"v{k:02}" for k in random.permutation(12)])
    found, seen, read = column(labels[place].tolist(), y=place)
    kept = [label for label in found.labels if label != "(other)"]
    assert kept == labels.tolist()
    assert seen == [VALUE]
    # Labels never seen are in the middle.
    assert 4 <= found.other <= 8
    assert_array_equal(np.argsort(np.argsort(kept)), np.argsort(np.argsort(labels)))
    assert len(np.unique(read)) == 12


def test_values_with_alike_classes_are_neighbours():
    """Of several targets the order is along the direction in which they differ most."""
    random = np.random.default_rng(1)
    place = random.integers(0, 12, 900)
    classes = np.eye(3)[place % 3]
    found, _, _ = column([f"v{k:02}" for k in place], y=classes)
    group = [int(label[1:]) % 3 for label in found.labels if label != "(other)"]
    assert sum(a != b for a, b in itertools.pairwise(group)) == 2


def test_missing_numbers():
    code, seen, _ = column([1.0, np.nan, 3.0, 8.0])
    assert (code.missing, seen) == ("code", [VALUE])
    median, seen, _ = column([1.0, np.nan, 3.0, 8.0], missing="median")
    assert (median.missing, median.median, seen) == ("median", 3.0, [VALUE, IS_MISSING])
    whole, _, _ = column([1.0, 2.0])
    assert whole.plain


@pytest.mark.parametrize(
    ("values", "rules", "message"),
    [
        ([None, None], {}, "column 'a' must have a value in some row, not none; drop the column"),
        ([f"id {i}" for i in range(40)], {}, "must have values that occur again, not 40 different"),
        ([1, 2], {"missing": "mean"}, "missing must be one of 'code', 'median', not 'mean'"),
        (
            [1, 2],
            {"categories": "a"},
            "categories must be a list of columns, not 'a'; write",
        ),
        ([1, 2], {"categories": ["b"]}, "categories must be columns of the rows, not 'b'"),
    ],
)
def test_columns_that_can_not_be_learned(values, rules, message):
    rules = ColumnRules(**rules)
    data = pd.DataFrame({"a": values})
    with pytest.raises((DataError, ParameterError), match=message):
        assert needs_columns(data, rules)
        fit_columns(data, np.zeros((len(data), 1)), ["a"], rules)


def test_plain_numbers_need_no_columns():
    assert not needs_columns(np.ones((3, 2)), NO_RULES)
    assert not needs_columns(pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}), NO_RULES)
    assert not needs_columns([[1, 2], [3, 4]], NO_RULES)
    assert needs_columns(np.array([[1.0, np.nan]]), NO_RULES)
    assert needs_columns([["a", 1]], NO_RULES)
    assert needs_columns(np.ones((3, 2)), ColumnRules(categories=[1]))


# -------------------------------------------------------------------------------------- frames


def plant(rows=240):
    random = np.random.default_rng(2)
    grade = random.choice(["fine", "medium", "coarse"], rows)
    heat = random.normal(size=rows)
    works = random.random(rows) < 0.5
    y = heat + 2 * (grade == "fine") - works
    heat[random.random(rows) < 0.2] = np.nan
    return {"grade": grade.tolist(), "heat": heat, "works": works}, y


def frames():
    data, y = plant()
    missing = pd.DataFrame(data)
    kinds = {
        "pandas": missing,
        "category": missing.astype({"grade": "category"}),
        "nullable": missing.astype({"heat": "Float64", "works": "boolean", "grade": "string"}),
        "polars": pl.DataFrame(data).with_columns(pl.col("heat").fill_nan(None)),
        "polars categories": pl.DataFrame(data).with_columns(pl.col("grade").cast(pl.Categorical)),
    }
    return kinds, y


@pytest.mark.parametrize("growth", [{"luts": 200}, {"growth": "nodes", "max_nodes": 6}], ids=str)
def test_frames_of_all_kinds_are_one(growth):
    kinds, y = frames()
    learners = {kind: SCMRegressor(random_state=0, **growth).fit(X, y) for kind, X in kinds.items()}
    wanted = learners["pandas"].predict(kinds["pandas"])
    assert np.sqrt(np.mean((wanted - y) ** 2)) < 0.8 * y.std()
    for kind, learner in learners.items():
        assert_array_equal(learner.predict(kinds["pandas"]), wanted, err_msg=kind)
        # Columns are found by name.
        X = kinds[kind]
        turned = X[list(reversed(list(X.columns)))]
        assert_array_equal(learners["pandas"].predict(turned), wanted, err_msg=kind)
    assert list(learners["pandas"].feature_names_in_) == ["grade", "heat", "works"]
    assert learners["pandas"].n_features_in_ == 3


def test_objects_without_names_and_rows_to_validate_on():
    kinds, y = frames()
    X = kinds["pandas"].to_numpy(dtype=object)
    learner = SCMRegressor(luts=150, random_state=0).fit(X[:160], y[:160], (X[160:], y[160:]))
    named = SCMRegressor(luts=150, random_state=0).fit(
        kinds["pandas"][:160], y[:160], (kinds["pandas"][160:], y[160:])
    )
    assert_array_equal(learner.predict(X), named.predict(kinds["pandas"]))
    assert learner.machine_.signals == ("x0", "x1", "x2")


def test_numbers_as_categories():
    random = np.random.default_rng(3)
    batch = random.integers(0, 5, 300)
    X = np.column_stack([batch, random.normal(size=300)])
    y = np.array([0, 9, 1, 8, 2])[batch] + 0.1 * X[:, 1]
    learner = SCMRegressor(luts=200, categories=[0], random_state=0).fit(X, y)
    assert learner.machine_.features == ("x0=0", "x0=1", "x0=2", "x0=3", "x0=4", "x1")
    assert np.sqrt(np.mean((learner.predict(X) - y) ** 2)) < 0.5
    X[0, 0] = 17
    learner.predict(X[:1])
    assert clone(learner).categories == [0]


def test_a_classifier_of_categories():
    kinds, y = frames()
    labels = np.where(y > 0, "good", "bad")
    learner = SCMClassifier(luts=200, random_state=0).fit(kinds["polars"], labels)
    assert (learner.predict(kinds["polars"]) == labels).mean() > 0.8


def test_missing_values_that_training_had_not():
    kinds, y = frames()
    learner = SCMRegressor(luts=150).fit(
        kinds["pandas"].dropna(), y[: len(kinds["pandas"].dropna())]
    )
    with pytest.raises(DataError, match="column 'heat' must have a value in every row"):
        learner.predict(kinds["pandas"])


def test_gray_bits_do_not_know_a_missing_value():
    kinds, y = frames()
    learner = SCMRegressor(growth="nodes", encoder="gray:4", max_nodes=3)
    with pytest.raises(ParameterError, match="missing must be 'median' with encoder 'gray'"):
        learner.fit(kinds["pandas"], y)
    learner.set_params(missing="median").fit(kinds["pandas"], y)
    assert "heat missing" in learner.machine_.features
    assert Feature(1, IS_MISSING) in learner.machine_.columns.features


# --------------------------------------------------------------------------------------- order

DAYS = [datetime(2024, 1, 1) + timedelta(hours=7 * i) for i in range(60)]


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M:%S",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %H:%M",
        "%d/%m/%Y %H:%M:%S",
        "%Y-%m-%dT%H:%M",
    ],
)
def test_dates_are_told_and_ordered(form):
    values = np.array([day.strftime(form) for day in DAYS], dtype=object)
    assert left_out("when", values) == "holds dates"
    moments = times_of("when", values)
    assert (np.diff(moments).astype(np.int64) > 0).all()
    assert time_order(["when"], [values], np.arange(60)) == "column 'when' rises from row to row"
    mixed = np.random.default_rng(0).permutation(values)
    assert time_order(["when"], [mixed], np.arange(60.0) % 7) is None


def test_other_kinds_of_dates():
    assert left_out("a", np.array(DAYS, dtype=object)) == "holds dates"
    assert left_out("a", np.array(DAYS, dtype="datetime64[s]")) == "holds dates"
    assert left_out("a", np.array([date(2024, 1, 1)] * 30, dtype=object)) == "holds dates"
    assert left_out("a", np.array(["3.1.2024", None] * 20, dtype=object)) == "holds dates"
    bad = np.array(["3.1.2024", "soon"], dtype=object)
    with pytest.raises(DataError, match="must be a date or time in every row, not 'soon'"):
        times_of("a", bad)


def test_running_numbers_are_no_features_and_others_are():
    rows = np.arange(40.0)
    assert left_out("a", rows + 5) == "is a running number"
    assert left_out("a", rows[::-1]) == "is a running number"
    assert left_out("time", rows * 0.1) == "rises from row to row"
    assert left_out("speed", rows * 0.1) is None
    assert left_out("time", np.sin(rows)) is None
    assert left_out("a", np.array(["x", "y"] * 20, dtype=object)) is None
    names = np.array([f"sample {i}" for i in range(40)], dtype=object)
    assert left_out("a", names) == "has a text of its own in most rows"


def test_rows_nearly_alike_are_in_order():
    t = np.linspace(0, 20, 500)
    slow, y = [np.sin(t), np.cos(0.7 * t)], np.sin(0.5 * t)
    assert time_order(["a", "b"], slow, y) == "rows next to each other are nearly alike"
    mixed = np.random.default_rng(0).permutation(500)
    assert time_order(["a", "b"], [one[mixed] for one in slow], y[mixed]) is None
