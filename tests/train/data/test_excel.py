"""Sheets of Excel as tables."""

from __future__ import annotations

import sys
from datetime import datetime

import numpy as np
import openpyxl
import pytest
from numpy.testing import assert_array_equal

from scm_train.data.files import TableOptions, read_features, read_rows
from scm_train.errors import DataError

ROWS = [[1.5, "fine", 10], [None, "coarse", 20], [5, None, 30]]


def book(path, *rows, title="Plant", more=()):
    workbook = openpyxl.Workbook()
    workbook.active.title = title
    for row in rows:
        workbook.active.append(row)
    for name, lines in more:
        sheet = workbook.create_sheet(name)
        for line in lines:
            sheet.append(line)
    workbook.save(path)
    return path


def test_a_sheet_is_a_table(tmp_path):
    path = book(tmp_path / "d.xlsx", ["speed", "grade", "force"], *ROWS, [None, None, None])
    rows = read_rows(path, ["force"])
    assert_array_equal(rows.X["speed"], [1.5, np.nan, 5])
    assert rows.X["grade"].tolist() == ["fine", "coarse", None]
    assert_array_equal(rows.y, [10, 20, 30])
    assert rows.y.dtype.kind == "i"


def test_units_dates_and_other_sheets(tmp_path):
    days = [[datetime(2024, 1, day), day * day, day % 3] for day in range(1, 29)]
    path = book(
        tmp_path / "d.xlsx",
        ["nothing"],
        more=[("Log", [["when", "heat", "y"], ["", "K", "-"], *days])],
    )
    rows = read_rows(path, ["y"], options=TableOptions(sheet="Log"))
    assert rows.feature_names == ("heat",)
    assert_array_equal(rows.X[:, 0], [row[1] for row in days])
    assert rows.notes == ("column 'when' holds dates and is left out (--features takes it)",)
    with pytest.raises(DataError, match=r"--sheet must be a sheet of d\.xlsx.*did you mean 'Log'"):
        read_features(path, ["heat"], options=TableOptions(sheet="Lug"))


def test_sheets_without_names(tmp_path):
    path = book(tmp_path / "d.xlsx", [1, 2], [3, 4])
    assert read_rows(path, ["x2"]).y.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "must have a header and rows, not be empty"),
        ([["a", "a"], [1, 2]], "column names of d.xlsx must be distinct, not 'a' twice"),
        ([["a", "y"]], "rows of d.xlsx must be at least 1, not 0"),
    ],
)
def test_bad_sheets_are_one_line(rows, message, tmp_path):
    path = book(tmp_path / "d.xlsx", *rows)
    with pytest.raises(DataError, match=message):
        read_rows(path, ["y"])


def test_damaged_files_and_a_missing_library(tmp_path, monkeypatch):
    (tmp_path / "d.xlsx").write_bytes(b"no book")
    with pytest.raises(DataError, match=r"can't read 'd\.xlsx': .*; save it again as \.xlsx"):
        read_rows(tmp_path / "d.xlsx", ["y"])
    with pytest.raises(DataError, match="there is no such file"):
        read_rows(tmp_path / "none.xlsx", ["y"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'scm-hw\[excel\]'"):
        read_rows(tmp_path / "d.xlsx", ["y"])
