"""Rows for the checks: packing, corners, random codes, and rows from a CSV file."""

from __future__ import annotations

import gzip
import re
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw import boards
from scm_hw.common.packing import pack, unpack
from scm_hw.design import Design, compile_model
from scm_hw.errors import RangeWarning, TableWarning
from scm_hw.ir.interp import interpret
from scm_hw.load import Model
from scm_hw.passes.sample import MAX_CORNER_ROWS, RANDOM_ROWS, _margins
from scm_hw.verify.rows import check_rows
from scm_hw.verify.tables import read_table
from scm_model.errors import DataError
from scm_model.tables.dialect import TableOptions
from tests.hw import oracle
from tests.hw.commands import SMALL, write_csv
from tests.support import model_arrays, random_model


def small_design(**options: object) -> Design:
    return compile_model(random_model(1, **(SMALL | options)), boards.get("arty-a7"))


columns = st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=5)


@settings(deadline=None, database=None)
@given(columns, st.randoms(use_true_random=False))
def test_unpack_is_the_reverse_of_pack(formats: list[tuple[int, bool]], random: object) -> None:
    widths, signed = [w for w, _ in formats], [s for _, s in formats]
    ends = [(-(1 << (w - 1)), (1 << (w - 1)) - 1) if s else (0, (1 << w) - 1) for w, s in formats]
    rows = [[random.randint(*end) for end in ends] for _ in range(4)]
    rows += [[low for low, _ in ends], [high for _, high in ends]]
    words = pack(np.array(rows, dtype=np.int64), widths)
    assert all(0 <= word < 1 << sum(widths) for word in words)
    np.testing.assert_array_equal(unpack(words, widths, signed), rows)


def test_the_first_column_is_in_the_lowest_bits() -> None:
    assert pack(np.array([[1, 2, -1], [15, 0, 0]]), [4, 3, 2]) == [0b11_010_0001, 0b00_000_1111]
    assert unpack([0b11_010_0001], [4, 3, 2], [False, False, True]).tolist() == [[1, 2, -1]]
    assert unpack([], [4, 3], [False, True]).shape == (0, 2)


@pytest.mark.parametrize("mechanism", ["none", "external"])
def test_corners_and_random_rows_stay_within_and_reach_the_ends(mechanism: str) -> None:
    design = small_design(mechanism=mechanism)
    rows = check_rows(design, None)
    low = np.array([r.low for r in design.input_ranges])
    high = np.array([r.high for r in design.input_ranges])
    corners = rows.inputs[: 2 + 2 * len(low)]
    assert len(rows.inputs) == len(corners) + RANDOM_ROWS
    assert ((low <= rows.inputs) & (rows.inputs <= high)).all()
    expected = {tuple(low), tuple(high)}
    for i in range(len(low)):
        expected |= {(*low[:i], high[i], *low[i + 1 :]), (*high[:i], low[i], *high[i + 1 :])}
    assert {tuple(row) for row in corners} == expected
    spread = rows.inputs[len(corners) :]
    assert (spread.max(axis=0) - spread.min(axis=0) > 0.8 * (high - low)).all()


def test_corners_of_many_inputs_are_bounded() -> None:
    rows = check_rows(small_design(features=30), None)
    assert len(rows.inputs) == MAX_CORNER_ROWS + RANDOM_ROWS


@pytest.mark.parametrize("mechanism", ["none", "external"])
def test_evaluation_rows_come_first_and_are_exact(mechanism: str) -> None:
    design = small_design(mechanism=mechanism)
    rows = check_rows(design, design.model.evaluation)
    assert len(rows.inputs) == 10 + 2 + 2 * len(design.input_ranges) + RANDOM_ROWS
    arrays = model_arrays(1, **(SMALL | {"mechanism": mechanism}))
    codes = [oracle.code_of(arrays, row) for row in arrays["eval_inputs"]]
    np.testing.assert_array_equal(rows.inputs[:10, :2], codes)
    np.testing.assert_array_equal(rows.outputs, interpret(design.meaning, rows.inputs))
    np.testing.assert_array_equal(rows.outputs, interpret(design.program, rows.inputs))


def test_vectors_are_the_rows_packed() -> None:
    design = small_design(outputs=2)
    rows = check_rows(design, design.model.evaluation)
    vectors = rows.vectors(design)
    assert (len(vectors), vectors.in_width) == (len(rows.inputs), 8)
    widths = [r.width for r in design.output_ranges]
    signed = [r.signed for r in design.output_ranges]
    np.testing.assert_array_equal(unpack(vectors.inputs, [4, 4], [False] * 2), rows.inputs)
    np.testing.assert_array_equal(unpack(vectors.outputs, widths, signed), rows.outputs)


