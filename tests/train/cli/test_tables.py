"""Tables as they are, from the command line: what is guessed is told, and rows are split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_train import model_file
from scm_train.__main__ import main

SMALL = ("--luts", "150", "--out", "m.npz", "--force")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def plant(rows=120, path="plant.csv"):
    """A logger's file: comments, semicolons, decimal commas, units, dates, labels, gaps."""
    random = np.random.default_rng(0)
    lines = ["# logger 7", "when;nr;grade;heat;on;force", ";;;°C;;kN"]
    for i in range(rows):
        grade, heat, on = random.choice(["fine", "coarse"]), random.normal(), random.random() < 0.5
        force = heat + 2 * (grade == "fine") - on
        shown = "" if i % 9 == 4 else f"{heat:.4f}".replace(".", ",")
        day = f"{1 + i // 24:02}.03.2024 {i % 24:02}:00"
        lines.append(f"{day};{i};{grade};{shown};{on};{f'{force:.4f}'.replace('.', ',')}")
    Path(path).write_bytes("\n".join(lines).encode("latin-1"))
    return path


def test_a_loggers_file_is_learned_untouched(capsys):
    assert main(["fit", plant(), "--target", "force", *SMALL]) == 0
    told = capsys.readouterr()
    assert "features         grade=coarse, grade=fine, heat, on" in told.out
    for line in (
        "note: plant.csv: read with decimal comma (--decimal)",
        "note: plant.csv: read with encoding latin-1 (--encoding)",
        (
            "note: plant.csv: the second line is taken as units and passed over: ';;;°C;;kN' "
            "(--no-units-row takes it as data)"
        ),
        "note: column 'when' holds dates and is left out (--features takes it)",
        "note: column 'nr' is a running number and is left out (--features takes it)",
        (
            "warning: column 'when' rises from row to row: rows seem to be in the order of time, "
            "and test rows at random are neighbours of training rows; --split chronological tests "
            "on the last ones"
        ),
    ):
        assert line in told.err.splitlines()
    machine = model_file.load("m.npz")
    assert machine.signals == ("grade", "heat", "on")
    assert main(["evaluate", "m.npz"]) == 0
    assert main(["evaluate", "m.npz", "plant.csv"]) == 0
    capsys.readouterr()
    assert main(["predict", "m.npz", "plant.csv", "--json"]) == 0
    assert main(["info", "m.npz"]) == 0
    told = capsys.readouterr().out
    assert '"force"' in told


def test_rows_to_predict_may_have_what_training_had_not(capsys):
    assert main(["fit", plant(), "--target", "force", *SMALL, "-q"]) == 0
    Path("more.csv").write_text("on,heat,grade\nTRUE,,new\nfalse,0.5,fine\n")
    assert main(["predict", "m.npz", "more.csv"]) == 0
    told = capsys.readouterr().err
    assert (
        "warning: column 'grade': 1 of 2 rows have a label that training rarely or never had, such "
        "as 'new'; all such labels count as one"
    ) in told
    Path("more.csv").write_text("on,heat,grade\nmaybe,1,new\n")
    assert main(["predict", "m.npz", "more.csv"]) == 2
    assert capsys.readouterr().err == (
        "error: column 'on' must be one of 'False', 'True', not 'maybe' as in row 1; "
        "correct the rows\n"
    )


def test_median_and_categories_of_numbers():
    random = np.random.default_rng(1)
    lines = ["batch,heat,y"]
    for i in range(150):
        batch, heat = random.integers(1, 5), random.normal()
        lines.append(f"{batch},{'NA' if i % 7 == 0 else heat},{(batch == 2) * 3 + heat}")
    Path("d.csv").write_text("\n".join(lines))
    flags = ["--categories", "batch", "--missing", "median"]
    assert main(["fit", "d.csv", "--target", "y", *SMALL, *flags, "-q"]) == 0
    machine = model_file.load("m.npz")
    assert machine.features[-2:] == ("heat", "heat missing")
    assert machine.features[:4] == ("batch=1", "batch=2", "batch=3", "batch=4")
    assert machine.info["settings"]["categories"] == ["batch"]


