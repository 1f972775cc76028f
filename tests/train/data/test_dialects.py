"""Tables as they are: whatever their encoding, delimiter, decimal point, comments and units."""

from __future__ import annotations

import csv
import gzip
import io
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from scm_model.tables import text_source
from scm_model.tables.dialect import TableOptions
from scm_model.tables.scan import scan_rows
from scm_train.data.files import read_features, read_rows
from scm_train.errors import DataError, ParameterError

ROWS = [[1.5, 2.0, 10.0], [-3.0, 0.25, 20.0], [5.0, 6.0, 30.0]]


def table(delimiter=",", decimal=".", names="speed,load,force"):
    lines = [[repr(value).replace(".", decimal) for value in row] for row in ROWS]
    return "\n".join(delimiter.join(line) for line in [names.split(","), *lines]) + "\n"


def read(tmp_path, content, name="d.csv", **options):
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(data)
    return read_rows(tmp_path / name, ["force"], options=TableOptions(**options))


SHAPES = {
    "semicolons": (table(";"), "d.csv"),
    "decimal comma": (table(";", ","), "d.csv"),
    "tabs in a .csv": (table("\t"), "d.csv"),
    "tabs and decimal comma": (table("\t", ","), "d.dat"),
    "commas in a .txt": (table(), "d.txt"),
    "pipes": (table("|"), "d.csv"),
    "spaces": (table("   ").replace("\n", "  \n  "), "d.txt"),
    "UTF-16": (table().encode("utf-16"), "d.csv"),
    "UTF-16 without mark": (table().encode("utf-16-le"), "d.csv"),
    "UTF-8 with mark": (table().encode("utf-8-sig"), "d.csv"),
    "carriage returns": (table().replace("\n", "\r"), "d.csv"),
    "both line ends": (table().replace("\n", "\r\n"), "d.csv"),
    "comments": ("# made by a\n# logger\n" + table().replace("\n", "\n# shift\n"), "d.csv"),
    "percent": ("% Matlab\n" + table().replace("\n", "\n\n% more\n"), "d.csv"),
    "commented names": ("# speed;load;force\n" + table(";").split("\n", 1)[1], "d.csv"),
    "units": (table().replace("force\n", "force\n°C,m/s,-\n"), "d.csv"),
    "quoted": (table().replace("speed", '"speed"').replace("0.25", '"0.25"'), "d.csv"),
    "gzip": (gzip.compress(table(";", ",").encode()), "d.csv.gz"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_is_read_whatever_its_shape(shape, tmp_path):
    content, name = SHAPES[shape]
    rows = read(tmp_path, content, name)
    assert rows.feature_names == ("speed", "load")
    assert_array_equal(np.column_stack([rows.X, rows.y]), ROWS)


@pytest.mark.parametrize(
    ("content", "options", "note"),
    [
        (table("\t"), {}, "d.csv: read with tab between columns (--delimiter)"),
        (table(";", ","), {}, "d.csv: read with decimal comma (--decimal)"),
        (table().encode("utf-16"), {}, "d.csv: read with encoding utf-16 (--encoding)"),
        (
            table().replace("force\n", "force\nbar,m,s\n"),
            {},
            (
                "d.csv: the second line is taken as units and passed over: 'bar,m,s' "
                "(--no-units-row takes it as data)"
            ),
        ),
        (table(), {}, None),
        (table("\t"), {"delimiter": "tab"}, None),
        (table(";", ","), {"decimal": ","}, None),
    ],
)
def test_what_is_guessed_is_told(content, options, note, tmp_path):
    rows = read(tmp_path, content, **options)
    assert rows.notes == (() if note is None else (note,))


def test_tables_without_names(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(table().split("\n", 1)[1])
    rows = read_rows(path, ["x3"])
    assert rows.feature_names == ("x1", "x2")
    assert_array_equal(np.column_stack([rows.X, rows.y]), ROWS)
    assert rows.notes == (
        (
            "d.csv: the first line is taken as data, and columns are called x1, x2, ... "
            "(--header takes it as names)"
        ),
    )
    path.write_text("M,1,2\nF,3,4\nM,5,7\n")
    assert len(read_rows(path, ["x3"]).X) == 3
    path.write_text("a,b,c\nd,e,f\ng,h,i\nd,h,f\n")
    assert len(read_rows(path, ["x1"], options=TableOptions(header=False)).y) == 4
    path.write_text("2019,2020\n1,2\n3,4\n")
    assert read_rows(path, ["2020"], options=TableOptions(header=True)).y.tolist() == [2, 4]


@pytest.mark.parametrize(
    "text", ["größe;ort;force\n1;Köln;1\n2;Bräu;3\n", "a;ort;force\n1;Köln;1\n2;Bräu;3\n"]
)
def test_latin_1_is_told_from_utf_8(text, tmp_path):
    for encoding in ("latin-1", "utf-8", "utf-16"):
        rows = read(tmp_path, text.encode(encoding))
        assert rows.X["ort"].tolist() == ["Köln", "Bräu"]
    # Of a long file the first bytes may all be ASCII.
    long = text.replace("1;Köln;1\n", "1;Ulm;1\n" * 30_000)
    assert read(tmp_path, long.encode("latin-1")).X["ort"].tolist()[-1] == "Bräu"


def test_a_wrong_encoding_is_one_line(tmp_path):
    data = "größe;force\n1;1\n2;3\n".encode("latin-1")
    with pytest.raises(DataError, match=r"can't read .*; give another --encoding"):
        read(tmp_path, data, encoding="utf-8")
    with pytest.raises(DataError, match=r"can't read .*: it is no text; .* or give its --encoding"):
        read(tmp_path, table().encode("utf-32"))
    assert len(read(tmp_path, table().encode("utf-32"), encoding="utf-32").y) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "--delimiter must be one character or comma, semicolon"),
        ({"decimal": "x"}, "--decimal must be . or ,, not 'x'"),
        ({"delimiter": ",", "decimal": ","}, "--decimal must be another character"),
        ({"encoding": "latin-one"}, "--encoding must be an encoding that Python knows"),
        ({"encoding": "rot13"}, "--encoding must be an encoding that Python knows"),
    ],
)
def test_options_that_mean_nothing(options, message):
    with pytest.raises(ParameterError, match=message):
        TableOptions(**options)


