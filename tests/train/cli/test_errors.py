"""The command line when it is given what it cannot do: one line, and an intact disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scm_train import estimators
from scm_train.__main__ import main
from tests.train.commands import fitted, labels_csv, plant_csv

pytestmark = pytest.mark.usefixtures("folder")
ROOT = Path(__file__).resolve().parents[3]
BAD_FITS = [
    ("plant.csv", "--target must name the column to learn"),
    ("plant.csv --target forse", "did you mean 'force'?"),
    ("plant.csv --target force --drop spead", "did you mean 'speed'?"),
    ("none.csv --target y", "can't read 'none.csv': there is no such file"),
    ("plant.csv --dataset tyukin --target y", "a data file or --dataset, and not both"),
    ("", "a data file or --dataset, and not both"),
    (
        "--dataset tyukin --target y",
        "--drop, --test and --split must be left out",
    ),
    ("plant.csv --target force --test none.csv", "can't read 'none.csv'"),
    ("plant.csv --target force --test plant.csv", "--test must be another file"),
    ("plant.csv --target force --test labels.csv", "column 'force' must be in labels.csv"),
    ("plant.csv --target force --test-fraction 0.1 --test labels.csv", "must not both be given"),
    ("labels.csv --target grade --test other.csv", "classes of other.csv must be those of labels"),
    ("labels.csv --target a --features b --test words.csv", "must be of the same kind as those of"),
    ("--dataset servo", "not 'servo'"),
    ("--dataset tyukin --mechanism dataset", "must be used with a --dataset that has a mechanism"),
    ("plant.csv --target force --max-nodes 0", "max_nodes must be a positive whole number, not 0"),
    (
        "plant.csv --target force --max-nodes many",
        "must be a whole number or none or inf, not 'many'",
    ),
    ("plant.csv --target force --layers 0", "layers must be a positive whole number, not 0"),
    ("plant.csv --target force --max-nodes 5,5 --layers 3", "one value or one per layer (3)"),
    ("plant.csv --target force --algorithm deepsnc", "not 'deepsnc'; did you mean 'deepscn'?"),
    ("plant.csv --target force --activation sine", "did you mean 'sign'?"),
    ("plant.csv --target force --encoder thermometer:9000", "must be from 1 to 4095"),
    ("plant.csv --target force --input-bits 99", "from 1 to 24, not 99"),
    ("plant.csv --target force --input-bits some", "a whole number or auto or none, not 'some'"),
    ("plant.csv --target force --ridge none", "a number or auto, not 'none'"),
    ("plant.csv --target force --sign-pattern odd", "a number or free or monotone, not 'odd'"),
    ("plant.csv --target force --bias-range 1,x", "must be a number, not 'x'"),
    ("plant.csv --target force --inputs-per-node 1:x", "must be a number, not 'x'"),
    ("plant.csv --target force --activation ,", "must be one value or one per layer, not empty"),
    ("plant.csv --target force --weights real", "weights must be 'binary' for SCM"),
    ("plant.csv --target force --criterion papers", "did you mean 'paper'?"),
    ("plant.csv --target force --task classify", "did you mean 'classification'?"),
    ("plant.csv --target force --task classification", "must be labels, not real numbers"),
    ("plant.csv --target force,heat --task classification", "must be one column, not 2"),
    ("labels.csv --target grade --task regression", "must be numbers, not mid"),
    ("one.csv --target grade", "target 'grade' must vary, not be 'low' in every row"),
    ("short.csv --target y", "rows of short.csv must be at least 10, not 3"),
    ("plant.csv --target force --test-fraction 1", "--test-fraction must be at least 0 and below"),
    ("plant.csv --target force --test-fraction 0.995", "targets must vary in the 1 training rows"),
    ("plant.csv --target force --validation-fraction 2", "validation_fraction must be"),
    ("plant.csv --target force --mechanism physics", "--mechanism must be module:function"),
    (
        "plant.csv --target force --mechanism no_such:f",
        "can't import the module 'no_such' of --mechanism",
    ),
    (
        "plant.csv --target force --mechanism physics.py:pull",
        "; a module has no suffix, give physics:pull",
    ),
    ("plant.csv --target force --mechanism physics:pool", "did you mean 'pull'?"),
    ("plant.csv --target force --mechanism physics:factor", "must name a callable of physics"),
    (
        "plant.csv --target force --mechanism physics:pull --mechanism-kind table",
        "--mechanism-inputs must name one to three",
    ),
    (
        "plant.csv --target force --mechanism physics:pull --mechanism-inputs weight",
        "--mechanism-inputs must be features, not 'weight'",
    ),
    ("plant.csv --target force --colour blue", "unrecognized arguments: --colour blue"),
    ("plant.csv --target force --seed=-1", "argument --seed: must be from 0 to 2**32 - 1"),
    ("plant.csv --target force --seed x", "argument --seed: must be a whole number, not 'x'"),
]


@pytest.mark.usefixtures("physics")
@pytest.mark.parametrize(("flags", "message"), BAD_FITS, ids=[flags for flags, _ in BAD_FITS])
def test_a_bad_fit_gets_one_line_and_writes_nothing(flags, message, capsys):
    plant_csv()
    labels_csv()
    labels_csv("one.csv", names=("low",) * 3)
    labels_csv("other.csv", names=("low", "mid", "none"))
    Path("words.csv").write_text("a,b\nhot,1\nmild,2\n")
    Path("short.csv").write_text("a,y\n1,2\n2,3\n3,4\n")
    before = set(os.listdir())
    assert main(["fit", *flags.split(), "--out", "m.npz"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert set(os.listdir()) - {"__pycache__"} == before


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("", "required"),
        ("fti", "invalid choice: 'fti'"),
        ("fit plant.csv --target force", "--out"),
        ("fit plant.csv --target force --out nowhere/m.npz", "there is no folder 'nowhere'"),
        ("fit plant.csv --target force --out .", "it is a folder, not a regular file"),
        ("info none.npz", "none.npz does not exist"),
        ("info plant.csv", "plant.csv can't be read as .npz"),
        ("predict m.npz none.csv", "can't read 'none.csv': there is no such file"),
        ("predict m.npz labels.csv", "column 'speed' must be in labels.csv"),
        ("predict m.npz plant.csv --out nowhere/p.csv", "there is no folder 'nowhere'"),
        ("evaluate m.npz labels.csv --target grade", "column 'speed' must be in labels.csv"),
        ("evaluate m.npz plant.csv --target force,heat", "one column per output (1), not 2"),
        ("evaluate m.npz", "this model file has no test rows"),
        ("evaluate m.npz plant.csv --mechanism json:dumps", "mechanism must be None for a model"),
    ],
)
def test_other_bad_requests(argv, message, capsys):
    labels_csv()
    fitted("-q", "--no-eval-rows")
    assert main(argv.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_labels_that_the_model_does_not_know(capsys):
    fitted("-q", data=labels_csv(), target="grade")
    labels_csv("other.csv", names=("low", "mid", "higher"))
    assert main(["evaluate", "m.npz", "other.csv"]) == 2
    assert "not 'higher'; did you mean 'high'?" in capsys.readouterr().err


def test_an_interrupt_leaves_nothing_behind(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(estimators.SCMRegressor, "fit", interrupt)
    assert main(["fit", plant_csv(), "--target", "force", "--out", "m.npz"]) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"
    assert os.listdir() == ["plant.csv"]


def test_an_interrupt_keeps_the_trials_that_were_finished(monkeypatch, capsys):
    command = ["fit", plant_csv(), "--target", "force", "--max-nodes", "3", "-q"]
    assert main([*command, "--trials", "2", "--out", "two.npz"]) == 0
    fit, seeds = estimators.SCMRegressor.fit, []

    def interrupted(self, X, y):
        seeds.append(self.random_state)
        if len(seeds) == 3:
            raise KeyboardInterrupt
        return fit(self, X, y)

    monkeypatch.setattr(estimators.SCMRegressor, "fit", interrupted)
    assert main([*command, "--trials", "5", "--out", "five.npz"]) == 130
    kept = "2 of 5 trials were finished, and the best of them was written"
    assert capsys.readouterr().err == f"interrupted: {kept}\n"
    assert Path("five.npz").read_bytes() == Path("two.npz").read_bytes()


def test_a_reader_that_goes_away_is_no_error():
    # Without codes nothing is clipped, and no warning stands beside the numbers.
    fitted("-q", "--encoder", "none", "--input-bits", "none", "--activation", "tanh")
    plant_csv("long.csv", n=50_000)
    command = f"{sys.executable} -m scm_train predict m.npz long.csv"
    ran = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert ran.stdout == "force\n"
    assert ran.stderr == ""
    assert ran.returncode == 141
