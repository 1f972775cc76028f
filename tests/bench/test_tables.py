"""Tables of the front: rows split once, in one piece where time matters, and words as 0 and 1."""

import gzip

import numpy as np
import pytest

from bench import tables
from bench.tables import SPLITS, Table, split, validations


def numbers(rows=100, **options):
    return Table(
        "t", np.arange(rows)[:, None] * 1.0, np.arange(rows) * 1.0, "regression", **options
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"train_rows": 70},
        {"train_rows": 70, "ordered": True},
        {"train_rows": 70, "ordered": True, "runs": np.repeat([0, 1, 2], [30, 40, 30])},
    ],
)
def test_each_row_is_in_one_part(options):
    for number in range(SPLITS):
        rows = split(numbers(**options), number)
        parts = [rows.train, rows.validation, rows.test]
        assert sorted(np.concatenate(parts)) == list(range(100))
        assert set(rows.known) == set(rows.train) | set(rows.validation)
        assert len(rows.validation) == pytest.approx(0.2 * len(rows.known), abs=1)


def test_random_splits_are_seeded_and_differ():
    one, same, other = (split(numbers(), number) for number in (0, 0, 1))
    np.testing.assert_array_equal(one.test, same.test)
    assert set(one.test) != set(other.test)


def test_a_sources_own_test_rows_are_those_of_all_splits():
    for number in range(SPLITS):
        np.testing.assert_array_equal(
            split(numbers(train_rows=70), number).test, np.arange(70, 100)
        )


def test_rows_in_time_order_are_validated_in_pieces_each_once():
    pieces = [
        split(numbers(train_rows=75, ordered=True), number).validation for number in range(SPLITS)
    ]
    np.testing.assert_array_equal(
        pieces[1], [*range(3, 6), *range(18, 21), *range(33, 36), *range(48, 51), *range(63, 66)]
    )
    assert sorted(np.concatenate(pieces)) == list(range(75))


def test_every_run_has_pieces_of_its_own():
    runs = np.repeat([0, 1, 2], [25, 50, 25])
    rows = split(numbers(train_rows=75, ordered=True, runs=runs), 2)
    assert [*rows.validation[:5]] == [2, 7, 12, 17, 22]
    assert [*rows.validation[5:]] == [29, 30, 39, 40, 49, 50, 59, 60, 69, 70]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SCM_DATA", str(tmp_path))
    tables.load.cache_clear()
    yield tmp_path
    tables.load.cache_clear()


def test_words_become_columns_and_labels_stay(folder):
    (folder / "steel_plates_faults.csv").write_text(
        "a,shape,flag,Fault\n1,M,True,Bumps\n2,F,False,Other_Faults\n3,I,True,Bumps\n"
    )
    table = tables.load("steel_plates")
    np.testing.assert_array_equal(table.X, [[1, 0, 0, 1, 1], [2, 1, 0, 0, 0], [3, 0, 1, 0, 1]])
    assert table.task == "classification"
    two = tables.load("steel_plates_known")
    assert list(two.y) == ["not Other_Faults", "Other_Faults", "not Other_Faults"]


def test_past_values_belong_to_their_row():
    u = np.arange(10.0)
    np.testing.assert_array_equal(tables._past([u], (0, 3)), np.column_stack([u[3:], u[:-3]]))


def test_years_decide_the_test_rows_of_the_gas_turbine(folder):
    with gzip.open(folder / "gas_turbine.csv.gz", "wt") as file:
        file.write("year,AT,CO,NOX\n2011,1,2,3\n2013,4,5,6\n2014,7,8,9\n")
    table = tables.load("gas_turbine_nox")
    np.testing.assert_array_equal(table.X, [[1], [4], [7]])
    np.testing.assert_array_equal(table.y, [3, 6, 9])
    assert table.train_rows == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("iris", "^table must be one of boston, .*, not 'iris'$"),
        ("boston", r"^can't read boston_housing.csv: not found in SCM_DATA \(.*\)$"),
    ],
)
def test_what_is_not_there_gets_one_line(name, message, folder):
    with pytest.raises(tables.TableError, match=message):
        tables.load(name)


def test_few_exchangeable_rows_are_validated_three_ways():
    rows = split(numbers(), 0)
    pairs = validations(numbers(), rows)
    assert len(pairs) == 3
    for train, validation in pairs:
        assert sorted([*train, *validation]) == sorted(rows.known)
    assert len(set(np.concatenate([validation for _, validation in pairs]))) == 48
    ordered = numbers(train_rows=70, ordered=True)
    assert len(validations(ordered, split(ordered, 0))) == 1
