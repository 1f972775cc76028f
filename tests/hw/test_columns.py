"""Columns by name, in whatever order they come, and values outside of their range."""

from __future__ import annotations

import re

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw.common.columns import by_name, outside_range
from scm_hw.errors import OptionError

NAMES = ("speed", "load", "clk", "a b")
ROWS = np.arange(12.0).reshape(3, 4)


@settings(deadline=None, database=None)
@given(st.permutations([*NAMES, "target"]))
def test_a_frame_in_any_order_gives_the_same_rows(order: list[str]) -> None:
    frame = pandas.DataFrame(ROWS, columns=NAMES).assign(target=7.0)[order]
    np.testing.assert_array_equal(by_name(frame, NAMES), ROWS)
    np.testing.assert_array_equal(by_name(frame.to_records(index=False), NAMES), ROWS)


def test_rows_without_names_are_taken_as_they_are() -> None:
    np.testing.assert_array_equal(by_name(ROWS, NAMES), ROWS)
    np.testing.assert_array_equal(by_name(ROWS.tolist(), NAMES), ROWS)
    np.testing.assert_array_equal(by_name(pandas.DataFrame(ROWS), NAMES), ROWS)


def test_a_column_that_is_missing_or_there_twice_is_named() -> None:
    frame = pandas.DataFrame(ROWS, columns=NAMES)
    message = "rows must have a column 'load', not only 'speed', 'clk', 'a b'"
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        by_name(frame.drop(columns="load"), NAMES)
    twice = pandas.concat([frame, frame[["load"]]], axis=1)
    with pytest.raises(OptionError, match=r"^rows must have a column 'load', not have several of"):
        by_name(twice, NAMES)


def test_a_column_of_text_is_no_number() -> None:
    frame = pandas.DataFrame(ROWS, columns=NAMES).assign(load="high")
    with pytest.raises(OptionError, match=r"^rows must be numbers"):
        by_name(frame, NAMES)


def test_values_outside_the_range_are_one_line() -> None:
    rows = np.array([[0.0, 5.0, 1.0, 1.0], [1.0, -3.0, 1.0, 1.5], [0.5, 0.5, 0.5, 1.0]])
    found = outside_range(NAMES, rows, [0.0] * 4, [1.0] * 4)
    assert found == (
        "values outside of their range are clipped to it: 'load' in 66.67% of rows (0 to 1), "
        "'a b' in 33.33% of rows (0 to 1)"
    )
    assert outside_range(NAMES, rows.clip(0, 1), [0.0] * 4, [1.0] * 4) is None
    assert outside_range(NAMES, rows[:0], [0.0] * 4, [1.0] * 4) is None


def test_many_columns_outside_are_counted() -> None:
    names = [f"x{i}" for i in range(8)]
    found = outside_range(names, np.full((2, 8), 3.0), [0.0] * 8, [1.0] * 8)
    assert found is not None and found.endswith(
        "'x4' in 100.00% of rows (0 to 1) and 3 more columns"
    )
