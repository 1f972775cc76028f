"""The command line of the trainer."""

from __future__ import annotations

import argparse
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_explore.evaluate import Task, _trained, named
from scm_explore.space import Space
from scm_hw.load import evaluate, read_model
from scm_train import datasets, estimators, model_file
from scm_train.__main__ import main
from scm_train.cli.parser import build_parser, shown
from scm_train.cli.training_data import Data, split
from scm_train.data.files import read_rows
from tests.train.commands import FAST, fitted, labels_csv, plant_csv

pytestmark = pytest.mark.usefixtures("folder")


def test_the_default_model_is_ready_for_hardware():
    assert main(["fit", plant_csv(), "--target", "force", "--out", "m.npz", "-q"]) == 0
    machine = model_file.load("m.npz")
    assert machine.hardware_reasons == []
    assert machine.algorithm == "SCM"
    assert machine.encoder.kind == "none"
    assert machine.encoder.input_bits == 12
    assert [layer.kind for layer in machine.layers] == ["nodes", "families"]
    assert machine.layers[0].activation == "sign"
    assert machine.features == ("speed", "load", "heat")
    assert machine.targets == ("force",)
    assert machine.info["name"] == "plant"
    assert machine.info["data"] == {
        "name": "plant.csv",
        "target": ["force"],
        "train_rows": 120,
        "test_rows": 40,
    }
    read_model(Path("m.npz"))


def test_the_same_command_writes_the_same_bytes():
    fitted("--seed", "5")
    first = Path("m.npz").read_bytes()
    fitted("--seed", "5")
    assert Path("m.npz").read_bytes() == first
    fitted("--seed", "6")
    assert Path("m.npz").read_bytes() != first


def test_test_rows_are_not_looked_at_before_the_end():
    first = fitted("--seed", "1")
    held = first.evaluation.inputs
    data = np.loadtxt("plant.csv", delimiter=",", skiprows=1)
    is_test = (data[:, None, :3] == held).all(axis=2).any(axis=1)
    assert is_test.sum() == 40
    data[is_test] *= 10
    np.savetxt("other.csv", data, delimiter=",", header="speed,load,heat,force", comments="")
    second = fitted("--seed", "1", data="other.csv")
    assert_array_equal(second.input_max, first.input_max)
    assert_array_equal(second.readout, first.readout)
    assert_array_equal(second.layers[0].biases, first.layers[0].biases)
    assert second.info["scores"]["test_rmse"] > 2 * first.info["scores"]["test_rmse"]


