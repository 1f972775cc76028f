"""One design of a search, as far as it goes without synthesis."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_explore.design.candidate import Job, compiled, scores, trained
from scm_explore.evaluate import as_model, file_bytes
from scm_hw.boards import get
from scm_hw.design import Options
from scm_train.cli.parser import build_parser
from scm_train.cli.training_data import read
from tests.explore.searches import labels_csv, plant_csv


@pytest.mark.parametrize(
    ("table", "target", "told", "outputs"),
    [
        ("labels", "grade", {"unsure": 0.1, "flags": 0.05}, 4),
        ("plant", "force", {"interval": 0.8, "loss": "huber"}, 3),
    ],
)
def test_what_is_asked_of_the_learner_is_in_the_design(
    tmp_path: Path, table: str, target: str, told: dict[str, Any], outputs: int
) -> None:
    path = (labels_csv if table == "labels" else plant_csv)(tmp_path / "t.csv", rows=300)
    words = ["fit", str(path), "--target", target, "--out", "m.npz"]
    data = read(build_parser().parse_args(words))
    common = argparse.Namespace(name="t", seed=0, no_eval_rows=False, **told)
    job = Job(data, get("arty-a7"), Options(), common)
    machine, _ = trained(job, 100, np.arange(240), np.arange(240, 300))
    design = compiled(as_model(file_bytes(machine)), job)
    assert len(design.output_ranges) == outputs
    found = scores(design)
    assert 0 < found["error"] < 0.5 and len(found.get("rmse", (0,))) == 1
