"""Several runs: what is told of them, which is kept, and that each can be had alone."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from scm_train import model_file
from scm_train.__main__ import main
from tests.train.commands import FAST, plant_csv

pytestmark = pytest.mark.usefixtures("folder")

FIT = ("--target", "force", "--out", "m.npz", *FAST, "--stop-step", "2")


def trials(capsys, *flags):
    assert main(["fit", plant_csv(), *FIT, "--json", *flags]) == 0
    return json.loads(capsys.readouterr().out)


def test_scores_and_nodes_are_those_of_the_single_runs(capsys):
    found = trials(capsys, "--trials", "4", "--max-nodes", "6,3")
    # A run alone has the same seed for its split; only training differs.
    single = [_alone(seed) for seed in range(4)]
    kept = found["trials"]
    assert kept["count"] == 4
    for name in ("train_rmse", "validation_rmse", "test_rmse"):
        values = [machine.info["scores"][name] for machine in single]
        spread = kept["scores"][name]
        assert spread["mean"] == pytest.approx(statistics.mean(values), rel=1e-12)
        assert spread["std"] == pytest.approx(statistics.stdev(values), rel=1e-9)
        assert (spread["min"], spread["max"]) == (min(values), max(values))
    for layer, histogram in enumerate(kept["nodes_per_layer"]):
        nodes = [machine.nodes[layer] if layer < len(machine.nodes) else 0 for machine in single]
        assert {int(n): runs for n, runs in histogram.items()} == {
            n: nodes.count(n) for n in set(nodes)
        }


def _alone(seed):
    """The run of a seed, on the split of seed 0."""
    from scm_train.cli import fit
    from scm_train.cli.parser import build_parser
    from scm_train.cli.training_data import read, split

    words = ["fit", plant_csv(), *FIT, "--max-nodes", "6,3", "-q"]
    args = build_parser().parse_args(words)
    data = read(args)
    train, test = split(data, None, 0)
    learner = fit._learner(args, data, seed)
    assert learner.random_state == seed
    learner.fit(data.rows.X[train], data.rows.y[train])
    return fit.finished(learner.machine_, data, train, test, args)


def test_the_best_on_validation_rows_is_kept(capsys):
    found = trials(capsys, "--trials", "4")
    machine = model_file.load("m.npz")
    best = found["trials"]["best"]
    assert machine.info["settings"]["trial"] == best
    assert machine.info["settings"]["trials"] == 4
    scores = machine.info["scores"]
    assert scores["validation_rmse"] == found["trials"]["scores"]["validation_rmse"]["min"]
    assert found["scores"] == scores


def test_one_trial_is_a_plain_fit(capsys):
    trials(capsys, "--trials", "1")
    first = (model_file.load("m.npz"), Path("m.npz").read_bytes())
    trials(capsys)
    assert Path("m.npz").read_bytes() == first[1]
    assert "trials" not in first[0].info["settings"]


def test_trials_are_shown_as_a_histogram(capsys):
    assert main(["fit", plant_csv(), *FIT, "--trials", "3"]) == 0
    shown = capsys.readouterr().out
    assert "trials" in shown and "+-" in shown
    histogram = shown[shown.index("nodes of layer 1:") :].partition("\n\n")[0]
    lines = histogram.splitlines()[1:]
    runs = [int(line.split()[-1]) for line in lines]
    assert sum(runs) == 3 and all("#" in line for line in lines)


@pytest.mark.parametrize("number", ["0", "-3", "many"])
def test_no_trials_is_one_line(number, capsys):
    assert main(["fit", plant_csv(), *FIT, "--trials", number]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: argument --trials: must be a whole number")
    assert error.count("\n") == 1


def test_classifiers_have_the_spread_of_their_accuracy(capsys):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, (120, 2))
    lines = [f"{a},{b},{'low' if a < 1.5 else 'high'}" for a, b in x]
    with open("labels.csv", "w") as file:
        file.write("a,b,grade\n" + "\n".join(lines) + "\n")
    words = ["labels.csv", "--target", "grade", "--out", "m.npz", *FAST, "--trials", "2", "--json"]
    assert main(["fit", *words]) == 0
    found = json.loads(capsys.readouterr().out)["trials"]["scores"]
    assert 0.5 < found["test_accuracy"]["mean"] <= 1
