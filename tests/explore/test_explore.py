"""The search as a user runs it: found, stopped, gone on with, repeated, and honest."""

from __future__ import annotations

import base64
import csv
import hashlib
import itertools
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_explore import evaluate
from scm_explore.evaluate import Outcome
from scm_explore.explore import Limits, explore, synthesise_front
from scm_explore.journal import FILE, open_journal
from scm_explore.parts import bounded
from scm_explore.pools import LocalPool
from scm_explore.results import write_results
from scm_explore.run import split_rows
from scm_explore.space import Space
from scm_hw.__main__ import main
from scm_hw.design import Design
from scm_hw.errors import FitError
from scm_model.schema import MAX_EVALUATION_ROWS
from scm_train import model_file
from tests.explore.searches import (
    QUICK,
    arguments,
    front_of,
    journal_lines,
    labels_csv,
    plant_csv,
    points_of,
)
from tests.hw.commands import command, contents
from tests.pages import parsed

# More than a batch, so that one follows from another, and enough to be interrupted amid.
POINTS = "19"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The search that others are compared with, by one process, in the order of its points."""
    folder = tmp_path_factory.mktemp("search")
    data = plant_csv(folder / "plant.csv")
    words = ["explore", data, "--target", "force", "--points", POINTS, *QUICK, "--jobs", "1"]
    assert main([*map(str, words), "--out", str(folder / "out")]) == 0
    return folder


def test_the_front_is_written(searched: Path) -> None:
    folder = searched / "out" / "front"
    result = front_of(searched / "out")
    assert result["points"] == int(POINTS) and result["front"]
    names = {row["model"] for row in result["front"]}
    assert {p.name for p in folder.iterdir()} == names | {"front.json", "front.csv", "front.html"}
    with (folder / "front.csv").open() as file:
        lines = list(csv.DictReader(file))
    for line, row in zip(lines, result["front"], strict=True):
        assert float(line["held_out_rmse"]) == row["held_out_rmse"]
        assert line["encoder"] == row["design"]["encoder"]
        assert row["lut_source"] == "estimate"
    errors = [row["held_out_rmse"] for row in result["front"]]
    assert errors == sorted(errors)


def test_the_page_is_complete_in_itself(searched: Path) -> None:
    folder = searched / "out" / "front"
    root = parsed((folder / "front.html").read_text(encoding="utf-8"))
    files = {str(a.attributes["href"]) for a in root.all("a")}
    linked = {name for name in files if not name.startswith("#")}
    assert linked == {p.name for p in folder.iterdir()} - {"front.html"}
    assert not root.all("img", "iframe")
    data, script = root.all("script")
    assert data.attributes["type"] == "application/json" and "src" not in script.attributes
    digest = base64.b64encode(hashlib.sha256(script.text().encode()).digest()).decode()
    (policy,) = [m for m in root.all("meta") if "http-equiv" in m.attributes]
    assert str(policy.attributes["content"]).endswith(f"; script-src 'sha256-{digest}'")
    designs = json.loads(data.text())["designs"]
    commands = {one["design"]: one["build"] for one in designs if one["build"]}
    front = front_of(searched / "out")["front"]
    assert commands == {f"p{row['point']:04d}": row["build"] for row in front}
    (table,) = [t for t in root.all("table") if "most accurate first" in t.text()]
    shown = [[cell.text() for cell in row.children] for row in table.all("tr")[1:]]
    wanted = [
        [f"p{r['point']:04d}", f"{r['held_out_rmse']:.6f}", f"{r['test_rmse']:.6f}"]
        for r in front_of(searched / "out")["front"]
    ]
    assert [row[:3] for row in shown] == wanted
    assert len([s for s in root.all("svg") if s.attributes.get("role") == "img"]) == 2


def test_stopped_and_killed_it_goes_on_to_find_the_same(searched: Path) -> None:
    """Two processes until Ctrl-C, one until kill -9, which leaves half a line, and two again."""
    out = searched / "stopped"
    words = ["explore", searched / "plant.csv", "--target", "force", *QUICK, "--points", POINTS]
    words += ["--out", out]
    two, one = ([*words, "--jobs", jobs] for jobs in ("2", "1"))
    stopped = _started(out, 9, *two)
    stopped.send_signal(signal.SIGINT)
    stdout, stderr = stopped.communicate(timeout=60)
    kept = len(points_of(out))
    assert 8 <= kept < int(POINTS) - 2
    line = f"interrupted: {kept} finished designs are saved in {out}; continue with --resume\n"
    assert (stopped.returncode, stdout, stderr) == (130, "", line)
    with _started(out, _lines(out) + 1, *one, "--resume") as killed:
        killed.kill()
    assert killed.returncode == -signal.SIGKILL and _lines(out) <= int(POINTS)
    with (out / FILE).open("ab") as journal:
        journal.write(b'{"point": 3, "held')
    done = subprocess.run(
        command(*two, "--resume"), capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert points_of(out) == points_of(searched / "out")
    assert contents(out / "front") == contents(searched / "out" / "front")


def _started(out: Path, lines: int, *words: object) -> subprocess.Popen[str]:
    """A search that has so many lines in its journal."""
    process = subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and _lines(out) < lines:
        time.sleep(0.02)
    return process


def _lines(folder: Path) -> int:
    path = folder / FILE
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_finished_search_goes_on_to_more_points(searched: Path, tmp_path: Path) -> None:
    words = ["explore", str(searched / "plant.csv"), "--target", "force", *QUICK, "--jobs", "1"]
    words += ["--out", str(tmp_path / "out")]
    assert main([*words, "--points", "2"]) == 0
    assert main([*words, "--points", "5", "--resume"]) == 0
    first = {n: p for n, p in points_of(searched / "out").items() if n < 5}
    assert points_of(tmp_path / "out") == first


def test_test_rows_have_no_part_in_any_choice(searched: Path, tmp_path: Path) -> None:
    """With other targets in the test rows, all is found as before but the score on them."""
    rows = split_rows(arguments(searched / "plant.csv", "--target", "force"))
    lines = (searched / "plant.csv").read_text().splitlines()
    for row in rows.test:
        fields = lines[row + 1].split(",")
        lines[row + 1] = ",".join([*fields[:-1], "7.5"])
    changed = tmp_path / "plant.csv"
    changed.write_text("\n".join(lines) + "\n")
    words = ["explore", changed, "--target", "force", "--points", POINTS, *QUICK, "--jobs", "1"]
    assert main([*map(str, words), "--out", str(tmp_path / "out")]) == 0
    assert points_of(tmp_path / "out") == points_of(searched / "out")
    pairs = zip(
        front_of(tmp_path / "out")["front"], front_of(searched / "out")["front"], strict=True
    )
    for new, old in pairs:
        assert new["held_out_rmse"] == old["held_out_rmse"]
        assert new["test_rmse"] != old["test_rmse"]


def test_the_three_parts_of_the_rows_are_apart(searched: Path) -> None:
    rows = split_rows(arguments(searched / "plant.csv", "--target", "force"))
    parts = [set(map(int, part)) for part in (rows.train, rows.held_out, rows.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 120
    task = rows.task("arty-a7", 0)
    assert len(task.x) == len(parts[0]) and len(task.held_x) == len(parts[1])


def test_a_design_of_the_front_builds_to_what_the_table_says(
    searched: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Synthesis included: the smallest design, on a front of its own."""
    args = arguments(searched / "plant.csv", "--target", "force", "--max-nodes", "5")
    rows = split_rows(args)
    about = front_of(searched / "out")
    about = {
        k: about[k] for k in ("name", "board", "part", "score", "data", "rows", "seed", "mechanism")
    }
    journal = open_journal(tmp_path / "out", about, resume=False)
    told: list[str] = []
    explore(
        rows.task("arty-a7", 0),
        Space(3, 5),
        Limits(points=1),
        journal,
        LocalPool(1),
        lambda step, done, total: told.append(f"{step} {done}/{total}"),
    )
    (row,) = write_results(journal, about | {"max_nodes": 5}, rows.tested())["front"]
    journal.close()
    assert told[-1] == "synthesising the front 1/1"
    assert row["lut_source"] == "yosys"
    monkeypatch.chdir(tmp_path / "out" / "front")
    words = shlex.split(row["build"])
    assert words[:3] == ["python", "-m", "scm_hw"]
    assert main([*words[3:], "--no-sim", "--json", "--out", str(tmp_path / "built")]) == 0
    report = json.loads(capsys.readouterr().out)
    used = report["resources"]
    assert used["lut_sites"] == row["lut"]
    assert used["estimate"]["lut"] == row["lut_estimate"]
    assert report["latency_cycles"] == row["latency_cycles"]
    assert report["rmse_hw"] == row["test_rmse"]
    assert report["name"] == "plant_p0000"


