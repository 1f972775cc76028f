"""Figures: files that a viewer takes, the same for the same model, with the model's numbers."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from scm_train import model_file
from scm_train.__main__ import main
from scm_train.evaluation.plot import figure, removed_steps
from tests.train.commands import FAST, fitted, labels_csv

pytestmark = pytest.mark.usefixtures("folder")

REGRESSION = ["RMSE while nodes were added", "Nodes per layer", "Predictions", "Errors"]


def test_png_by_default(capsys):
    fitted("-q")
    assert main(["plot", "m.npz", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"model": "m.npz", "figure": "m.png", "panels": REGRESSION}
    image = matplotlib.image.imread("m.png")
    assert image.shape[1] == 1500 and image.std() > 0.05


def test_svg_is_text_and_the_same_each_time():
    fitted("-q")
    for name in ("a.svg", "b.svg"):
        assert main(["plot", "m.npz", "--out", name]) == 0
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    assert ElementTree.parse("a.svg").getroot().tag.endswith("svg")


def test_the_curves_are_the_history():
    machine = fitted("-q", "--max-nodes", "8,4", "--stop-step", "2")
    drawn, names = figure(machine)
    assert names == REGRESSION
    train, validation = drawn.axes[0].lines[:2]
    np.testing.assert_array_equal(train.get_ydata(), machine.history.train_rmse)
    np.testing.assert_array_equal(validation.get_ydata(), machine.history.validation_rmse)
    assert [bar.get_height() for bar in drawn.axes[1].patches] == list(machine.nodes)
    target, output = drawn.axes[2].lines
    error = np.asarray(output.get_ydata()) - np.asarray(target.get_ydata())
    rmse = float(np.sqrt(np.mean(error**2)))
    assert rmse == pytest.approx(machine.info["scores"]["test_rmse"], rel=1e-9)


def test_removed_nodes_are_marked():
    machine = fitted("-q", "--max-nodes", "8,4", "--stop-step", "2", "--stop-tolerance", "0.5")
    layer = np.asarray(machine.history.layer)
    removed = sum(last - first + 1 for first, last in removed_steps(machine, layer))
    assert removed == len(layer) - sum(machine.nodes) > 0


def test_a_classifier_has_its_confusion():
    assert main(["fit", labels_csv(), "--target", "grade", "--out", "m.npz", *FAST, "-q"]) == 0
    machine = model_file.load("m.npz")
    drawn, names = figure(machine)
    assert names[-1] == "Classes"
    counts = drawn.axes[-1].images[0].get_array()
    assert counts.sum() == len(machine.evaluation.inputs)
    assert np.trace(counts) / counts.sum() == machine.info["scores"]["test_accuracy"]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("m.bmp", "--out must end in .png, .svg or .pdf, not '.bmp'"),
        ("none/m.png", "can't write 'none/m.png': there is no folder 'none'; make it first"),
    ],
)
def test_a_bad_name_is_one_line(out, message, capsys):
    fitted("-q")
    before = sorted(p.name for p in Path(".").iterdir())
    assert main(["plot", "m.npz", "--out", out]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    assert sorted(p.name for p in Path(".").iterdir()) == before
