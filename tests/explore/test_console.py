"""The search on a terminal: the front as it grows, with the time that is left."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from scm_explore.console import FrontView
from scm_explore.journal import Journal
from tests.explore.searches import QUICK, plant_csv
from tests.hw.commands import command
from tests.terminal import on_terminal


@pytest.mark.parametrize("quiet", [False, True])
def test_the_front_grows_on_a_terminal(tmp_path: Path, quiet: bool) -> None:
    data = plant_csv(tmp_path / "plant.csv")
    words = ["explore", data, "--target", "force", "--points", "6", *QUICK[:-1], "--jobs", "1"]
    words += ["--out", tmp_path / "out", *(["-q"] if quiet else [])]
    code, shown = on_terminal(command(*words), tmp_path)
    assert code == 0 and "6 designs tried" in shown
    lines = re.findall(r"searching: (\d) of 6 done in 0:\d\d(?:, about 0:\d\d left)?", shown)
    sizes = re.findall(r"front of (\d+) designs", shown)
    if quiet:
        assert not lines and not sizes
    else:
        assert lines == sorted(lines) and len(set(lines)) > 1
        assert len(set(sizes)) > 1 and "left" in shown


def test_the_time_left_is_by_the_pace_and_within_the_budget(tmp_path: Path) -> None:
    view = FrontView(Journal(tmp_path), "rmse", quiet=True, seconds=None)
    # Gone on with: what was there before has no part in the pace.
    view.log("searching", 100, 120)
    view.since = time.monotonic() - 10
    view.log("searching", 105, 120)
    assert view._left(105, 120, 10.0) == pytest.approx(30, abs=1)
    assert view._left(100, 120, 10.0) is None
    view.seconds = 22.0
    assert view._left(105, 120, 10.0) == pytest.approx(12)
    view.log("synthesising the front", 0, 4)
    assert (view.before, view.step) == (0, "synthesising the front")