def test_classifiers_are_chosen_by_accuracy(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    words = ["explore", labels_csv(tmp_path / "grades.csv"), "--target", "grade", "--points", "5"]
    words += [*QUICK, "--jobs", "1", "--json", "--out", tmp_path / "out"]
    assert main([str(word) for word in words]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result == front_of(tmp_path / "out")
    assert result["score"] == "accuracy"
    scores = [row["held_out_accuracy"] for row in result["front"]]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0.8
    assert all(0 <= row["test_accuracy"] <= 1 for row in result["front"])


@pytest.fixture
def physics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A mechanism beside its data, and the words that ask for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "physics", raising=False)
    Path("physics.py").write_text("def pull(X):\n    return X[:, 0] ** 2\n")
    words = [plant_csv(Path("plant.csv")), "--target", "force", *QUICK]
    return ["explore", *map(str, words), "--mechanism", "physics:pull"]


def test_a_mechanism_is_tried_in_hardware_and_left_out(physics: list[str]) -> None:
    words = [*physics, "--mechanism-inputs", "speed", "--points", "12", "--jobs", "2"]
    assert main([*words, "--out", "out"]) == 0
    found = points_of(Path("out"))
    kinds = {number: point["design"]["mechanism"] for number, point in found.items()}
    assert kinds[0] == "polynomial" and set(kinds.values()) == {"none", "polynomial", "table"}
    for number, kind in kinds.items():
        if "error" not in found[number]["found"]:
            machine = model_file.load(Path("out", "models", f"p{number:04d}.npz"))
            assert machine.mechanism.kind == kind
    # Who knows the square errs less than nodes, which can only come near to it.
    errors = {
        kind: [
            point["found"]["error_held"]
            for number, point in found.items()
            if (kinds[number] == "none") == (kind == "alone") and "error" not in point["found"]
            if kind == "mechanism" or point["design"]["luts"] is None
        ]
        for kind in ("mechanism", "alone")
    }
    assert min(errors["mechanism"]) < min(errors["alone"])


def test_a_mechanism_outside_is_in_every_design(physics: list[str], capsys) -> None:
    words = [*physics, "--mechanism-kind", "external", "--out", "out", "--jobs", "1"]
    assert main([*words, "--points", "3"]) == 0
    kinds = {point["design"]["mechanism"] for point in points_of(Path("out")).values()}
    assert kinds == {"external"}
    row = front_of(Path("out"))["front"][0]
    capsys.readouterr()
    build = [*shlex.split(row["build"])[4:], "--no-sim", "--no-synth", "--json"]
    assert main(["build", f"out/front/{row['model']}", *build[1:], "--out", "built"]) == 0
    assert json.loads(capsys.readouterr().out)["rmse_hw"] == row["test_rmse"]
    assert main([*words[: words.index("--mechanism")], "--out", "out", "--resume"]) == 2
    assert (
        "can't resume the search in out with --mechanism none: it began with physics:pull as"
        in capsys.readouterr().err
    )


def test_a_budget_ends_the_search(searched: Path, tmp_path: Path) -> None:
    words = ["explore", str(searched / "plant.csv"), "--target", "force", *QUICK, "--jobs", "1"]
    assert main([*words, "--budget", "1s", "--out", str(tmp_path / "out")]) == 0
    assert len(points_of(tmp_path / "out")) > 0
    assert front_of(tmp_path / "out")["front"]


def test_points_that_cannot_be_built_are_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = evaluate.compile_point, itertools.count()

    def sometimes(*args: Any) -> Design:
        if next(calls) % 3 == 0:
            raise FitError("design must fit the device")
        return real(*args)

    monkeypatch.setattr(evaluate, "compile_point", sometimes)
    data = plant_csv(tmp_path / "plant.csv")
    words = ["explore", data, "--target", "force", "--points", "6", *QUICK, "--jobs", "1"]
    assert main([*map(str, words), "--out", str(tmp_path / "out")]) == 0
    found = points_of(tmp_path / "out")
    failed = {n for n, p in found.items() if "error" in p["found"]}
    assert len(failed) == 2
    assert not failed & {row["point"] for row in front_of(tmp_path / "out")["front"]}
    assert front_of(tmp_path / "out")["buildable"] == len(found) - len(failed)


BAD = {
    "no data": ([], "rows must come from a data file or --dataset, and not both"),
    "no target": (["plant.csv"], "--target must name the column to learn"),
    "no file": (["none.csv", "--target", "y"], "none.csv"),
    "bad column": (["plant.csv", "--target", "y"], "column 'y' must be in plant.csv"),
    "bad board": (["plant.csv", "--target", "force", "--board", "arty"], "board must be one of"),
    "bad budget": (["plant.csv", "--target", "force", "--budget", "soon"], "must be a time such"),
    "no budget": (["plant.csv", "--target", "force", "--budget", "0"], "must be a time such"),
    "bad points": (
        ["plant.csv", "--target", "force", "--points", "0"],
        "whole number of at least 1",
    ),
    "bad seed": (["plant.csv", "--target", "force", "--seed", "-1"], "2\\*\\*32"),
    "bad mechanism": (["plant.csv", "--target", "force", "--mechanism", "x"], "module:function"),
    "no inputs": (
        ["plant.csv", "--target", "force", "--mechanism", "math:sin", "--mechanism-kind", "table"],
        "--mechanism-inputs must name one to three features",
    ),
    "few rows": (["few.csv", "--target", "force"], "must be at least 5 each"),
    "nothing there": (["plant.csv", "--target", "force", "--resume"], "can't resume in "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plant_csv(tmp_path / "plant.csv")
    plant_csv(tmp_path / "few.csv", rows=14)
    before = contents(tmp_path)
    words, message = BAD[case]
    assert main(["explore", *words, "--out", "out"]) == 2
    streams = capsys.readouterr()
    assert re.fullmatch(rf"error: .*{message}.*\n", streams.err) and not streams.out
    assert contents(tmp_path) == before


def test_another_seed_finds_other_designs(searched: Path, tmp_path: Path) -> None:
    words = ["explore", str(searched / "plant.csv"), "--target", "force", *QUICK, "--jobs", "1"]
    words += ["--points", "3", "--seed", "1", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert points_of(tmp_path / "out")[1] != points_of(searched / "out")[1]
    assert journal_lines(tmp_path / "out")[0]["seed"] == 1


def test_large_parts_are_thinned_to_what_a_model_file_carries() -> None:
    for count in (10, MAX_EVALUATION_ROWS, MAX_EVALUATION_ROWS + 1, 10**5):
        kept = bounded(np.arange(count))
        assert min(count, MAX_EVALUATION_ROWS // 2) <= len(kept) <= MAX_EVALUATION_ROWS


class Synthesis:
    """A pool whose synthesis finds other LUTs than the estimates have."""

    def __init__(self, luts: dict[int, int]) -> None:
        self.luts = luts
        self.done: list[int] = []

    def run(self, work: Any, common: Any, jobs: Any, until: float | None = None) -> Any:
        for number in jobs:
            self.done.append(number)
            yield number, Outcome({"lut": self.luts[number]})


def test_the_front_is_that_of_synthesised_figures(tmp_path: Path) -> None:
    """The estimates put a design on the front that is none, and leave one out that is."""
    journal = open_journal(tmp_path / "out", {"name": "plant"}, resume=False)
    point = Space(3, 5).default()
    for number, (error, lut) in enumerate([(0.1, 100), (0.1, 110), (0.5, 90), (0.6, 200)]):
        facts = {"error_held": error, "lut": lut, "latency_ns": 20.0, "nodes": (5,)}
        journal.add_point(number, point, Outcome(facts, b"model"))
    assert journal.front() == [0, 2]
    pool: Any = Synthesis({0: 180, 1: 80, 2: 95, 3: 0})
    synthesise_front("arty-a7", journal, pool, lambda *_: None)
    assert journal.front() == [1]
    # What can't be on the front costs no synthesis.
    assert pool.done == [0, 2, 1]
    journal.close()
