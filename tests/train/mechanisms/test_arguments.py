"""Mechanisms that name features as their arguments."""

from __future__ import annotations

import functools
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_model.arguments import ByName, by_name
from scm_train import model_file
from scm_train.__main__ import main
from scm_train.errors import DataError, ParameterError
from scm_train.mechanisms import External
from tests.train.commands import FAST, fitted, plant_csv
from tests.train.test_columns import partial_force

FEATURES = ("speed", "load", "heat")
ROWS = np.arange(12.0).reshape(4, 3)


def positional(load, speed, /):
    return load - 2 * speed


def keyword(*, heat, gain=2.0):
    return gain * heat


def optional(heat, load=0.0, offset=1.0):
    return heat + load + offset


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (positional, ROWS[:, 1] - 2 * ROWS[:, 0]),
        (keyword, 2 * ROWS[:, 2]),
        (optional, ROWS[:, 2] + ROWS[:, 1] + 1),
        (functools.partial(positional), ROWS[:, 1] - 2 * ROWS[:, 0]),
        (lambda heat: heat, ROWS[:, 2]),
        (lambda rows: rows[:, 1], ROWS[:, 1]),
        (lambda X: X[:, 1], ROWS[:, 1]),
        (lambda *columns: columns[0][:, 0], ROWS[:, 0]),
    ],
)
def test_arguments_get_their_columns(function, expected):
    bound = by_name(function, FEATURES)
    assert_array_equal(bound(ROWS), expected)
    assert by_name(bound, ("other", "names")) is bound


def test_a_matrix_of_that_name_stays_a_matrix():
    def of_all(X):
        return X[:, 1]

    assert by_name(of_all, ("X", "y")) is of_all


def test_an_argument_that_is_no_feature():
    def wrong(speed, lode):
        return speed

    with pytest.raises(ParameterError, match=r"must be features, not 'lode'; did you mean 'load'"):
        by_name(wrong, FEATURES)


def test_it_travels_to_workers():
    bound = pickle.loads(pickle.dumps(by_name(partial_force, FEATURES)))
    assert isinstance(bound, ByName) and bound.columns == (1, 0)


MODULE = """
def pull(load, speed):
    return speed ** 2 + load

def broken(load, speed):
    raise KeyError("no\\nsuch\\x1bthing")

def misspelt(load, spead):
    return load
"""


@pytest.fixture
def named(folder, monkeypatch):
    (folder / "named.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "named", raising=False)
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("kind", ["external", "table", "polynomial"])
def test_on_the_command_line(kind, capsys):
    machine = fitted("--mechanism=named:pull", f"--mechanism-kind={kind}", "-q")
    assert machine.mechanism.kind == kind
    assert machine.info["scores"]["test_rmse"] < 0.01
    if kind == "table":
        assert machine.mechanism.inputs.tolist() == [1, 0]
    if kind == "external":
        argv = ["evaluate", "m.npz", "plant.csv", "--mechanism", "named:pull"]
        assert main(argv) == 0
        import named

        loaded = model_file.load("m.npz", mechanism=named.pull)
        X = np.loadtxt("plant.csv", delimiter=",", skiprows=1)[:, :3]
        assert np.isfinite(loaded.predict(X)).all()


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "can't compute the mechanism broken: KeyError"),
        (
            "misspelt",
            "arguments of a mechanism must be features, not 'spead'; did you mean 'speed'",
        ),
    ],
)
def test_a_mechanism_that_fails_is_one_line(name, message, capsys):
    argv = ["fit", plant_csv(), "--target", "force", *FAST, "--out", "m.npz"]
    assert main([*argv, "--mechanism", f"named:{name}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and "\x1b" not in line


def test_a_module_that_can_not_be_imported_is_one_line(named, folder, capsys):
    (folder / "spoiled.py").write_text("def f(:\n")
    argv = ["fit", plant_csv(), "--target", "force", "--mechanism", "spoiled:f", "--out", "m.npz"]
    assert main(argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "can't import the module 'spoiled' of --mechanism: invalid syntax" in line


def test_the_cause_is_kept_for_python():
    from scm_train import SCMRegressor

    def broken(rows):
        raise ZeroDivisionError("here")

    model = SCMRegressor(mechanism=External(broken))
    with pytest.raises(DataError, match="ZeroDivisionError: here") as caught:
        model.fit(np.random.default_rng(0).random((30, 2)), np.arange(30.0))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