def test_a_wrong_guess_names_the_flag_that_mends_it(tmp_path):
    with pytest.raises(DataError, match=r"not '2,5' in line 3 .* or give --decimal ,"):
        read(tmp_path, "a;force\n1.5;2\n2,5;3\n")
    with pytest.raises(DataError, match=r"or give --missing-values '-\?-' where it means none"):
        read(tmp_path, "a,force\n1.5,2\n1,2\n-?-,3\n")
    with pytest.raises(DataError, match=r"line 3 .* must have 2 fields .* or give the --delimiter"):
        read(tmp_path, "a,force\n1.5,2\n2,5,3\n")


def test_missing_values_of_all_kinds(tmp_path):
    text = "a,b,force\n" + "".join(
        f"{value},x,{i}\n" for i, value in enumerate(["", "NA", "?", "null", "NaN", " ", "-999", 7])
    )
    rows = read(tmp_path, text, missing_values=("-999",))
    assert_array_equal(rows.X["a"], [nan] * 7 + [7])
    quoted = text.replace("x", '"x"')
    assert_array_equal(read(tmp_path, quoted, missing_values=("-999",)).X["a"], [nan] * 7 + [7])
    with pytest.raises(DataError, match="column 'a' must be a number in every row, not missing as"):
        read_features(tmp_path / "d.csv", ["a"])


def test_quoted_fields_hold_delimiters_and_line_ends(tmp_path):
    text = 'a,b,force\n1,"x, y",2\n2,"x\ny",3\n3,"say ""x""",4\n4,plain,5\n'
    rows = read(tmp_path, text)
    assert rows.X["b"].tolist() == ["x, y", "x\ny", 'say "x"', "plain"]
    with pytest.raises(DataError, match="not 'z' in line 7"):
        read(tmp_path, text + "z,q,1\n")


def test_long_lines_and_wide_tables(tmp_path):
    names = [f"column_with_a_long_name_{i}" for i in range(4000)]
    text = ",".join([*names, "force"]) + "\n" + (",".join(["1.25"] * 4000) + ",3\n") * 2
    rows = read_rows_of(tmp_path, text)
    assert rows.X.shape == (2, 4000)


def read_rows_of(tmp_path, text):
    (tmp_path / "d.csv").write_text(text)
    return read_rows(tmp_path / "d.csv", ["force"], varying=False)


