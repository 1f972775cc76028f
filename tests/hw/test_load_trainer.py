"""What the trainer writes, the compiler reads: the model file is all they share."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scm_hw.load import evaluate, read_model
from scm_train.model_file import save
from tests.train.machines import MECHANISMS, inputs, machine, plant


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("encoder", ["thermometer:7", "thermometer:5:quantile", "gray:6", "none"])
@pytest.mark.parametrize("classes", [None, ("cold", "warm", "hot")], ids=["values", "classes"])
def test_models_of_the_trainer_decide_the_same(
    tmp_path: Path, mechanism: str, encoder: str, classes: tuple[str, ...] | None
) -> None:
    if classes is not None and mechanism != "none":
        classes = ("off", "on")
    trained = machine(encoder, mechanism=mechanism, classes=classes, masked=encoder == "gray:6")
    save(trained, tmp_path / "model.npz")
    rows = inputs(seed=5)
    p0 = plant(rows) if mechanism == "external" else None
    activity = evaluate(read_model(tmp_path / "model.npz"), rows, p0)
    decided = trained.decision(rows, p0)
    np.testing.assert_allclose(activity.output, decided, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(activity.hidden, np.hstack(trained.hidden_layers(rows)))


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "brelu", "step"])
def test_real_machines_of_the_trainer_decide_the_same(tmp_path: Path, activation: str) -> None:
    trained = machine("none", None, activation=activation, weights="real")
    save(trained, tmp_path / "model.npz")
    rows = inputs(seed=5)
    activity = evaluate(read_model(tmp_path / "model.npz"), rows)
    np.testing.assert_allclose(activity.output, trained.decision(rows), rtol=1e-12, atol=1e-12)


def test_a_file_of_the_trainer_is_json_and_arrays(tmp_path: Path) -> None:
    save(machine(), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert json.loads(archive["meta"].tobytes())["format"] == "scm-model"
