"""The learners in skl2onnx: what onnxruntime makes of its graphs is what they predict."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import onnxruntime
import pytest
import skl2onnx
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from scm_train import DIRVFL1Regressor, SCMClassifier, SCMRegressor
from scm_train.errors import ParameterError
from scm_train.skl2onnx_converters import register

ROWS = np.random.default_rng(5).normal(size=(160, 4)).astype(np.float32)
TARGET = ROWS[:, 0] * 3 + np.sin(4 * ROWS[:, 1])
#: Single precision, at the end of double.
FLOAT = {"rtol": 2e-6, "atol": 2e-6}


@pytest.fixture(autouse=True)
def registered() -> None:
    register()


def run(learner: Any, X: NDArray, **options: Any) -> list[NDArray]:
    """All outputs for rows in their own type."""
    proto = skl2onnx.to_onnx(learner, X[:1], **options)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), None, ["CPUExecutionProvider"]
    )
    (name,) = [one.name for one in session.get_inputs()]
    return list(session.run(None, {name: X}))


@pytest.mark.parametrize(
    "settings", [{"luts": 200}, {"max_nodes": 12}, {"max_nodes": 8, "encoder": "none"}]
)
def test_regressors(settings: dict[str, Any]) -> None:
    learner = SCMRegressor(random_state=1, **settings).fit(ROWS, TARGET)
    (found,) = run(learner, ROWS)
    assert found.dtype == np.float32
    assert_allclose(found[:, 0], learner.predict(ROWS), **FLOAT)


def test_several_targets_and_another_algorithm() -> None:
    both = np.stack([TARGET, -2 * TARGET], axis=1)
    learner = DIRVFL1Regressor(random_state=1, max_nodes=10).fit(ROWS, both)
    (found,) = run(learner, ROWS)
    assert_allclose(found, learner.predict(ROWS), **FLOAT)


def test_a_pipeline_in_double_precision() -> None:
    rows = ROWS.astype(np.float64)
    learner = make_pipeline(StandardScaler(), SCMRegressor(random_state=1, luts=200))
    learner.fit(rows, TARGET)
    (found,) = run(learner, rows)
    assert found.dtype == np.float64
    assert_allclose(found[:, 0], learner.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("labels", [("lo", "hi"), ("a", "b", "c"), (3.0, 7.0), (0, 1, 2)])
@pytest.mark.parametrize("settings", [{"luts": 200}, {"max_nodes": 12}])
def test_classifiers(labels: tuple[Any, ...], settings: dict[str, Any]) -> None:
    edges = np.quantile(TARGET, np.linspace(0, 1, len(labels) + 1)[1:-1])
    y = np.array(labels)[np.digitize(TARGET, edges)]
    learner = SCMClassifier(random_state=1, **settings).fit(ROWS, y)
    label, probabilities = run(learner, ROWS, options={"zipmap": False})
    assert_array_equal(label, learner.predict(ROWS))
    assert_allclose(probabilities, learner.predict_proba(ROWS), **FLOAT)
    _, scores = run(learner, ROWS, options={"zipmap": False, "raw_scores": True})
    wanted = learner.decision_function(ROWS)
    assert_allclose(scores[:, -1] if wanted.ndim == 1 else scores, wanted, **FLOAT)
    _, maps = run(learner, ROWS)
    assert maps[0].keys() == set(labels)


def test_what_a_graph_cannot_hold() -> None:
    learner = SCMRegressor(random_state=1, max_nodes=4).fit(ROWS, TARGET)
    with pytest.raises(ParameterError, match=r"^target opset must be at least 17, not 15; raise"):
        run(learner, ROWS, target_opset=15)


def test_another_learner_is_seen() -> None:
    """So the tests above would notice a graph of something else."""
    learner = SCMRegressor(random_state=1, max_nodes=12).fit(ROWS, TARGET)
    (found,) = run(learner, ROWS)
    learner.machine_.readout[0] += 1.0
    assert np.abs(found[:, 0] - learner.predict(ROWS)).max() > 0.1


def test_without_skl2onnx_it_is_one_line() -> None:
    program = "import sys; sys.modules['skl2onnx'] = None; import scm_train.skl2onnx_converters"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ParameterError: can't register converters: skl2onnx is not installed" in done.stderr