def test_unnamed_columns_have_their_number(tmp_path):
    text = ",a,force,\n" + "".join(f"{i},{i * i},{i % 7},\n" for i in range(30))
    rows = read(tmp_path, text)
    assert rows.feature_names == ("a",)
    assert rows.notes == (
        "column 'column 1' is a running number and is left out (--features takes it)",
        "column 'column 4' has no values and is left out (--features takes it)",
    )


# ------------------------------------------------------------------------------------- numbers


def scanned(texts):
    """What the compiled loops say of fields, one per line; None of those that they leave."""
    data = np.frombuffer("\n".join(texts).encode(), np.uint8)
    rows = len(texts)
    values, odd = np.empty((rows, 1)), np.empty((rows + 1, 4), np.int64)
    spans, lines = np.empty((rows, 0, 2), np.int64), np.empty(rows, np.int64)
    found, strange, *_ = scan_rows(
        data, 0, (44, 46, 0), np.zeros(1, np.int64), values, spans, odd, np.ones(1, bool), lines
    )
    assert found == rows
    left = set(odd[:strange, 0].tolist())
    return [None if i in left else value for i, value in enumerate(values[:, 0].tolist())]


def agrees(texts):
    for text, value in zip(texts, scanned(texts), strict=True):
        if value is not None:
            assert np.float64(value).tobytes() == np.float64(float(text)).tobytes(), text


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_are_those_of_python(values):
    texts = [repr(value) for value in values]
    agrees(texts + [text.upper() for text in texts] + [f"{value:.6e}" for value in values])


@given(
    st.lists(
        st.builds(
            "{}{}.{}e{}".format,
            st.sampled_from(["", "-", "+"]),
            st.integers(0, 10**12),
            st.integers(0, 10**6),
            st.integers(-70, 70),
        ),
        min_size=1,
    )
)
def test_decimals_are_those_of_python(texts):
    agrees(texts)


@given(st.integers(2**52, 2**53 - 1), st.integers(-1, 1), st.integers(0, 10))
def test_halfway_between_two_numbers(mantissa, beside, shift):
    """The numbers that are hardest to round, and their neighbours."""
    agrees([str(((2 * mantissa + 1) << shift) * 5 + beside), str(2 * mantissa + 1 + beside)])


def test_most_numbers_are_read_in_the_loops():
    random = np.random.default_rng(0)
    texts = [repr(value) for value in random.normal(size=1000).tolist()]
    assert None not in scanned(texts)
    assert (
        scanned(["1_0", "x", "1e", "1e999", "inf", "0x1", "1.2.3", "12345678901234567890"])
        == [None] * 8
    )


# ---------------------------------------------------------------------------------- round trips

CELLS = st.one_of(
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
LABELS = st.one_of(st.none(), st.text("abcÄß ;,\"'\n\t|#.", min_size=1, max_size=4))


@settings(deadline=None)
@given(
    st.lists(st.tuples(CELLS, LABELS, st.integers(-9, 9)), min_size=1, max_size=12),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.integers(16, 200),
)
def test_what_is_written_is_read(rows, delimiter, encoding, quoting, block):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(["number", "label", "force"])
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    options = TableOptions(delimiter, ".", encoding, header=True, units_row=False)
    saved = text_source._BLOCK, text_source._HEAD
    text_source._BLOCK = text_source._HEAD = block
    try:
        found = _source(text.getvalue().encode(encoding), options).read(
            ["number", "label"], ["force"], ["label"]
        )
    finally:
        text_source._BLOCK, text_source._HEAD = saved
    assert_array_equal(found["number"], [nan if row[0] is None else row[0] for row in rows])
    expected = [None if row[1] is None else row[1].strip() or None for row in rows]
    assert found["label"].tolist() == expected
    assert found["force"].tolist() == [row[2] for row in rows]


def _source(data, options):
    return text_source.TextSource(Path("d.csv"), io.BytesIO(data), options, ".csv", lambda: None)


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200), st.sampled_from([".csv", ".tsv"]))
def test_no_bytes_end_in_anything_but_a_line(data, ending):
    options = TableOptions()
    try:
        source = text_source.TextSource(
            Path("d" + ending), io.BytesIO(data), options, ending, lambda: None
        )
        found = source.read(source.names[:-1], source.names[-1:])
    except (DataError, UnicodeError, csv.Error) as error:
        assert "\n" not in str(error)
    else:
        assert all(inf not in values.tolist() for values in found.values())
