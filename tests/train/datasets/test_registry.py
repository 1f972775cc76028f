"""The registry of data sets, what is generated, and the real files where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets

from scm_train import datasets
from scm_train.datasets.generated import rastrigin, tyukin
from scm_train.errors import DataError, ParameterError

REPOSITORY = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("SCM_DATA") or REPOSITORY.parent / "shared" / "data")

LISTED = {summary.name: summary for summary in datasets.describe()}
QUICK = ("tyukin", "rastrigin", "rolling_thickness_sim", "servo_sim", "rolling_force_sim")

PUBLISHED = {
    # name: (a file of it, rows, inputs, training rows, sum of the targets)
    "abalone": ("abalone.csv", 4177, 8, None, 41493.0),
    "concrete": ("concrete.csv", 1030, 8, None, 36892.371),
    "ccpp": ("ccpp.csv", 9568, 4, None, 4347364.4),
    "boston": ("boston_housing.csv", 506, 13, None, 11401.6),
    "mnist": ("mnist/t10k-images-idx3-ubyte.gz", 70_000, 784, 60_000, 311_670.0),
    "fashion_mnist": ("fashion_mnist/train-images-idx3-ubyte.gz", 60_000, 784, None, 270_000.0),
    "emps_servo": ("emps_servo.csv.gz", 24_838, 7, None, None),
    "rolling_force": ("rolling_force.csv", 20_557, 10, None, None),
}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache and no network."""

    def unreachable(**_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_every_name_is_described() -> None:
    assert datasets.names() == tuple(LISTED)
    assert len(LISTED) == 16
    for summary in LISTED.values():
        assert ("simula" in summary.description) == (summary.origin == "simulation")
        assert ("sim" in summary.name.split("_")) == (summary.origin == "simulation")


@pytest.mark.parametrize("name", QUICK)
def test_listing_is_what_loads(name: str) -> None:
    loaded, listed = datasets.load(name), LISTED[name]
    assert loaded.name == name
    assert loaded.X.shape == (listed.rows, listed.inputs)
    assert loaded.task == listed.task
    assert loaded.simulated == (listed.origin == "simulation")
    assert loaded.X.dtype == loaded.y.dtype == np.float64
    assert np.isfinite(loaded.X).all() and np.isfinite(loaded.y).all()
    assert (np.ptp(loaded.X, axis=0) > 0).all()


@pytest.mark.parametrize("name", QUICK)
def test_seed_decides_all_of_it(name: str) -> None:
    first, again, other = (datasets.load(name, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("name", ["rastrigin", "servo_sim"])
def test_float32(name: str) -> None:
    single, double = datasets.load(name, dtype=np.float32), datasets.load(name)
    assert single.X.dtype == single.y.dtype == np.float32
    np.testing.assert_allclose(single.X, double.X, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(single.y, double.y, rtol=1e-4, atol=1e-5)


def test_tyukin_is_the_papers_function() -> None:
    loaded = datasets.load("tyukin")
    assert loaded.X.shape == (1000, 1)
    assert 0 <= loaded.X.min() < 0.01 and 0.99 < loaded.X.max() <= 1
    np.testing.assert_array_equal(loaded.y, tyukin(loaded.X[:, 0]))
    peaks = np.array([0.4, 4 / 9, 0.25])
    tails = 0.2 * np.exp(-((10 * peaks - 4) ** 2))
    np.testing.assert_allclose(tyukin(peaks), [0.2, 0.5 + tails[1], 0.3 + tails[2]], atol=1e-6)


def test_rastrigin_is_the_papers_function() -> None:
    loaded = datasets.load("rastrigin")
    assert (loaded.X.shape, loaded.train_rows) == ((44_489, 2), 40_000)
    assert loaded.X.min() >= -5.12 and loaded.X.max() <= 5.12
    points = np.array([[0.0, 0.0], [1.0, 2.0], [0.5, 0.0]])
    np.testing.assert_allclose(rastrigin(points), [0.0, 5.0, 20.25], atol=1e-12)
    np.testing.assert_array_equal(loaded.y, rastrigin(loaded.X))


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.usefixtures("offline")
def test_published_file_or_a_clear_refusal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCM_DATA", str(DATA))
    file, rows, inputs, train_rows, total = PUBLISHED[name]
    if not (DATA / file).is_file():
        with pytest.raises(DataError, match=f"^can't find data set '{name}': there is no file "):
            datasets.load(name)
        return
    loaded = datasets.load(name)
    assert loaded.X.shape == (rows, inputs)
    assert loaded.train_rows == train_rows
    assert (loaded.simulated, loaded.mechanism) == (False, None)
    if total is not None:
        assert loaded.y.sum() == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("iris",), {}, "^data set must be one of abalone, .*, not 'iris'; for a file of your own"),
        (("tyukin",), {"seed": -1}, "^seed must be an integer of at least 0, not -1; try 0$"),
        (("tyukin",), {"dtype": np.int8}, "^dtype must be float32 or float64, not "),
        (("tyukin",), {"configurations": 3}, "^configurations must be left out for tyukin, not 3"),
        (("servo_sim",), {"configurations": 0}, "^configurations must be from 1 to 8407, not 0"),
        (("servo_sim",), {"configurations": 9000}, "^configurations must be from 1 to 8407, not "),
    ],
)
def test_refusals(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        datasets.load(*arguments, **options)
