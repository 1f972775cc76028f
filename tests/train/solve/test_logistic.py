"""Sparse log-odds of few bits, and the classifiers that have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from scm_hw.boards import get
from scm_hw.design import Options, compile_model
from scm_hw.ir.interp import interpret
from scm_hw.load import read_model
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows, hardware_inputs
from scm_train import SCMClassifier, SCMRegressor
from scm_train.errors import ParameterError
from scm_train.solve import logistic
from scm_train.solve.logistic import LogOdds, fit_log_odds

NODES = 30
SIGNS = np.full(NODES, -1.0)


def nodes_and_labels(classes: int, rows: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Signs, of which three for each class say something."""
    rng = np.random.default_rng(classes)
    h = rng.choice([-1.0, 1.0], (rows, NODES))
    scores = np.stack([h[:, 3 * k : 3 * k + 3].sum(axis=1) for k in range(classes)], axis=1)
    return h, (scores + rng.gumbel(0, 0.5, scores.shape)).argmax(axis=1)


def fitted(classes: int) -> tuple[LogOdds, np.ndarray, np.ndarray]:
    h, labels = nodes_and_labels(classes)
    found = fit_log_odds(h[:600], labels[:600], classes, (h[600:900], labels[600:900]), SIGNS)
    return found, h[900:], labels[900:]


def right(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(scores.argmax(axis=1) == labels))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_as_right_as_dense_log_odds_with_few_coefficients(classes: int) -> None:
    found, h, labels = fitted(classes)
    seen, known = nodes_and_labels(classes)
    dense = LogisticRegression(C=1.0).fit(seen[:600], known[:600])
    assert right(found.scores(h), labels) > dense.score(h, labels) - 0.05
    assert np.count_nonzero(found.readout) < 0.6 * NODES * (classes - 1)
    grid = 2.0**-found.fraction_bits
    np.testing.assert_array_equal(found.readout, np.rint(found.readout / grid) * grid)
    assert found.fraction_bits <= 4


def test_two_classes_have_one_score() -> None:
    found, _, _ = fitted(2)
    assert not found.readout[:, 0].any()
    assert found.intercept[0] == 0.0


def test_what_gates_add_up_is_what_was_fitted() -> None:
    """With 1 for a node that fires and 0 for one that does not, all are whole multiples."""
    found, _, _ = fitted(3)
    step = 2.0 ** (1 - found.fraction_bits)
    constants = (found.intercept + SIGNS @ found.readout) / step
    np.testing.assert_allclose(constants, np.rint(constants), atol=1e-9)


def test_the_path_ends_at_the_minimum() -> None:
    h, labels = nodes_and_labels(3)
    path = logistic._Path(h, labels, 3)
    assert not path.coefficients[:-1].any()
    penalty = 0.1 * path.greatest_penalty
    path.descend(penalty, 1000)
    slope, inside = path._gradient(), path.coefficients[:-1]
    kept = inside != 0
    np.testing.assert_allclose(slope[:-1][kept], -penalty * np.sign(inside[kept]), atol=1e-7)
    assert np.abs(slope[:-1][~kept]).max() <= penalty + 1e-7
    np.testing.assert_allclose(slope[-1], 0, atol=1e-7)


def test_without_unseen_rows_the_rows_choose() -> None:
    h, labels = nodes_and_labels(3)
    found = fit_log_odds(h, labels, 3, (np.empty((0, NODES)), np.empty(0, dtype=int)), SIGNS)
    assert right(found.scores(h), labels) > 0.8


def test_a_wrong_curvature_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: steps that follow the gradient up."""
    right_one = logistic._Path._gradient
    monkeypatch.setattr(logistic._Path, "_gradient", lambda self: -right_one(self))
    with pytest.raises(AssertionError):
        test_as_right_as_dense_log_odds_with_few_coefficients(3)


# In a machine

SETTINGS = {
    "max_nodes": (25, 20), "encoder": "none", "inputs_per_node": [(1, 2), (2, 3, 4)],
    "candidates": 30, "stop_step": 1000, "random_state": 0,
}  # fmt: skip


def task(classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.random((900, 4))
    y = np.digitize(np.sin(5 * x[:, 0]) + x[:, 1] * x[:, 2], np.linspace(0.1, 1.1, classes - 1))
    return x, y


@pytest.mark.parametrize("classes", [2, 4])
def test_a_sparse_classifier_is_exact_in_hardware_and_smaller(classes: int, tmp_path: Path) -> None:
    x, y = task(classes)
    luts = {}
    for readout in ("squares", "logistic"):
        model = SCMClassifier(readout=readout, **SETTINGS).fit(x[:600], y[:600])
        model.save(tmp_path / f"{readout}.npz")
        design = compile_model(
            read_model(tmp_path / f"{readout}.npz"),
            get("arty-a7"),
            Options(multipliers="lut", fold="none"),
        )
        luts[readout] = design.estimate.lut
        assert model.score(x[:600], y[:600]) > 0.85
    codes = hardware_inputs(design, x[:600])
    named = np.asarray(design.model.classes)[interpret(design.program, codes)[:, 0]]
    # The model's own coefficients are those of the gates.
    np.testing.assert_array_equal(named, model.predict(x[:600]))
    assert luts["logistic"] < 0.8 * luts["squares"]
    rows = check_rows(design, design.model.evaluation)
    simulate(design, rows, "icarus", tmp_path).check()
    folded = compile_model(
        read_model(tmp_path / "logistic.npz"), get("arty-a7"), Options(fold="2x2")
    )
    simulate(folded, check_rows(folded, folded.model.evaluation), "amaranth", tmp_path).check()


def test_probabilities_are_those_that_were_fitted() -> None:
    x, y = task(3)
    model = SCMClassifier(readout="logistic", **SETTINGS).fit(x, y)
    error = np.mean((model.predict_proba(x) - np.eye(3)[y]) ** 2)
    assert error**0.5 == pytest.approx(model.history_.train_rmse[-1], rel=1.0)
    scores = model.machine_.info["scores"]
    assert 0 < scores["train_rmse"] < 0.4
    assert 0 < scores["validation_rmse"] < 0.5
    assert not model.machine_.linear.any()


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        (SCMRegressor, {"readout": "logistic"}, "'squares' for targets, not 'logistic'"),
        (SCMClassifier, {"readout": "least"}, "'squares' or 'logistic', not 'least'"),
        (
            SCMClassifier,
            {"readout": "logistic", "mechanism": lambda x: x[:, 0]},
            "'squares' for a mechanism, not 'logistic'",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused(kind: type, settings: dict, told: str) -> None:
    x, y = task(3)
    with pytest.raises(ParameterError, match=f"^readout must be {told}$"):
        kind(**(SETTINGS | settings)).fit(x, y)