def test_scores_are_those_of_the_rows_carried_along(capsys):
    machine = fitted()
    rows = machine.evaluation
    error = machine.predict(rows.inputs) - rows.targets
    raw = float(np.sqrt((error**2).mean()))
    assert_allclose(machine.info["scores"]["test_rmse_raw"]["force"], raw, rtol=1e-12)
    output = evaluate(read_model(Path("m.npz")), rows.inputs).output
    wanted = (rows.targets - machine.target_min) / (machine.target_max - machine.target_min)
    compiled = float(np.sqrt(((output - wanted) ** 2).mean()))
    assert_allclose(machine.info["scores"]["test_rmse"], compiled, rtol=1e-9)
    capsys.readouterr()
    assert main(["evaluate", "m.npz", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["rmse"] == machine.info["scores"]["test_rmse"]
    assert again["rows"] == 40


@pytest.mark.parametrize("name", ["scn", "DeepSCN", "scm", "irvfl", "dirvfl-1", "DIRVFL_2"])
def test_every_algorithm(name):
    machine = fitted("--algorithm", name, "-q")
    assert machine.algorithm.lower() == name.lower().replace("-", "").replace("_", "")


def test_every_flag_reaches_the_learner(monkeypatch):
    seen = {}
    original = estimators.DeepSCNRegressor.fit

    def spy(self, *args, **kwargs):
        seen.update(self.get_params())
        return original(self, *args, **kwargs)

    monkeypatch.setattr(estimators.DeepSCNRegressor, "fit", spy)
    flags = (
        "--algorithm deepscn --layers 2 --max-nodes 4,3 --activation sign,step --candidates 9,8 "
        "--encoder binary:3 --input-bits 8 --weights binary --inputs-per-node 1:0.25,2:0.75 "
        "--sign-pattern 0.25 --bias-range=-2,2 --search fresh --criterion paper "
        "--lambdas 0.5,1 --r 0.9,0.99 --tolerance 0.001 --stop-step 5 --stop-tolerance 0.01 "
        "--removal-tolerance 0.02 --alpha 0.1 --ridge 0.001 --validation-fraction 0.2 "
        "--removal 0.5 --search-rows 50 --missing median "
        "--seed 7 -q"
    )
    machine = fitted(*flags.split())
    expected = {
        "max_nodes": [4, 3],
        "interval": None,
        "loss": "squared_error",
        "unsure": None,
        "flags": None,
        "layers": 2,
        "activation": ["sign", "step"],
        "candidates": [9, 8],
        "lambdas": (0.5, 1.0),
        "r_values": (0.9, 0.99),
        "search": "fresh",
        "criterion": "paper",
        "tolerance": 0.001,
        "weights": "binary",
        "encoder": "binary:3",
        "input_bits": 8,
        "inputs_per_node": {1: 0.25, 2: 0.75},
        "sign_pattern": 0.25,
        "bias_range": (-2.0, 2.0),
        "stop_step": 5,
        "stop_tolerance": 0.01,
        "removal_tolerance": 0.02,
        "alpha": 0.1,
        "ridge": 0.001,
        "mechanism": None,
        "validation_fraction": 0.2,
        "removal": 0.5,
        "search_rows": 50,
        "missing": "median",
        "readout": "squares",
        "categories": None,
        "random_state": 7,
        "verbose": False,
        "luts": None,
        "class_weight": None,
        "growth": "auto",
        "members": 1,
    }
    assert seen == expected
    assert machine.encoder.bits == (3, 3, 3)
    assert [layer.activation for layer in machine.layers] == ["sign", "step"]


def test_the_help_has_the_estimators_defaults():
    own = estimators.SCMRegressor().get_params()
    text = " ".join(fit_parser().format_help().split())
    for action in fit_parser()._actions:
        if (default := own.get(action.dest)) is not None and action.dest != "mechanism":
            help_text = re.escape(" ".join(str(action.help).split()))
            (told,) = re.findall(help_text.replace("\\-", "\\- ?") + r" \(([^)]+)\)", text)
            assert shown(default) == told
    assert shown((1, 2, 3)) == "1,2,3"
    assert (shown(0.001), shown(0.999999), shown(0.0), shown(60)) == (
        "0.001",
        "0.999999",
        "0",
        "60",
    )


def test_no_flag_of_the_learner_has_a_default_of_its_own():
    own = set(estimators.SCMRegressor().get_params()) - {"mechanism", "random_state", "verbose"}
    actions = {action.dest: action for action in fit_parser()._actions}
    assert own <= set(actions)
    assert {actions[name].default for name in own} == {argparse.SUPPRESS}


@pytest.mark.parametrize(("data", "target"), [("plant", "force"), ("labels", "grade")])
def test_every_door_gives_the_same_machine(data, target):
    """`fit`, the estimator, and the first point of `explore`: one machine, to the byte."""
    data = plant_csv() if data == "plant" else labels_csv()
    assert main(["fit", data, "--target", target, "--out", "m.npz", "-q"]) == 0
    machine = model_file.load("m.npz")
    rows = read_rows(data, [target])
    task = "regression" if target == "force" else "classification"
    about = Data(rows, task, "", {})
    train, _ = split(about, None, 0)
    X, y = rows.X[train], rows.y[train]
    kind = estimators.SCMRegressor if task == "regression" else estimators.SCMClassifier
    by_hand = kind(random_state=0).fit(X, y).machine_
    names = (rows.feature_names, rows.target_names)
    job = Task(X, y, X, y, task == "classification", *names, "arty-a7", 0)
    explored = _trained(job, Space(X.shape[1], 1000).default())
    model_file.save(explored, "explored.npz")
    own = replace(named(by_hand, *names), info=explored.info)
    model_file.save(own, "own.npz")
    assert Path("own.npz").read_bytes() == Path("explored.npz").read_bytes()
    told = replace(machine, info=explored.info, evaluation=None)
    model_file.save(told, "told.npz")
    assert Path("told.npz").read_bytes() == Path("own.npz").read_bytes()
    assert_array_equal(machine.predict(rows.X), by_hand.predict(rows.X))


def fit_parser() -> argparse.ArgumentParser:
    """The parser of `fit`."""
    parsers = next(a for a in build_parser()._actions if isinstance(a.choices, dict))
    return parsers.choices["fit"]


def test_values_that_are_words():
    coding = ("--encoder=none", "--input-bits=none", "--activation=tanh")
    drawing = ("--inputs-per-node=all", "--sign-pattern=free", "--bias-range=paper")
    machine = fitted(*coding, *drawing, "--ridge=auto", "-q")
    assert machine.encoder.input_bits is None
    assert machine.layers[0].mask is None
    assert machine.hardware_reasons


def test_the_papers_settings(capsys):
    machine = fitted("--paper", "--max-nodes", "5,4")
    assert machine.encoder.kind == "none"
    assert {layer.activation for layer in machine.layers} == {"sigmoid"}
    assert "not ready: inputs are not quantised" in capsys.readouterr().out


def test_chosen_columns_and_several_targets():
    machine = fitted("--features", "speed,load", target="force,heat")
    assert machine.features == ("speed", "load")
    assert machine.targets == ("force", "heat")
    machine = fitted("--drop", "heat", "--name", "pump")
    assert machine.features == ("speed", "load")
    assert machine.info["name"] == "pump"


def test_a_column_with_a_comma_in_its_name(capsys):
    text = Path(plant_csv()).read_text().replace("force", '"force, (kN)"', 1)
    Path("comma.csv").write_text(text)
    assert fitted(data="comma.csv", target="force, (kN)").targets == ("force, (kN)",)
    assert main(["evaluate", "m.npz", "comma.csv"]) == 0


@pytest.mark.parametrize("fraction", ["0", "0.5"])
def test_test_fraction(fraction):
    machine = fitted("--test-fraction", fraction)
    if fraction == "0":
        assert machine.evaluation is None
        assert "test_rmse" not in machine.info["scores"]
    else:
        assert len(machine.evaluation.inputs) == 80


def test_a_file_of_test_rows(capsys):
    """All rows of the one are trained on, and those of the other, columns by name, tested on."""
    names, *lines = Path(plant_csv("later.csv", n=40, seed=1)).read_text().splitlines()
    swapped = [",".join(reversed(line.split(","))) for line in [names, *lines]]
    Path("later.csv").write_text("\n".join(swapped) + "\n")
    machine = fitted("--test", "later.csv")
    about = machine.info["data"]
    assert (about["train_rows"], about["test_rows"], about["test"]) == (160, 40, "later.csv")
    wanted = np.array([[float(v) for v in line.split(",")] for line in lines])
    assert_array_equal(machine.evaluation.inputs, wanted[:, :3])
    assert_array_equal(machine.evaluation.targets[:, 0], wanted[:, 3])
    capsys.readouterr()
    main(["evaluate", "m.npz", "later.csv", "--json"])
    scores = json.loads(capsys.readouterr().out)
    assert scores["rmse"] == pytest.approx(machine.info["scores"]["test_rmse"])


def test_evaluation_rows_can_stay_out():
    machine = fitted("--no-eval-rows")
    assert machine.evaluation is None
    assert "test_rmse" in machine.info["scores"]


def test_text_labels_make_a_classifier(capsys):
    machine = fitted(data=labels_csv(), target="grade")
    assert machine.task == "classification"
    assert machine.classes == ("high", "low", "mid")
    assert machine.evaluation.targets.dtype == np.int64
    grades = [line.split(",")[2] for line in Path("labels.csv").read_text().splitlines()[1:]]
    shares = [round(grades.count(grade) / 4) for grade in machine.classes]
    assert_array_equal(np.bincount(machine.evaluation.targets), shares)
    assert machine.info["scores"]["test_accuracy"] > 0.8
    capsys.readouterr()
    assert main(["predict", "m.npz", "labels.csv"]) == 0
    header, *labels = capsys.readouterr().out.splitlines()
    assert header == "grade"
    assert main(["evaluate", "m.npz", "labels.csv", "--json"]) == 0
    accuracy = json.loads(capsys.readouterr().out)["accuracy"]
    assert accuracy == np.mean([a == b for a, b in zip(labels, grades, strict=True)])


def test_two_classes_and_what_is_told_of_them(capsys):
    """Two classes share an output; the scores are those of the labels that are predicted."""
    labels_csv(names=("low", "low", "high"))
    words = ["--target", "grade", "--out", "m.npz", "--luts", "60", "--json"]
    assert main(["fit", "labels.csv", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    machine = model_file.load("m.npz")
    assert machine.outputs == 1 and told["classes"] == ["high", "low"]
    rows = machine.evaluation
    wanted = np.array(machine.classes)[rows.targets]
    answers = machine.predict(rows.inputs)
    table = [
        [int(((wanted == a) & (answers == b)).sum()) for b in machine.classes]
        for a in machine.classes
    ]
    scores = told["scores"]
    assert scores["test_confusion"] == table
    assert scores["test_accuracy"] == (answers == wanted).mean() > 0.9
    assert scores["test_majority"] == max((wanted == a).mean() for a in machine.classes)
    recalls = [(answers[wanted == a] == a).mean() for a in machine.classes]
    assert scores["test_balanced_accuracy"] == pytest.approx(np.mean(recalls))
    assert main(["info", "m.npz"]) == 0
    shown = capsys.readouterr().out
    assert f"accuracy {scores['test_accuracy']:.2%}, balanced accuracy" in shown
    assert re.search(rf"1 high +{table[0][0]} +{table[0][1]}\n", shown)


def test_fit_ends_with_errors_in_units_features_and_the_next_steps(capsys):
    machine = fitted()
    out = capsys.readouterr().out
    rows = machine.evaluation
    error = np.abs(machine.predict(rows.inputs) - rows.targets)
    r2 = 1 - (error**2).mean() / rows.targets.var()
    figures = (np.sqrt((error**2).mean()), error.mean(), error.max(), r2)
    assert re.search(r"force +" + " +".join(re.escape(f"{one:.5g}") for one in figures), out)
    importance = machine.info["scores"]["importance"]
    # `heat` has no part in the target, and `speed` the largest.
    assert list(importance) == ["speed", "load", "heat"]
    assert importance["speed"] > importance["load"] > 10 * abs(importance["heat"])
    assert re.search(rf"features by .*\n  speed +\+{importance['speed']:.4g}\n  load ", out)
    ending = out[out.index("next\n") :]
    assert "python -m scm_hw build m.npz --board arty-a7" in ending
    assert "python -m scm_hw design plant.csv --target force --luts 1000" in ending


def test_test_rows_beyond_the_training_range_are_one_line(capsys):
    lines = Path(plant_csv()).read_text().splitlines()
    Path("far.csv").write_text("\n".join([lines[0], "9,1,1,80", "1,9,1,2", "1,1,1,2"]) + "\n")
    fitted("--test", "far.csv")
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "training range" in one]
    assert line.startswith("note: test rows outside of the training range, which are clipped to it")
    assert line.endswith(": 'speed' 33.3 %, 'load' 33.3 %")


def test_numbers_are_labels_when_told(capsys):
    data = labels_csv(names=("1", "2", "3"))
    assert fitted(data=data, target="grade").task == "regression"
    machine = fitted("--task", "classification", data=data, target="grade")
    assert machine.classes == (1, 2, 3)
    assert main(["evaluate", "m.npz", data]) == 0


def test_predictions_are_the_machines(capsys):
    machine = fitted()
    capsys.readouterr()
    X = np.loadtxt("plant.csv", delimiter=",", skiprows=1)[:, :3]
    expected = machine.predict(X)[:, 0]
    assert main(["predict", "m.npz", "plant.csv"]) == 0
    header, *values = capsys.readouterr().out.splitlines()
    assert header == "force"
    assert_array_equal([float(v) for v in values], expected)
    assert main(["predict", "m.npz", "plant.csv", "--out", "p.csv"]) == 0
    assert Path("p.csv").read_text().splitlines() == [header, *values]
    assert "160" in capsys.readouterr().out
    assert main(["predict", "m.npz", "plant.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert_array_equal(np.array(found["predictions"])[:, 0], expected)
    assert sorted(os.listdir()) == ["m.npz", "p.csv", "plant.csv"]


def test_evaluate_takes_rows_with_one_value_and_targets_of_another_name(capsys):
    fitted()
    lines = Path("plant.csv").read_text().splitlines()
    Path("one.csv").write_text("\n".join([lines[0].replace("force", "kN"), lines[1]]) + "\n")
    assert main(["evaluate", "m.npz", "one.csv", "--target", "kN"]) == 0
    assert "rows   1\n" in capsys.readouterr().out


@pytest.mark.usefixtures("physics")
@pytest.mark.parametrize("kind", ["table", "polynomial"])
def test_a_mechanism_that_the_file_holds(kind, capsys):
    machine = fitted(
        "--mechanism=physics:pull",
        f"--mechanism-kind={kind}",
        "--mechanism-inputs=speed,load",
        "--mechanism-points=17",
        "--mechanism-degree=3",
    )
    assert machine.mechanism.kind == kind
    assert machine.mechanism.worst_error < 0.01
    assert machine.info["scores"]["test_rmse"] < 0.01
    if kind == "table":
        assert machine.mechanism.grid.shape == (17, 17, 1)
    capsys.readouterr()
    assert main(["info", "m.npz"]) == 0
    assert f"kind {kind}, worst_error" in capsys.readouterr().out


@pytest.mark.usefixtures("physics")
def test_an_external_mechanism(capsys):
    fitted("--mechanism", "physics:pull")
    assert main(["predict", "m.npz", "plant.csv"]) == 2
    assert "mechanism_values must be given" in capsys.readouterr().err
    assert main(["predict", "m.npz", "plant.csv", "--mechanism", "physics:pull"]) == 0
    by_function = capsys.readouterr().out
    data = np.loadtxt("plant.csv", delimiter=",", skiprows=1)
    p0 = data[:, 0] ** 2 + data[:, 1]
    header = "speed,load,heat,force,P0"
    np.savetxt("p0.csv", np.column_stack([data, p0]), "%.17g", ",", header=header, comments="")
    assert main(["predict", "m.npz", "p0.csv", "--mechanism-columns", "P0"]) == 0
    assert capsys.readouterr().out == by_function
    assert main(["evaluate", "m.npz"]) == 0
    assert main(["evaluate", "m.npz", "p0.csv", "--mechanism-columns", "speed,P0"]) == 2
    assert "one per output (1), not 2" in capsys.readouterr().err


def test_a_named_data_set_keeps_its_own_split(capsys):
    assert main(["fit", "--dataset", "tyukin", "--out", "m.npz", *FAST, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["name"] == "tyukin"
    assert report["data"]["train_rows"] + report["data"]["test_rows"] == 1000
    assert report["hardware"] == {"ready": True, "reasons": []}
    assert set(report["timing"]) >= {"candidate_search"}
    assert main(["evaluate", "m.npz"]) == 0


def test_the_files_of_a_data_set_are_inputs(monkeypatch, capsys):
    source = replace(datasets.load("tyukin"), files=(Path("m.npz"),))
    monkeypatch.setattr(datasets, "load", lambda name: source)
    Path("m.npz").write_text("rows")
    assert main(["fit", "--dataset", "tyukin", "--out", "m.npz", *FAST]) == 2
    assert "m.npz" in capsys.readouterr().err and Path("m.npz").read_text() == "rows"
    assert main(["fit", "--dataset", "tyukin", "--out", "n.npz", *FAST, "-q"]) == 0


def test_a_data_sets_own_mechanism():
    flags = ("--dataset=rolling_force_sim", "--mechanism=dataset", "--mechanism-kind=external")
    assert main(["fit", *flags, "--out", "m.npz", *FAST, "-q"]) == 0
    machine = model_file.load("m.npz")
    assert machine.mechanism.kind == "external"
    assert machine.evaluation.mechanism is not None
    assert machine.info["data"]["simulated"] is True


def test_info_counts_storage_as_the_paper_does(capsys):
    fitted("--inputs-per-node", "all", "--encoder", "thermometer:25")
    capsys.readouterr()
    assert main(["info", "m.npz", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    nodes = about["layers"][0]["nodes"]
    assert about["storage"] == {
        "weights": nodes * 75,
        "real_bits": nodes * 3 * 64,
        "binary_bits": nodes * 75,
        "lambda_bits": 0,
        "reduction": 1 - 75 / (3 * 64),
    }
    assert main(["info", "m.npz"]) == 0
    assert "reduction 60.94%" in capsys.readouterr().out


def test_datasets_are_listed(capsys):
    assert main(["datasets"]) == 0
    assert any(
        line.startswith("servo_sim ") and "simulation" in line
        for line in capsys.readouterr().out.splitlines()
    )
    assert main(["datasets", "--json"]) == 0
    assert {"tyukin", "servo_sim"} <= {
        d["name"] for d in json.loads(capsys.readouterr().out)["datasets"]
    }


def test_quiet_says_nothing(capsys):
    fitted("-q")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("count", "told"), [(1, "c0"), (10, "c0, c1, c2, c3, c4, c5, c6, c7, and 2 more")]
)
def test_constant_features_are_told_in_one_line(count, told, capsys):
    header = ",".join(["a", *(f"c{i}" for i in range(count)), "y"])
    rows = (f"{i}," + "7," * count + str(i * i) for i in range(30))
    Path("c.csv").write_text("\n".join([header, *rows]))
    fitted(data="c.csv", target="y")
    assert (
        capsys.readouterr().err
        == f"warning: these features are constant and are not used: {told}\n"
    )


@pytest.mark.parametrize("argv", [["--help"], ["fit", "--help"], ["predict", "--help"]])
def test_help(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 0
    assert "usage: scm_train" in capsys.readouterr().out
