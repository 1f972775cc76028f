"""Tiny trials and tables for the tests of the paper's evaluation."""

import json

from bench import paper
from bench.paper_cases import Line, Section
from bench.paper_figures import Published
from bench.paper_settings import ALGORITHMS
from bench.paper_trial import Job

TINY = {"layers": 1, "max_nodes": 4, "candidates": 5, "stop_step": 2}
QUICK = ["--tables", "regression", "--datasets", "R-DB7", "--algorithms", "IRVFL", "--jobs", "1"]


def job(**changes):
    return Job(**({"dataset": "tyukin", "learner": "SCM", "protocol": "clean"} | changes))


def found(test, **more):
    return {"test_rmse": test, "train_rmse": test / 2, "seconds": 1.0, "nodes": [3, 1]} | more


def run_main(folder, *arguments):
    paper.main([*QUICK, "--journal", str(folder / "j.jsonl"), "--out", str(folder), *arguments])
    return json.loads((folder / "paper.json").read_text())


def section_of(*learners, name="tyukin"):
    figures = {"SCM": 0.1, "SCN": 0.2, "IRVFL": 0.3, "DeepSCN": 0.4, "DIRVFL-I": 0.5}
    lines = (
        Line(
            name,
            learner,
            job(learner=ALGORITHMS[learner], protocol="paper" if learner == "SCM" else "either"),
            Published(0.0, figures.get(learner, 0.6), 0.01),
        )
        for learner in learners
    )
    return Section("x", "Title", tuple(lines), same_data=True)