@pytest.fixture
def regression() -> Model:
    return random_model(1, **SMALL)


@pytest.fixture
def classifier() -> Model:
    return random_model(1, **(SMALL | {"task": "classification", "outputs": 3}))


def test_columns_are_found_by_name(tmp_path: Path, regression: Model) -> None:
    header = ["y0", "note", "x1", "x0"]
    path = write_csv(tmp_path / "d.csv", header, [[0.5, "a", 2, -1e-3], [1, "b", 4, 3]])
    found = read_table(regression, path)
    np.testing.assert_array_equal(found.inputs, [[-1e-3, 2], [3, 4]])
    np.testing.assert_array_equal(found.targets, [[0.5], [1]])
    assert found.mechanism is None


@settings(deadline=None, database=None)
@given(st.permutations(["x0", "x1", "x2", "y0", "y1", "note"]))
def test_the_order_of_columns_has_no_part_in_it(order: list[str]) -> None:
    model = random_model(1, **(SMALL | {"features": 3, "outputs": 2}))
    values = {name: [i + 0.25, i + 0.5] for i, name in enumerate(order)}
    with tempfile.TemporaryDirectory() as folder:
        rows = list(zip(*(values[name] for name in order), strict=True))
        with warnings.catch_warnings(action="ignore", category=RangeWarning):
            found = read_table(model, write_csv(Path(folder) / "d.csv", order, rows))
    np.testing.assert_array_equal(found.inputs.T, [values[n] for n in ("x0", "x1", "x2")])
    np.testing.assert_array_equal(found.targets.T, [values[n] for n in ("y0", "y1")])


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path, regression: Model) -> None:
    path = write_csv(tmp_path / "d.csv", ["x0", "x1", "y0", "x1"], [[1, 2, 3, 4]])
    with pytest.raises(DataError, match="must be distinct, not 'x1' twice"):
        read_table(regression, path)


def test_values_outside_the_training_range_are_told(tmp_path: Path, regression: Model) -> None:
    low, high = regression.input_min, regression.input_max
    inside = [*low, 0.0]
    path = write_csv(tmp_path / "d.csv", ["x0", "x1", "y0"], [inside, [low[0], high[1] + 1, 0.0]])
    with pytest.warns(RangeWarning) as told:
        read_table(regression, path)
    line = (
        f"data file {path}: values outside of their range are clipped to it: 'x1' in 50.00% of "
        f"rows ({low[1]:g} to {high[1]:g})"
    )
    assert [str(w.message) for w in told] == [line]


def test_a_byte_order_mark_and_crlf_do_no_harm(tmp_path: Path, regression: Model) -> None:
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbfx0,x1,y0\r\n1,2,3\r\n")
    np.testing.assert_array_equal(read_table(regression, tmp_path / "d.csv").inputs, [[1, 2]])


def test_an_external_mechanism_has_columns_of_its_own(tmp_path: Path) -> None:
    model = random_model(1, **(SMALL | {"mechanism": "external"}))
    path = write_csv(tmp_path / "d.csv", ["x0", "x1", "y0", "P0_y0"], [[1, 2, 3, 4]])
    np.testing.assert_array_equal(read_table(model, path).mechanism, [[4]])
    write_csv(path, ["x0", "x1", "y0"], [[1, 2, 3]])
    with pytest.raises(DataError, match=r"'P0_y0' must be in d\.csv; did you mean 'y0'"):
        read_table(model, path)


@pytest.mark.parametrize("header", [["x0", "kind", "x1"], ["x0", "class", "x1", "other"]])
def test_the_class_column_is_class_or_the_only_one_left(
    tmp_path: Path, classifier: Model, header: list[str]
) -> None:
    rows = [[1, "class 2", 3, 4], [1, "class 0", 3, 4]]
    path = write_csv(tmp_path / "d.csv", header, [row[: len(header)] for row in rows])
    np.testing.assert_array_equal(read_table(classifier, path).targets, [2, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x0,x1\n1,2\n", "column 'y0' must be in d.csv; did you mean 'x0'?"),
        ("x0,x1,y0\n", "rows of d.csv must be at least one, not none; check the file"),
        ("", "must have a header and rows, not be empty"),
        ("x0,x1,y0\n1,2,3\n1,two,3\n1,4,3\n", "'x1' must be finite numbers, not 'two' in line 3"),
        ("x0,x1,y0\n1,inf,3\n", "column 'x1' must be finite numbers, not 'inf' in line 2"),
        ("x0,x1,y0\n1,,3\n", "'x1' must be a number in every row, not missing as in row 1"),
        ("x0,x1,y0\n1,2,\n", "'y0' must be a finite number in every row, not missing as in row 1"),
        ("x0,x1,y0\n1,2,a\n", "'y0' must be a finite number in every row, not 'a' as in row 1"),
        ("x0,x1,y0\n1,2,3\n1,2\n", "line 3 of d.csv must have 3 fields as the header has, not 2"),
    ],
)
def test_a_bad_table_says_where(tmp_path: Path, regression: Model, text: str, message: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        read_table(regression, tmp_path / "d.csv")


def test_an_unknown_class_says_where(tmp_path: Path, classifier: Model) -> None:
    path = write_csv(tmp_path / "d.csv", ["x0", "x1", "class"], [[1, 2, "class 1"], [1, 2, "cat"]])
    with pytest.raises(DataError, match=r"'class' must be one of the model's .* row 2 of d.csv"):
        read_table(classifier, path)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, regression: Model) -> None:
    with pytest.raises(DataError, match="there is no such file; check the name"):
        read_table(regression, tmp_path / "d.csv")


