"""`design` as a user runs it: from a table to a build within its limits, or one line."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from scm_hw.__main__ import main
from scm_train import model_file
from tests.explore.searches import labels_csv, plant_csv
from tests.hw.commands import contents
from tests.train.sequences_data import plant

COMMON = ("--jobs", "1", "--no-sim", "-q")


@pytest.fixture(scope="module")
def designed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, and what `design` made of it."""
    folder = tmp_path_factory.mktemp("design")
    data = plant_csv(folder / "plant.csv", rows=300)
    limits = ("--luts", "120", "--latency", "40ns")
    assert design(folder, data, "--target", "force", *limits) == 0
    return folder


def design(folder: Path, data: Path, *words: str) -> int:
    places = ("--model", str(folder / "model.npz"), "--out", str(folder / "build"))
    return main(["design", str(data), *words, *COMMON, *places])


def test_a_design_is_within_its_limits_and_whole(designed: Path) -> None:
    report = json.loads((designed / "build" / "report.json").read_text())
    assert report["board"] == "arty-a7" and report["name"] == "plant"
    assert 80 <= max(report["resources"][key] for key in ("lut", "lut_sites")) <= 120
    assert report["resources"]["source"].startswith("yosys")
    assert report["latency_ns"] <= 40
    assert (designed / "build" / "report.html").exists()
    machine = model_file.load(designed / "model.npz")
    assert machine.info["name"] == "plant" and machine.targets == ("force",)
    assert machine.evaluation is not None and len(machine.evaluation.inputs) == 75
    assert report["rmse_pc"] == pytest.approx(machine.info["scores"]["test_rmse"], rel=1e-9)
    assert report["rmse_hw"] < 0.2


def test_the_model_file_builds_to_the_same_design(designed: Path, tmp_path: Path) -> None:
    """`fit` and `build` are the same steps: the build of the file has the same core."""
    words = ["build", str(designed / "model.npz"), "--latency", "4", "--no-sim", "-q"]
    assert main([*words, "--name", "plant", "--out", str(tmp_path / "again")]) == 0
    assert contents(tmp_path / "again") == contents(designed / "build")


def test_what_can_not_be_had_leaves_everything_as_it_was(
    designed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(designed)
    assert design(designed, designed / "plant.csv", "--target", "force", "--luts", "3") == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1
    assert said.err.startswith("error: can't reach within 3 LUT: the nearest design has RMSE ")
    assert "; ask for --luts " in said.err
    assert contents(designed) == before


def test_a_model_of_another_table_is_kept(
    designed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(designed / "model.npz", tmp_path / "model.npz")
    before = contents(tmp_path)
    other = plant_csv(tmp_path / "other.csv")
    assert design(tmp_path, other, "--target", "force", "--luts", "100") == 2
    assert "it exists and is not a model of this table" in capsys.readouterr().err
    assert contents(tmp_path) == before | {"other.csv": other.read_bytes()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", "force", "--accuracy", "0.9"), "for targets that are numbers give --rmse"),
        (("--target", "force", "--latency", "3ns"), "--latency must be at least one cycle"),
        (("--target", "force", "--latency", "soon"), "must be a time such as 30ns or 0.2us"),
        (("--target", "force", "--rmse", "-1"), "must be positive numbers, not '-1'"),
        (("--target", "force", "--accuracy", "120%"), "must be a share of right classes"),
        (("--target", "force", "--rmse", "1", "--accuracy", "1"), "must not both be given"),
        (("--target", "power", "--luts", "100"), "power"),
        (("--target", "force", "--board", "arty"), "arty"),
        (("--target", "force", "--model", "nowhere/model.npz"), "there is no folder 'nowhere'"),
        (("--luts", "100"), "--target must name the column to learn"),
    ],
)
def test_bad_arguments_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    data = plant_csv(tmp_path / "plant.csv")
    out = () if "--model" in words else ("--model", str(tmp_path / "model.npz"))
    assert main(["design", str(data), *words, *out, "--out", str(tmp_path / "build"), "-q"]) == 2
    said = capsys.readouterr()
    assert message in said.err and len(said.err.splitlines()) == 1
    assert {p.name for p in tmp_path.iterdir()} == {"plant.csv"}


def test_an_interrupt_leaves_what_was_there(designed: Path) -> None:
    before = contents(designed)
    words = ["design", "plant.csv", "--target", "force", "--luts", "1500", "--no-sim"]
    places = ["--model", "model.npz", "--out", "build"]
    process = subprocess.Popen(
        [sys.executable, "-m", "scm_hw", *words, *places],
        cwd=designed,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # The search is on once it has workers.
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not children.read_text() and process.poll() is None:
        time.sleep(0.1)
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == "" and err.splitlines()[-1] == (
        "interrupted: nothing was written, earlier outputs are untouched"
    )
    assert contents(designed) == before


@pytest.mark.long
def test_a_handful_of_designs_for_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = labels_csv(tmp_path / "grades.csv")
    places = ("--model", str(tmp_path / "model.npz"), "--out", str(tmp_path / "build"))
    assert main(["design", str(data), "--target", "grade", *COMMON, "--json", *places]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 2 <= len(found["designs"]) <= 5
    assert all(0.8 < one["accuracy"] <= 1 for one in found["designs"])
    assert found["report"]["accuracy_hw"] == found["built"]["accuracy"]
    used = found["report"]["resources"]
    assert max(used["lut"], used["lut_sites"]) == found["built"]["lut"]


@pytest.mark.long
def test_the_smallest_design_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that a small design has takes far fewer LUTs than the default budget."""
    data = plant_csv(tmp_path / "plant.csv", rows=600)
    y = np.loadtxt(data, delimiter=",", skiprows=1)[:, -1]
    places = ("--model", str(tmp_path / "model.npz"), "--out", str(tmp_path / "build"))
    words = ("--target", "force", "--rmse", f"{0.2 * y.std():.4f}", "--json")
    assert main(["design", str(data), *words, *COMMON, *places]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["built"]["lut"] < 1000
    smaller = [one for one in found["designs"] if one["lut"] < 0.8 * found["built"]["lut"]]
    assert all(one["rmse"][0] > 0.2 * y.std() for one in smaller)


@pytest.mark.long
@pytest.mark.parametrize("feedback", [(), ("--feedback", "y:1..2")])
def test_a_machine_with_memory(
    tmp_path: Path, feedback: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    X, y, groups = plant(records=6, rows=60, dynamic=bool(feedback))
    table = tmp_path / "records.csv"
    lines = [f"{g},{a:.5f},{b:.5f},{t:.5f}" for g, (a, b), t in zip(groups, X, y, strict=True)]
    table.write_text("\n".join(["run,u,v,y", *lines]))
    words = ("--target", "y", "--groups", "run", "--lags", "u:0..2,v:0", "--luts", "300")
    assert design(tmp_path, table, *words, *feedback, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert 0 < said["built"]["lut"] <= 300
    machine = model_file.load(tmp_path / "model.npz")
    assert machine.memory is not None and machine.memory.feedback == bool(feedback)
    # One of the six records tests it, whose first two rows have no full history.
    assert said["report"]["rows"] == len(machine.evaluation) - 2 == 58
    assert said["built"]["rmse"] == [said["report"]["rmse_units"]["y"]["hw"]]
    assert design(tmp_path, table, *words, "--split", "random") == 2
    assert "--split must be left out with --lags" in capsys.readouterr().err