def test_the_last_rows_by_time_are_held_out():
    path = plant()
    lines = Path(path).read_bytes().split(b"\n")
    mixed = np.random.default_rng(0).permutation(len(lines) - 3)
    Path(path).write_bytes(b"\n".join([*lines[:3], *(lines[3 + i] for i in mixed)]))
    assert main(["fit", path, "--target", "force", "--split", "chronological", *SMALL, "-q"]) == 0
    machine = model_file.load("m.npz")
    assert machine.info["data"]["split"] == "chronological"
    by_time = np.argsort(mixed)[-30:]
    Path("last.csv").write_bytes(b"\n".join([*lines[:3], *lines[-30:]]))
    assert main(["predict", "m.npz", "last.csv", "--out", "p.csv"]) == 0
    last = np.loadtxt("p.csv", skiprows=1)
    found = machine.predict(machine.evaluation.inputs)[:, 0]
    assert_array_equal(np.sort(found), np.sort(last))
    assert len(by_time) == len(machine.evaluation)
    flags = ["--split", "chronological", "--time", "nr"]
    assert main(["fit", path, "--target", "force", *flags, *SMALL, "-q"]) == 0
    again = model_file.load("m.npz")
    assert_array_equal(again.evaluation.targets, machine.evaluation.targets)


def test_whole_groups_are_held_out():
    random = np.random.default_rng(0)
    batch = np.repeat(np.arange(12), 15)
    heat = random.normal(size=180)
    lines = [f"b{b},{h},{h * 2 + b}" for b, h in zip(batch, heat, strict=True)]
    Path("d.csv").write_text("\n".join(["batch,heat,y", *lines]))
    assert main(["fit", "d.csv", "--target", "y", "--split", "groups:batch", *SMALL, "-q"]) == 0
    machine = model_file.load("m.npz")
    assert machine.features == ("heat",)
    held = {
        round(y - 2 * h)
        for (h,), (y,) in zip(
            machine.evaluation.inputs.tolist(), machine.evaluation.targets.tolist(), strict=True
        )
    }
    assert len(machine.evaluation) == 15 * len(held) == 45
    named = ["--split", "groups:batch", "--test-groups", "b3,b7"]
    assert main(["fit", "d.csv", "--target", "y", *named, *SMALL, "-q"]) == 0
    rows = model_file.load("m.npz").evaluation
    found = np.round(rows.targets[:, 0] - 2 * rows.inputs[:, 0])
    assert sorted(set(found.tolist())) == [3, 7] and len(found) == 30


def test_a_target_of_few_whole_numbers_is_told(capsys):
    random = np.random.default_rng(0)
    lines = [f"{x},{int(x > 0) + int(x > 1)}" for x in random.normal(size=60)]
    Path("d.csv").write_text("\n".join(["x,grade", *lines]))
    assert main(["fit", "d.csv", "--target", "grade", *SMALL]) == 0
    assert (
        "note: target 'grade' has 3 different whole numbers and was taken as numbers "
        "(--task classification changes it)"
    ) in capsys.readouterr().err
    assert main(["fit", "d.csv", "--target", "grade", "--task", "classification", *SMALL]) == 0
    assert "was taken as classes (--task regression changes it)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--split sideways", "--split must be random, chronological or groups:COLUMN"),
        ("--split chronological:nr", "--split must be random, chronological or groups:COLUMN"),
        ("--split groups", "--split groups must name a column, as in groups:batch"),
        ("--split groups:batsch", "column 'batsch' must be in plant.csv"),
        ("--time when", "--time must be given with --split chronological alone"),
        (
            "--split chronological --time grade",
            "column 'grade' must be a date or time in every row",
        ),
        ("--split groups:grade --test plant.csv", "--split and --test must not both be given"),
        ("--test-groups a", "--test-groups must be given with --split groups:COLUMN alone"),
        (
            "--split groups:grade --test-groups z",
            "--test-groups must be groups of --split, not 'z'",
        ),
        (
            "--split groups:grade --test-groups fine,coarse",
            "--test-groups must leave a group to train on",
        ),
        (
            "--split groups:grade --test-groups fine --test-fraction 0.2",
            "--test-groups and --test-fraction must not both be given",
        ),
        ("--categories grad", "column 'grad' must be in plant.csv; did you mean 'grade'?"),
        ("--missing mean", "argument --missing: must be one of code, median"),
        ("--decimal x", "--decimal must be . or ,, not 'x'"),
        ("--features when --drop nr", "column 'when' must have values that occur again"),
    ],
)
def test_mistakes_are_one_line(flags, message, capsys):
    assert main(["fit", plant(), "--target", "force", *SMALL, "-q", *flags.split()]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not Path("m.npz").exists()
