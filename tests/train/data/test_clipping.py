"""Values outside of the training range are told of: which columns, how many rows, which range."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from scm_train import ClippedWarning, SCMRegressor
from scm_train.__main__ import main
from scm_train.data.clipping import Clipped, clipped_columns, clipping_lines
from tests.train.commands import fitted
from tests.train.machines import inputs, machine

pytestmark = pytest.mark.usefixtures("folder")


def test_shares_and_ranges_are_those_of_the_rows():
    trained = machine(input_bits=8)
    X = np.tile((trained.input_min + trained.input_max) / 2, (10, 1))
    assert clipped_columns(trained, X) == []
    X[:4, 1] = trained.input_max[1] + 1e-9
    X[:1, 2] = trained.input_min[2] - 5
    low, high = trained.input_min, trained.input_max
    assert clipped_columns(trained, X) == [
        Clipped("speed", 0.4, low[1], high[1]),
        Clipped("heat", 0.1, low[2], high[2]),
    ]
    edges = np.stack([low, high])
    assert clipped_columns(trained, edges) == []
    assert clipped_columns(trained, X[:0]) == []


@pytest.mark.parametrize(
    ("mechanism", "names"), [("none", set()), ("table", {"pressure", "speed"})]
)
def test_without_codes_only_a_table_clips(mechanism, names):
    trained = machine("none", None, activation="sigmoid", weights="real", mechanism=mechanism)
    X = np.tile(trained.input_max + 1, (3, 1))
    assert {column.name for column in clipped_columns(trained, X)} == names


def test_no_more_than_a_handful_of_lines():
    columns = [Clipped(f"c{i}", 0.5, 0.0, 1.0) for i in range(7)]
    *lines, last = clipping_lines(columns)
    assert len(lines) == 5
    assert lines[0] == (
        "column 'c0': 50 % of the rows are outside of the training range 0 to 1 and are clipped "
        "to it"
    )
    assert last == "2 more columns likewise"
    assert clipping_lines(columns[:6])[-1] == "1 more column likewise"
    assert len(clipping_lines(columns[:5])) == 5


def test_evaluate_and_predict_say_so(capsys):
    fitted("-q")
    data = np.loadtxt("plant.csv", delimiter=",", skiprows=1)
    data[:40, 1] = 99
    np.savetxt("far.csv", data, delimiter=",", header="speed,load,heat,force", comments="")
    for command in ("evaluate", "predict"):
        capsys.readouterr()
        assert main([command, "m.npz", "far.csv"]) == 0
        told = [line for line in capsys.readouterr().err.splitlines() if "'load'" in line]
        assert len(told) == 1
        assert told[0].startswith("warning: column 'load': 2")
        assert "outside of the training range" in told[0]
    rows = data[60:70]
    rows[:, :3] = 1.0
    np.savetxt("near.csv", rows, delimiter=",", header="speed,load,heat,force", comments="")
    assert main(["predict", "m.npz", "near.csv", "--out", "p.csv"]) == 0
    assert capsys.readouterr().err == ""


def test_estimators_warn_once_per_call():
    X = inputs(80)
    model = SCMRegressor(max_nodes=3, candidates=10, random_state=0).fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    with pytest.warns(ClippedWarning, match=r"column 'x0': 100 % .*; column 'x1': ") as caught:
        model.predict(X + 100)
    assert len(caught) == 1
    assert caught[0].filename == __file__
