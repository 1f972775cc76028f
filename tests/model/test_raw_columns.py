"""Categories and missing values: what labels and numbers become, and how a file keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import Column, Columns, Feature, ModelFileError, input_codes, read_model, write_model
from scm_model.errors import DataError
from scm_model.raw_columns import VALUE, label_of
from scm_model.raw_table import RawTable
from scm_model.reader import model_from_arrays
from scm_model.writer import model_to_arrays
from tests.column_models import COLUMNS, column_model, raw_rows
from tests.support import meta_array


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ((3, 3.0, "3", " 3.0 ", np.int8(3), np.float32(3)), "3"),
        ((True, "true", "TRUE", np.True_), "True"),
        ((None, "", " ", "NA", "n/a", "?", "NULL", "nan", float("nan"), np.nan), None),
        (("M", " M"), "M"),
        (("1.50", "1.50 "), "1.50"),
        (("007",), "007"),
        (("v.0",), "v.0"),
    ],
)
def test_labels_are_compared_as_text(values: tuple[Any, ...], label: str | None) -> None:
    assert [label_of(value) for value in values] == [label] * len(values)


def test_a_category_has_codes_and_one_of_all_other_labels() -> None:
    column = Column(values=("low", None, "high", "7"), other=2)
    assert column.labels == ("low", None, "(other)", "high", "7")
    assert (column.count, column.bits) == (5, 3)
    values = np.array(["low", "?", "new", "high", 7.0], dtype=object)
    read = column.read("grade", values)
    assert read.tolist() == [0, 1, 2, 3, 4]
    assert column.read("grade", column.raw(read)).tolist() == read.tolist()


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            Column(values=("False", "True")),
            ["true", "maybe"],
            "column 'a' must be one of 'False', 'True', not 'maybe' as in row 2; correct the rows",
        ),
        (
            Column(),
            [1.0, None],
            (
                "column 'a' must have a value in every row, not be missing as in row 2: no value "
                "of it was missing in training; correct or leave out such rows"
            ),
        ),
        (
            Column(missing="code"),
            [1.0, np.inf],
            "column 'a' must be finite, not inf as in row 2; correct the rows",
        ),
        (
            Column(missing="code"),
            [1.0, "warm"],
            "column 'a' must be numbers, not 'warm' as in row 2; correct the rows",
        ),
    ],
)
def test_values_that_a_column_does_not_have_are_one_line(
    column: Column, values: list[Any], message: str
) -> None:
    with pytest.raises(DataError) as error:
        column.read("a", np.array(values, dtype=object))
    assert str(error.value) == message


def test_features_are_made_of_columns() -> None:
    columns = replace(COLUMNS, names=("sex", "sex=F", "flow", "pressure", "heat", "works"))
    assert columns.feature_names[:4] == ("sex=F_", "sex=I", "sex=M", "sex=F")
    assert columns.feature_names[6] == "pressure missing"
    read = columns.read(np.array([["I", "7", None, "", 0.25, "TRUE"]], dtype=object))
    assert_array_equal(read, [[1, 4, np.nan, np.nan, 0.25, 1]])
    low, high = np.zeros(9), np.array([2.0, 2, 2, 8, 1, 1, 2, 1, 2])
    found = columns.expand(read, low, high, 8)
    assert_allclose(found, [[0, 1, 0, 4, 255.5 / 256, 0.4, 1, 0.25, 1]])


def test_no_number_has_the_code_of_a_missing_one() -> None:
    columns = Columns(("a",), (Column(missing="code"),), (Feature(0, VALUE),))
    read = np.array([[0.0], [1.0], [5.0], [np.nan]])
    low, high = columns.ranges(read[:2], 8)
    seen = columns.expand(read, low, high, 8)
    codes = np.floor((seen - low) / (high - low) * 256)
    assert codes[:, 0].tolist() == [0, 254, 254, 255]


@pytest.mark.parametrize("encoder", ["thermometer", "none"])
def test_a_model_reads_rows_of_any_kind_alike(encoder: str) -> None:
    model = column_model(3, encoder=encoder)
    rows = raw_rows(model, 30)
    decision = model.decision(rows)
    names = model.signals
    assert names == COLUMNS.names
    table = RawTable({name: rows[:, i] for i, name in reversed(list(enumerate(names)))})
    assert_array_equal(model.decision(table), decision)
    read = model.columns.read(rows)
    static = model.static
    features = model.columns.expand(read, model.input_min, model.input_max, model.input_bits)
    assert_array_equal(static.decision(features), decision)
    assert_allclose(model.decision(rows[3:4]), decision[3:4], rtol=1e-12)


def test_hardware_sees_a_code_for_each_column() -> None:
    model = column_model(3)
    rows = raw_rows(model, 50)
    codes = input_codes(model, rows)
    assert [code.bits for code in model.input_codes] == [2, 3, 8, 8, 8, 1]
    read = model.columns.read(rows)
    for i in (0, 1, 5):
        assert_array_equal(codes[:, i], read[:, i])
    for i in (2, 3):
        assert_array_equal(codes[:, i] == 255, np.isnan(read[:, i]))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_file_keeps_columns(task: str, tmp_path: Any) -> None:
    model = column_model(1, task=task, outputs=2)
    path = tmp_path / "model.npz"
    write_model(model, path)
    loaded = read_model(path)
    assert loaded.columns == model.columns
    assert loaded.features == model.features
    rows = raw_rows(model, 30)
    assert_array_equal(loaded.decision(rows), model.decision(rows))
    kept, own = loaded.evaluation.inputs, model.evaluation.inputs
    assert_array_equal(loaded.decision(kept), model.decision(own))
    write_model(loaded, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def damaged(change: dict[str, Any], **entries: Any) -> dict[str, np.ndarray]:

    arrays = model_to_arrays(column_model(1))
    meta = json.loads(arrays["meta"].tobytes())
    assert meta["version"] == 3
    for place, item in change.items():
        if place == "version":
            meta["version"] = item
        elif place == "all":
            meta["columns"] = item
        else:
            meta["columns"][int(place)] = item
    return arrays | entries | {"meta": meta_array(meta)}


CATEGORY = {"kind": "category", "values": ["F", "I", "M"], "other": 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"all": {}}, "meta 'columns' must be a list of objects, not {}"),
        ({"all": []}, "meta 'columns' must be 6, one per feature name"),
        ({"0": 3}, "column 'sex' must be an object with a 'kind' of number or category, not 3"),
        (
            {"0": CATEGORY | {"values": ["F", "F", "M"]}},
            "column 'sex' must have 'values' that are distinct strings or null",
        ),
        (
            {"0": CATEGORY | {"values": ["F", "I", "M "]}},
            "column 'sex' must have 'values' as they are compared, not 'M '",
        ),
        (
            {"0": CATEGORY | {"other": 4}},
            "column 'sex' must have 'other' of null or 0 to 3, not 4",
        ),
        (
            {"2": {"kind": "number", "missing": "mean"}},
            "column 'flow' must have 'missing' of code, median, not 'mean'",
        ),
        (
            {"3": {"kind": "number", "missing": "median", "median": "x"}},
            "column 'pressure' must have a finite 'median', not 'x'",
        ),
        (
            {"3": {"kind": "number"}},
            "entry 'feature_sources' must be of columns and what they have, not (3, -2)",
        ),
        (
            {"0": CATEGORY | {"values": [f"v{i}" for i in range(300)]}},
            "column 'sex' must have at most 256 codes, not 301",
        ),
    ],
)
def test_damaged_columns_are_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFileError) as error:
        model_from_arrays(damaged(change))
    assert str(error.value) == message


def test_damaged_entries_are_one_line() -> None:
    whole = model_to_arrays(column_model(1))
    sources = whole["feature_sources"]
    rows = whole["eval_inputs"]
    cases = [
        ({"feature_sources": sources[:, :1]}, "must have shape"),
        ({"feature_sources": np.where(sources == 0, 9, sources)}, "must be of columns and what"),
        ({"feature_sources": np.concatenate([sources[1:], sources[1:2]])}, "must be distinct"),
        (
            {"input_max": np.full(9, 3.0)},
            r"must have the range \(0.0, 2.0\) or \(0.0, 1.0\)",
        ),
        ({"eval_inputs": np.where(rows == 1, 1.5, rows)}, "must have a value that column 'sex'"),
        ({"eval_inputs": np.full_like(rows, np.nan)}, "must have a value that column 'sex'"),
    ]
    for change, message in cases:
        with pytest.raises(ModelFileError, match=message):
            model_from_arrays(whole | change)


def test_earlier_versions_have_no_columns() -> None:
    """What an earlier version says of columns is a key that it does not know."""
    with pytest.raises(ModelFileError, match="encoder_bits"):
        model_from_arrays(damaged({"version": 2}))


@given(st.lists(st.one_of(st.none(), st.text(max_size=5), st.integers(), st.booleans())))
def test_raw_labels_come_back(values: list[Any]) -> None:
    labels = list(dict.fromkeys(label_of(value) for value in values))
    labels = [label for label in labels if label != "(other)"] or ["a"]
    column = Column(values=tuple(labels[:3]), other=min(1, len(labels[:3])))
    array = np.empty(len(values), dtype=object)
    array[:] = values
    read = column.read("a", array)
    assert_array_equal(column.read("a", column.raw(read)), read)
