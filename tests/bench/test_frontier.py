"""The front: no trial twice, what a machine needs beside its score, and a figure."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import frontier, frontier_learners, tables
from bench.frontier_learners import OURS, TREES, Job, jobs_of
from bench.frontier_report import rows_of, write
from bench.paper_journal import Journal
from bench.tables import Table


@pytest.fixture
def small(monkeypatch):
    """A table of two inputs under the name of another."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 2))
    table = Table("boston", X, np.sin(6 * X[:, 0]) + X[:, 1], "regression")
    monkeypatch.setattr(tables, "load", lambda name: table)
    return table


def run(tmp_path, *arguments):
    out = tmp_path / "front"
    options = ["--quick", "--jobs", "1", "--journal", tmp_path / "j.jsonl", "--out", out]
    frontier.main([*map(str, options), *arguments])
    return json.loads(out.with_suffix(".json").read_text())["rows"]


def design(lut=250, test=0.5):
    return {
        "lut": lut, "test": test, "seconds": 1.0, "trees": 9, "depth": 2, "rate": 0.3,
        "feature_bits": 6, "leaf_bits": 4, "dsp": 0,
    }  # fmt: skip


def trees_found(**budgets):
    built = [{"lut": 100, "estimate": 110}]
    return {"budgets": budgets, "search_seconds": 2.0, "built": built}


def test_a_run_from_end_to_end_and_once_only(tmp_path, small, monkeypatch):
    options = ["--tables", "boston", "--budgets", "60", "--learners", TREES, "histogram boosting"]
    first = run(tmp_path, *options)
    trees, ceiling = first
    assert trees["learner"] == TREES
    assert 0 < trees["lut"] <= 60
    assert trees["score"]["mean"] < 1
    assert ceiling["score"]["mean"] < 1
    monkeypatch.setattr(frontier, "run_trial", None)
    assert run(tmp_path, *options) == first


def test_ours_is_trained_compiled_and_scored_in_integers(small, monkeypatch):
    rows = tables.split(small, 0)
    found = frontier_learners._ours(Job("boston", OURS, (300,)), small, rows, 0)
    assert found["dsp"] == found["bram"] == 0
    assert 0 < found["lut"] <= 300
    assert found["test"] < 0.6


def test_one_machine_for_each_budget_and_one_search_of_trees():
    jobs = jobs_of("boston", [OURS, TREES], [300, 1000], "coarse")
    assert [job.budgets for job in jobs] == [(300,), (1000,), (300, 1000)]


def test_no_trial_begins_after_the_end(tmp_path, small, monkeypatch, capsys):
    """What is left is done by the next run."""
    begun = []
    minutes = iter([0.0, 30.0, 90.0, 200.0])
    monkeypatch.setattr(frontier, "monotonic", lambda: 60 * next(minutes))

    def trial(job, number):
        begun.append(job.learner)
        return {"test": 0.5, "seconds": 1.0}

    monkeypatch.setattr(frontier, "run_trial", trial)
    options = ["--tables", "boston", "--splits", "3", "--learners", "histogram boosting"]
    (row,) = run(tmp_path, *options, "--minutes", "100")
    assert row["splits"] == len(begun) == 2
    assert "2 trials run, 1 left for the next run" in capsys.readouterr().out


def test_small_tables_come_first(tmp_path, small, monkeypatch):
    sizes = {"boston": 30, "concrete": 10, "abalone": 20}

    def load(name):
        return Table(name, np.zeros((sizes[name], 1)), np.zeros(sizes[name]), "regression")

    done = []

    def trial(job, number):
        done.append(job.table)
        return {"test": 0.5, "seconds": 1.0}

    monkeypatch.setattr(tables, "load", load)
    monkeypatch.setattr(frontier, "run_trial", trial)
    run(tmp_path, "--tables", *sizes, "--learners", "histogram boosting")
    assert done == ["concrete", "abalone", "boston"]


def test_a_budget_without_a_design_has_no_score(tmp_path, small):
    job = Job("boston", TREES, (20, 300))
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(job, 0, trees_found(**{"20": None, "300": design()}))
    journal.add(job, 1, trees_found(**{"20": design(19), "300": design(270, 0.7)}))
    least, most = rows_of([job], 5, journal)
    assert least["score"] is None
    assert most["score"]["mean"] == pytest.approx(0.6)
    assert most["lut"] == 260
    (alone,) = (row for row in rows_of([job], 1, journal) if row["budget"] == 300)
    assert alone["score"] == {"mean": 0.5, "std": None}


def test_a_machine_over_its_budget_is_marked(tmp_path, small):
    job = Job("boston", OURS, (300,))
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(job, 0, design(301))
    write(rows_of([job], 1, journal), tmp_path / "front")
    assert "| SCM | 300 | 0.5000 | 301 (over) |" in (tmp_path / "front.md").read_text()


def test_equal_results_give_equal_files(tmp_path, small):
    job = Job("boston", TREES, (300,))
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(job, 0, trees_found(**{"300": design()}))
    rows = rows_of([job], 1, journal)
    names = ("a", "b")
    for name in names:
        (tmp_path / name).mkdir()
        write(rows, tmp_path / name / "front")
    for suffix in (".json", ".md", ".svg"):
        one, other = ((tmp_path / name / "front").with_suffix(suffix) for name in names)
        assert one.read_bytes() == other.read_bytes()
    assert "<svg" in Path(tmp_path / "a" / "front.svg").read_text()


def test_tables_that_are_not_at_hand_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SCM_DATA", str(tmp_path))
    tables.load.cache_clear()
    with pytest.raises(SystemExit, match=r"no finished trial in .*; set SCM_DATA and run"):
        run(tmp_path, "--tables", "boston")
    assert "boston is not at hand: can't read boston_housing.csv" in capsys.readouterr().out
