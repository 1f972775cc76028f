from __future__ import annotations

import gzip
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from scm_model.tables import text_source
from scm_train.data.files import read_features, read_rows
from scm_train.errors import DataError

CSV = "speed,load,force\n1,2.5,10\n-3,4e-1,20\n5,6,30\n"


def write(tmp_path, text, name="data.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_csv(tmp_path):
    rows = read_rows(write(tmp_path, CSV), ["force"])
    assert rows.feature_names == ("speed", "load")
    assert rows.target_names == ("force",)
    assert_array_equal(rows.X, [[1, 2.5], [-3, 0.4], [5, 6]])
    assert_array_equal(rows.y, [10, 20, 30])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.tsv", CSV.replace(",", "\t")),
        ("d.TXT", CSV.replace(",", "\t")),
        ("d.csv", CSV.replace(",", ";")),
        ("d.csv", "\ufeff" + CSV),
        ("d.csv", CSV.replace("\n", "\r\n")),
        ("d.csv", "\n" + CSV.replace("\n", "\n\n")),
        ("d.csv", ' "speed" , load,force\n"1", 2.5 ,10\n-3,4e-1,20\n5,6,30'.replace(' "', '"', 1)),
    ],
)
def test_other_shapes_of_text(tmp_path, name, text):
    rows = read_rows(write(tmp_path, text, name), ["force"])
    assert rows.feature_names == ("speed", "load")
    assert_array_equal(rows.X, [[1, 2.5], [-3, 0.4], [5, 6]])


def test_gzipped_text(tmp_path):
    with gzip.open(tmp_path / "d.csv.gz", "wt") as file:
        file.write(CSV)
    assert_array_equal(read_rows(tmp_path / "d.csv.gz", ["force"]).y, [10, 20, 30])


def test_truncated_gzip(tmp_path):
    data = gzip.compress(CSV.encode() * 100)
    (tmp_path / "d.csv.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"can't read .*; check the file"):
        read_rows(tmp_path / "d.csv.gz", ["force"])


def test_long_files_are_read_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_source, "_HEAD", 400)
    monkeypatch.setattr(text_source, "_BLOCK", 100)
    monkeypatch.setattr(text_source, "_SAMPLE_ROWS", 3)
    data = np.random.default_rng(0).normal(size=(50, 3))
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row.tolist())) for row in data)
    rows = read_rows(write(tmp_path, text), ["b"])
    assert_array_equal(rows.X, data[:, [0, 2]])
    assert_array_equal(rows.y, data[:, 1])
    with pytest.raises(DataError, match="not 'x' in line 52"):
        read_rows(write(tmp_path, text + "\nx,1,2\n"), ["b"])


def test_chosen_and_dropped_columns(tmp_path):
    path = write(tmp_path, "id,a,b,y,z\nr1,1,2,3,4\nr2,5,6,7,8\n")
    assert read_rows(path, ["y"], drop=["id"]).feature_names == ("a", "b", "z")
    assert read_rows(path, ["y"], features=["b", "a"]).feature_names == ("b", "a")
    several = read_rows(path, ["z", "y"], drop=["id", "a"])
    assert_array_equal(several.y, [[4, 3], [8, 7]])
    assert_array_equal(read_features(path, ["z", "a"]), [[4, 1], [8, 5]])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["2", "1"], np.array([2, 1])),
        (["2", "1.5"], np.array([2.0, 1.5])),
        ([" yes", "no "], np.array(["yes", "no"])),
        (["1", "one"], np.array(["1", "one"])),
        (["1.0", "2"], np.array([1.0, 2.0])),
    ],
)
def test_a_target_keeps_the_narrowest_type(tmp_path, labels, expected):
    text = "x,y\n" + "\n".join(f"{i},{label}" for i, label in enumerate(labels))
    y = read_rows(write(tmp_path, text), ["y"]).y
    assert y.dtype == expected.dtype
    assert_array_equal(y, expected)


