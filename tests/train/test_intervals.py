"""Bounds as further outputs: their coverage, and every door that shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import Model
from scm_model.errors import DataError as ScmDataError
from scm_model.errors import ModelFileError
from scm_model.interval import covered, names_with_bounds, of_points
from scm_train import SCMClassifier, SCMRegressor, SequenceRegressor, model_file
from scm_train.__main__ import main
from scm_train.errors import DataError, ParameterError
from scm_train.evaluation.scores import score
from scm_train.training.intervals import _rank, _split

ROWS, LEVEL = 3000, 0.8
NODES = {"max_nodes": 25, "candidates": 20}
GROWTH = {
    "families": {"luts": 150},
    "sign": {**NODES, "growth": "nodes"},
    "step": {**NODES, "activation": "step"},
    "sigmoid": {**NODES, "activation": "sigmoid"},
    "tanh": {**NODES, "activation": "tanh"},
}


def rows(seed: int, count: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Two targets; the noise of the first grows with the second feature."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(count, 3))
    noise = random.normal(size=(count, 2)) * np.stack([0.05 + X[:, 1], np.full(count, 0.3)], 1)
    return X, np.stack([4 * X[:, 0] + noise[:, 0], X[:, 2] - X[:, 0] + noise[:, 1]], axis=1)


@pytest.fixture(scope="module", params=GROWTH)
def trained(request: pytest.FixtureRequest) -> SCMRegressor:
    X, y = rows(0)
    learner = SCMRegressor(interval=LEVEL, random_state=0, **GROWTH[request.param])
    return learner.fit(X, y)


@pytest.fixture(scope="module")
def single() -> SCMRegressor:
    X, y = rows(0)
    return SCMRegressor(interval=LEVEL, luts=150, random_state=0).fit(X, y[:, 0])


def test_coverage_is_as_asked_on_rows_that_were_not_seen(trained: SCMRegressor) -> None:
    X, y = rows(1, 20_000)
    found = score(trained.machine_, X, y)
    assert found["level"] == LEVEL
    # With 600 rows of calibration, coverage has a standard deviation of 1.6 points: four of them.
    assert_allclose(list(found["coverage"].values()), LEVEL, atol=0.066)
    bounds = trained.predict_interval(X)
    inside = (bounds[..., 0] <= y) & (y <= bounds[..., 1])
    assert_allclose(inside.mean(axis=0), list(found["coverage"].values()), rtol=0, atol=1e-12)


def test_of_the_rows_of_calibration_as_many_as_the_rank_are_inside(trained: SCMRegressor) -> None:
    X, y = rows(0)
    *_, calibrating = _split(ROWS, LEVEL, np.random.RandomState(0))
    bounds = trained.predict_interval(X[calibrating])
    inside = ((bounds[..., 0] <= y[calibrating]) & (y[calibrating] <= bounds[..., 1])).sum(axis=0)
    # The row whose score is the quantile lies on the bound, and rounding decides.
    rank = _rank(len(calibrating), LEVEL)
    assert ((rank - 1 <= inside) & (inside <= rank)).all()


def test_the_width_follows_the_noise(trained: SCMRegressor) -> None:
    X, _ = rows(1)
    width = np.ptp(trained.predict_interval(X), axis=-1)
    loud, quiet = width[X[:, 1] > 0.8, 0].mean(), width[X[:, 1] < 0.2, 0].mean()
    assert loud > 1.5 * quiet
    assert width[:, 1].std() < 0.2 * width[:, 1].mean()


def test_no_input_has_a_negative_width(trained: SCMRegressor) -> None:
    far = np.random.default_rng(2).uniform(-3, 4, size=(20_000, 3))
    outputs = trained.machine_.predict(far)
    assert (outputs[:, 2::2] < outputs[:, 3::2]).all()
    if trained.machine_.families is not None:
        # Of no combination of nodes either: half the width is a sum of entries, none negative.
        half = trained.machine_.readout[:, 3] - trained.machine_.readout[:, 0]
        assert (half >= 0).all() and half.any()
    # The prediction is in the middle.
    assert_allclose(outputs[:, 2::2] + outputs[:, 3::2], 2 * outputs[:, :2], atol=1e-9)


def test_the_mean_coverage_of_many_splits_is_exact() -> None:
    """Of n rows of calibration it is between the level and ``1 / (n + 1)`` more."""
    X, y = rows(3, 20_000)
    found = []
    for seed in range(25):
        own = np.random.default_rng(seed).choice(len(X), 150, replace=False)
        learner = SCMRegressor(
            interval=0.9, growth="nodes", max_nodes=3, candidates=5, random_state=seed
        ).fit(X[own], y[own, 0])
        found.append(score(learner.machine_, X, y[:, :1])["coverage"]["y"])
    # A calibration of 30 rows has a standard deviation of 5 points, and the mean of 25 one of 1.
    assert 0.9 - 0.03 < np.mean(found) < 0.9 + 1 / 31 + 0.03


@pytest.mark.parametrize(
    ("count", "level", "rank"), [(9, 0.9, 9), (10, 0.9, 10), (19, 0.9, 18), (99, 0.95, 95)]
)
def test_rank_has_the_correction_for_finite_samples(count: int, level: float, rank: int) -> None:
    assert _rank(count, level) == rank


def test_outputs_names_and_shapes(single: SCMRegressor, trained: SCMRegressor) -> None:
    X, y = rows(1, 50)
    assert single.machine_.targets == ("y", "y.lower", "y.upper")
    assert trained.machine_.targets == (
        *("y0", "y1"),
        *("y0.lower", "y0.upper", "y1.lower", "y1.upper"),
    )
    assert single.predict(X).shape == (50,) and single.predict_interval(X).shape == (50, 2)
    assert trained.predict(X).shape == (50, 2) and trained.predict_interval(X).shape == (50, 2, 2)
    points = of_points(trained.machine_)
    assert points.targets == ("y0", "y1") and points.level is None
    assert_array_equal(points.readout, trained.machine_.readout[:, :2])
    # The machine is the same; a product of other width rounds its sums in another order.
    assert_allclose(points.predict(X), trained.machine_.predict(X)[:, :2], rtol=1e-13, atol=1e-13)
    # Errors are those of the predictions alone.
    alone, both = score(points, X, y), score(trained.machine_, X, y)
    assert set(both) - set(alone) == {"level", "coverage", "width_raw"}
    for name, value in alone.items():
        assert both[name] == pytest.approx(value, rel=1e-12), name


def test_covered_counts_rows_on_a_bound_as_inside() -> None:
    outputs = np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 2.0], [1.0, 0.0, 4.0]])
    found = covered(outputs, np.array([[0.0], [2.0], [4.5]]))
    assert_allclose(found.coverage, [2 / 3])
    assert_allclose(found.width, [8 / 3])


def test_a_file_keeps_the_interval(single: SCMRegressor, tmp_path: Path) -> None:
    X, y = rows(1, 50)
    single.save(tmp_path / "model.npz", X, y[:, 0])
    loaded = SCMRegressor.load(tmp_path / "model.npz")
    assert loaded.machine_.level == LEVEL and loaded.interval == LEVEL
    assert_array_equal(loaded.predict_interval(X), single.predict_interval(X))
    assert loaded.predict(X).shape == (50,)
    evaluation = loaded.machine_.evaluation
    assert evaluation is not None
    assert_array_equal(evaluation.targets, np.repeat(y[:, :1], 3, axis=1))


@pytest.mark.parametrize(
    ("interval", "outputs", "message"),
    [
        ({"level": 2.0}, 3, "must have a 'level' between 0 and 1"),
        ([0.9], 3, "must have a 'level' between 0 and 1"),
        ({"level": 0.9}, 1, "three outputs per target, not to a regression with 1"),
    ],
)
def test_a_file_with_a_wrong_note_is_refused(
    single: SCMRegressor, tmp_path: Path, interval: object, outputs: int, message: str
) -> None:
    machine: Model = single.machine_ if outputs == 3 else of_points(single.machine_)
    wrong = replace(machine, info=machine.info | {"interval": interval})
    with pytest.raises(ModelFileError, match=message):
        model_file.save(wrong, tmp_path / "wrong.npz")
        model_file.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, True, "0.9"])
def test_a_level_must_be_between_0_and_1(level: object) -> None:
    with pytest.raises(ParameterError, match="interval must be a level between 0 and 1, not"):
        SCMRegressor(interval=level).fit(*rows(0, 100))


def test_what_has_no_interval_says_so() -> None:
    X, y = rows(0, 100)
    with pytest.raises(ParameterError, match="interval must be None for classes"):
        SCMClassifier(interval=0.9).fit(X, y[:, 0] > 2)
    with pytest.raises(ParameterError, match="interval must be None for a machine with a mech"):
        SCMRegressor(interval=0.9, mechanism=lambda X: X[:, 0]).fit(X, y[:, 0])
    with pytest.raises(ParameterError, match="interval must be None for records"):
        SequenceRegressor(SCMRegressor(interval=0.9), lags="*:0..1").fit(X, y[:, 0])
    with pytest.raises(DataError, match=r"rows must be at least 495 for interval=0\.99, not 100"):
        SCMRegressor(interval=0.99).fit(X, y[:, 0])
    plain = SCMRegressor(luts=100).fit(X, y[:, 0])
    with pytest.raises(ParameterError, match="interval must be set before fit"):
        plain.predict_interval(X)


def test_the_command_line_shows_coverage_and_width(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = rows(0, 600)
    table, model = tmp_path / "table.csv", tmp_path / "model.npz"
    table.write_text(
        "a,b,c,out\n" + "".join(",".join(map(repr, r)) + "\n" for r in np.c_[X, y[:, 0]].tolist())
    )
    assert (
        main([*f"fit {table} --interval 0.8 --luts 80 --out {model}".split(), "--target", "out"])
        == 0
    )
    out = capsys.readouterr().out
    assert "coverage  mean width" in out and "whose level is 80.00%" in out
    assert "out.lower" not in out.split("test rows (")[1]
    assert main(["evaluate", str(model), "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["coverage"].keys() == own["rmse_raw"].keys() == {"out"}
    assert main(["evaluate", str(model), str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == 0.8
    assert main(["predict", str(model), str(table)]) == 0
    assert capsys.readouterr().out.startswith("out,out.lower,out.upper\n")


def test_bounds_are_not_fitted_again(single: SCMRegressor) -> None:
    X, y = rows(1, 50)
    with pytest.raises(ParameterError, match="model must have predictions alone, not bounds"):
        single.refit(X, y[:, 0])


def test_targets_named_like_bounds_are_refused() -> None:
    assert names_with_bounds(("a", "b.low")) == (
        *("a", "b.low"),
        *("a.lower", "a.upper", "b.low.lower", "b.low.upper"),
    )
    with pytest.raises(ScmDataError, match=r"names of targets must differ .*, not a, a\.lower;"):
        names_with_bounds(("a", "a.lower"))
