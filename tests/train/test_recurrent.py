"""Recurrent nodes: what they remember, and that the machine is what was grown."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from scm_model import Memory, Tap, read_model
from scm_train import ParameterError, SCMRegressor, SequenceRegressor
from scm_train.__main__ import main as scm_train
from scm_train.sequences.records import Records
from scm_train.sequences.recurrent import RecurrentSettings, _Drawn, _Growth, _Rows


def relay(records: int = 6, rows: int = 200, seed: int = 0) -> tuple[np.ndarray, ...]:
    """A relay with hysteresis: it stays as it is between its two thresholds, for ever so long."""
    rng = np.random.default_rng(seed)
    u = np.clip(rng.normal(0, 0.45, records * rows), -1, 1)
    groups = np.repeat(np.arange(records), rows)
    on = np.zeros(len(u))
    for k in range(len(u)):
        before = on[k - 1] if k % rows else 0.0
        on[k] = 1.0 if u[k] > 0.6 else 0.0 if u[k] < -0.6 else before
    return u[:, None], on + 0.2 * u, groups


def learned(**how: object) -> SequenceRegressor:
    X, y, groups = relay()
    learner = SCMRegressor(max_nodes=24, random_state=0)
    return SequenceRegressor(learner, recurrent=True, **how).fit(X, y, groups)


def test_nodes_remember_what_no_lag_reaches() -> None:
    model = learned()
    X, y, groups = relay(seed=1)
    assert model.score(X, y, groups) > 0.8
    assert model.machine_.memory.recurrent
    # Without bits among their inputs nodes see the row alone.
    assert learned(recurrent_share=0.0).score(X, y, groups) < 0.5
    lags = SequenceRegressor(SCMRegressor(luts=400, random_state=0), lags="x0:0..3")
    assert lags.fit(*relay()).score(X, y, groups) < 0.6


def test_the_machine_gives_what_was_grown() -> None:
    X, y, groups = relay(3, 100)
    first = np.r_[True, groups[1:] != groups[:-1]]
    records = Records.ahead(X, y[:, None], first, 0)
    model = SequenceRegressor(lags="x0:0..1")
    memory = model._fit_records(model._records(X, y, groups), None, 0)
    growth = _Growth(memory, (records, records), ("y",), RecurrentSettings(20, 0.7, 3, 1))
    found = growth.run()
    machine = found.machine
    nodes = machine.nodes[0]
    growth_bits = growth.rows[0].hidden[:, :nodes]
    with_rows = machine.with_evaluation(X, y[:, None], first=first)
    (hidden,) = machine.static.hidden_layers(with_rows.static.evaluation.inputs)
    full = machine.memory.complete(first)
    assert full.sum() == 300 - 3 * 3
    assert_array_equal(hidden > 0, growth_bits[full])
    assert any(one.own[0] for one in growth.chosen)
    assert any(one.bits.any() for one in growth.chosen)


@pytest.mark.parametrize("own", [-3, -1, 0, 5])
def test_a_node_that_sees_itself_is_run_as_row_by_row(own: int) -> None:
    X, y, groups = relay(3, 60)
    first = np.r_[True, groups[1:] != groups[:-1]]
    records = Records.ahead(X, y[:, None], first, 0)
    rows = _Rows(records, Memory(("u",), (Tap(0, 0),), np.zeros(2)), np.r_[-1.0], np.r_[1.0])
    sums = np.random.default_rng(0).integers(-8, 9, (180, 1)).astype(float)
    drawn = _Drawn(None, None, np.array([own], np.int8), np.array([0.5]), None)
    wanted, before = [], 0
    for begins, total in zip(first, sums[:, 0], strict=True):
        before = 0 if begins else before
        before = int(total + 0.5 + own * (2 * before - 1) > 0)
        wanted.append(before)
    assert_array_equal(rows.nodes(drawn, sums)[:, 0], wanted)


def test_a_file_from_the_command_line(tmp_path, capsys) -> None:
    X, y, groups = relay(8, 100)
    pd.DataFrame({"u": X[:, 0], "y": y, "run": groups}).to_csv(tmp_path / "d.csv", index=False)
    words = ["fit", str(tmp_path / "d.csv"), "--target", "y", "--groups", "run", "--recurrent"]
    words += ["--max-nodes", "16", "--washout", "5", "--out", str(tmp_path / "m.npz"), "--quiet"]
    assert scm_train(words) == 0
    machine = read_model(tmp_path / "m.npz")
    assert machine.memory.recurrent and machine.memory.washout == 5
    assert machine.info["scores"]["test_rmse"] < 0.25
    assert scm_train([*words, "--feedback", "y:1"]) == 2
    assert "feedback must be None with recurrent, not 'y:1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"recurrent_share": 1.5}, "recurrent_share must be from 0 to 1, not 1.5"),
        ({"washout": -1}, "washout must be a whole number of rows up to 1024, not -1"),
        ({"washout": 400}, "records must be longer than the washout of 400 rows"),
        ({"estimator": SCMRegressor(max_nodes=(2, 3))}, "max_nodes must be one positive whole"),
    ],
)
def test_what_is_refused(told: dict, message: str) -> None:
    X, y, groups = relay()
    with pytest.raises(ValueError, match=message):
        SequenceRegressor(**({"recurrent": True} | told)).fit(X, y, groups)
    assert issubclass(ParameterError, ValueError)