def test_constant_features_are_told(tmp_path):
    rows = read_rows(write(tmp_path, "a,b,y\n1,2,3\n1,3,4\n"), ["y"])
    assert rows.constant_features == ("a",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a header and rows, not be empty"),
        ("\n\n", "must have a header and rows, not be empty"),
        ("a,y\n", "rows of data.csv must be at least 1, not 0"),
        ("a,force\n1,2\n2,3\n", "column 'y' must be in data.csv; known are: a, force"),
        ("a,Y1\n1,2\n2,3\n", "column 'y' must be in data.csv; did you mean 'Y1'"),
        ("a,a,y\n1,2,3\n", "column names of data.csv must be distinct, not 'a' twice"),
        ("1,2\n3,4\n", "column 'y' must be in data.csv; known are: x1, x2"),
        ("a,y\n1,2\n\nbig,3\n", "column 'a' must be finite numbers, not 'big' in line 4"),
        ("\na,y\n# b\n1,2\n1e999,3\n", "column 'a' must be finite numbers, not '1e999' in line 5"),
        ("a,y\n1,2\n1_0,3\n", "not '1_0' in line 3"),
        ("a,y\n1,2\n-inf,3\n", "not '-inf' in line 3"),
        ("a,y\n1,2\n2,\n", "column 'y' must have a value in every row, not be missing as in"),
        (
            "a,y\n1,2\n2,nan\n",
            "column 'y' must have a value in every row, not be missing as in",
        ),
        ("a,y\n1,2\n3\n", "line 3 of data.csv must have 2 fields as the header has, not 1"),
        ("a,y\n1,2\n3,4,5\n", "line 3 of data.csv must have 2 fields as the header has, not 3"),
        ("a;y\n1.5;2\n2,5;3\n", "not '2,5' in line 3 .*; .* or give --decimal ,"),
        ("a,y\n1,7\n2,7\n", "target 'y' must vary, not be 7 in every row"),
        ("y\n1\n2\n", "features must be at least one"),
        ("a,y\n1\0,2\n", "can't read .*; check the file|finite numbers"),
    ],
)
def test_bad_text_gets_one_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message) as caught:
        read_rows(write(tmp_path, text), ["y"])
    assert "\n" not in str(caught.value)


def test_bad_requests(tmp_path):
    path = write(tmp_path, CSV)
    with pytest.raises(DataError, match=r"rows of data\.csv must be at least 4, not 3"):
        read_rows(path, ["force"], least=4)
    with pytest.raises(DataError, match="column 'force' must be named once"):
        read_rows(path, ["force", "force"])
    with pytest.raises(DataError, match=r"'laod' must be in data\.csv; did you mean 'load'"):
        read_features(path, ["laod"])
    with pytest.raises(DataError, match="did you mean 'load'"):
        read_features(path, ["LOAD"])
    with pytest.raises(DataError, match=r"'colour' must be in data\.csv"):
        read_rows(path, ["force"], drop=["colour"])


def test_text_among_several_targets(tmp_path):
    path = write(tmp_path, "a,y,z\n1,2,no\n2,3,yes\n")
    with pytest.raises(DataError, match="target 'z' must be numbers, not text like"):
        read_rows(path, ["y", "z"])


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"a,y\n\0\0\xff\xfe,1\n")
    with pytest.raises(DataError, match=r"can't read .*: it is no text; check the file"):
        read_rows(tmp_path / "d.csv", ["y"])


@pytest.mark.parametrize("name", ["data.xls", "data", "data.npy.gz"])
def test_unknown_endings(tmp_path, name):
    with pytest.raises(DataError, match=r"data file must end in \.csv"):
        read_rows(tmp_path / name, ["y"])


@pytest.mark.parametrize("name", ["none.csv", "none.csv.gz", "none.parquet", "none.npy"])
def test_missing_files(tmp_path, name):
    with pytest.raises(DataError, match=f"can't read '.*{name}': there is no such file"):
        read_rows(tmp_path / name, ["y"])


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=r"can't read .*; check the file"):
        read_rows(tmp_path / "d.csv", ["y"])