NAMES, VALUES = ["tempé", "x1", "note", "y0"], [[0.25, 2, "a", 3.5], [-1.5, 4, "b", 0.125]]
ROWS = [",".join(map(str, row)) for row in (NAMES, *VALUES)]
GERMAN = [line.replace(",", ";").replace(".", ",") for line in ROWS]
UNITS = [ROWS[0], "°C,bar,,N", *ROWS[1:], *ROWS[1:]]
DIALECTS = {
    "plain.csv": "\n".join(ROWS).encode(),
    "mark.csv": b"\xef\xbb\xbf" + "\r\n".join(ROWS).encode(),
    "german.csv": "\n".join(GERMAN).encode("latin-1"),
    "tabs.txt": "\n".join(ROWS).replace(",", "\t").encode("utf-16"),
    "comments.csv": "\n".join(["# from the plant", *ROWS]).encode(),
    "quoted.csv": "\n".join(ROWS).replace("a", '"a, and b"').encode(),
    "packed.csv.gz": gzip.compress("\n".join(ROWS).encode()),
    "units.csv": "\n".join(UNITS).encode(),
}


@pytest.mark.filterwarnings("ignore::scm_hw.errors.RangeWarning")
@pytest.mark.filterwarnings("ignore::scm_hw.errors.TableWarning")
@pytest.mark.parametrize("name", [*DIALECTS, "sheet.xlsx"])
def test_tables_are_read_as_they_are(tmp_path: Path, regression: Model, name: str) -> None:
    model = replace(regression, features=("tempé", "x1"))
    path = tmp_path / name
    if name == "sheet.xlsx":
        book = openpyxl.Workbook()
        for row in (NAMES, *VALUES):
            book.active.append(row)
        book.save(path)
    else:
        path.write_bytes(DIALECTS[name])
    found = read_table(model, path)
    np.testing.assert_array_equal(found.inputs[:2], [[0.25, 2], [-1.5, 4]])
    np.testing.assert_array_equal(found.targets[:2], [[3.5], [0.125]])


def test_what_is_guessed_is_told_and_what_is_given_is_used(
    tmp_path: Path, regression: Model
) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x0|x1|y0\n1,5|2|3\n1|2|3\n")
    with pytest.warns(TableWarning, match="pipe between columns .--delimiter. and decimal comma"):
        read_table(regression, path)
    with pytest.raises(DataError, match=r"not '1,5' in line 2 of d\.csv; .* or give --decimal ,"):
        read_table(regression, path, TableOptions(decimal="."))


def test_labels_are_found_as_they_are_written_elsewhere(tmp_path: Path, classifier: Model) -> None:
    model = replace(classifier, classes=(0, 1, 2))
    path = write_csv(tmp_path / "d.csv", ["x0", "x1", "kind"], [[1, 2, "2.0"], [1, 2, "0"]])
    np.testing.assert_array_equal(read_table(model, path).targets, [2, 0])


def test_half_of_a_classifiers_random_rows_are_close_calls() -> None:
    model = random_model(3, task="classification", outputs=3, features=2)
    design = compile_model(model, boards.get("arty-a7"))
    rows = check_rows(design, None)
    margins = _margins(design.meaning, rows.inputs[-200:])
    assert np.median(margins[:100]) * 4 < np.median(margins[100:])


def test_close_calls_are_not_the_same_row_again() -> None:
    model = random_model(3, task="classification", outputs=3, features=2, input_bits=4, bits=3)
    rows = check_rows(compile_model(model, boards.get("arty-a7")), None)
    assert len(np.unique(rows.inputs[-200:-100], axis=0)) == 100