# ------------------------------------------------------------------------------------ arrays


def test_npy_columns_are_numbered(tmp_path):
    data = np.arange(12).reshape(4, 3) ** 2
    np.save(tmp_path / "d.npy", data)
    rows = read_rows(tmp_path / "d.npy", ["x3"])
    assert rows.feature_names == ("x1", "x2")
    assert_array_equal(rows.X, data[:, :2])
    assert_array_equal(rows.y, data[:, 2])


def test_npz_entries_are_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 2))
    np.savez(tmp_path / "d.npz", X=X, label=np.array(["a", "b", "a", "b", "b"]))
    rows = read_rows(tmp_path / "d.npz", ["label"])
    assert rows.feature_names == ("X1", "X2")
    assert_array_equal(rows.X, X)
    assert_array_equal(rows.y, ["a", "b", "a", "b", "b"])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, "must have equally many rows"),
        ({"X": np.zeros((3, 2, 2)), "y": np.zeros(3)}, "must be matrices or columns"),
        ({"X": np.array([[1.0, np.inf]] * 3), "y": np.arange(3)}, "'X2' must be finite numbers"),
        ({"X": np.ones((2, 1), complex), "y": np.arange(2)}, "'X1' of d.npz must be numbers or"),
        ({"X": np.array([[{}]], dtype=object), "y": np.arange(1)}, "save plain arrays"),
        ({"X": np.ones((2, 1)), "y": np.array([1, np.inf])}, "'y' must be finite numbers, not inf"),
    ],
)
def test_bad_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_rows(tmp_path / "d.npz", ["y"])


def test_a_single_column_npy_is_refused(tmp_path):
    np.save(tmp_path / "d.npy", np.arange(4))
    with pytest.raises(DataError, match="must be matrices or columns, not of shape"):
        read_rows(tmp_path / "d.npy", ["x1"])


@pytest.mark.parametrize("name", ["d.npy", "d.npz", "d.parquet"])
def test_damaged_binary_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"this is not what its name says")
    with pytest.raises(DataError, match=r"can't read .*; (check|save|write)"):
        read_rows(tmp_path / name, ["y"])


# ----------------------------------------------------------------------------------- Parquet


def parquet(tmp_path, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
    return tmp_path / "d.parquet"


def test_parquet(tmp_path):
    path = parquet(tmp_path, a=[1, 2], b=[0.5, 1.5], on=[True, False], y=["lo", "hi"])
    rows = read_rows(path, ["y"])
    assert rows.feature_names == ("a", "b", "on")
    assert rows.X["on"].tolist() == [True, False]
    assert_array_equal(np.stack([rows.X["a"], rows.X["b"]], axis=1), [[1, 0.5], [2, 1.5]])
    assert_array_equal(rows.y, ["lo", "hi"])


def test_parquet_has_categories_and_missing_values(tmp_path):
    path = parquet(
        tmp_path,
        a=[1, None],
        b=pyarrow.array(["x", None]).dictionary_encode(),
        c=[None, float("nan")],
        y=[1, 2],
    )
    rows = read_rows(path, ["y"], features=["a", "b", "c"])
    assert_array_equal(rows.X["a"], [1, np.nan])
    assert rows.X["b"].tolist() == ["x", None]
    assert np.isnan(rows.X["c"]).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, 2], "y": [None, 2]}, "'y' must have a value in every row, not be missing as in"),
        ({"a": [1.0, float("inf")], "y": [1, 2]}, "'a' must be finite numbers, not inf in row 2"),
        ({"a": [{"b": 1}, {"b": 2}], "y": [1, 2]}, "must be numbers or text"),
    ],
)
def test_bad_parquet(tmp_path, columns, message):
    with pytest.raises(DataError, match=message):
        read_rows(parquet(tmp_path, **columns), ["y"])


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = parquet(tmp_path, a=[1, 2], y=[1, 2])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"pip install 'scm-hw\[parquet\]'"):
        read_rows(path, ["y"])
