from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from scm_train.progress import progress_bar
from tests.terminal import on_terminal
from tests.train.commands import plant_csv


def shown(verbose: bool, terminal: bool, validation: float = float("nan")) -> str:
    stream = StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100)
    with progress_bar(verbose, 5, console) as report:
        report(3, 2, 0.125, validation)
    return stream.getvalue()


def test_shows_layer_nodes_and_errors_on_a_terminal() -> None:
    text = shown(verbose=True, terminal=True, validation=0.25)
    for part in ("layer 2", "3 nodes", "RMSE 0.125000", "validation 0.250000"):
        assert part in text


def test_leaves_validation_out_where_there_is_none() -> None:
    assert "validation" not in shown(verbose=True, terminal=True)


@pytest.mark.parametrize(("verbose", "terminal"), [(True, False), (False, True)])
def test_is_silent_in_a_pipe_and_unless_asked(verbose: bool, terminal: bool) -> None:
    assert shown(verbose, terminal) == ""


def test_training_in_a_pipe_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    from scm_train import IRVFLRegressor

    IRVFLRegressor(max_nodes=3, verbose=True).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_fit_on_a_terminal(tmp_path: Path, quiet: bool) -> None:
    plant_csv(tmp_path / "plant.csv", n=600)
    words = ["fit", "plant.csv", "--target", "force", "--out", "m.npz", "--max-nodes", "150"]
    argv = [sys.executable, "-m", "scm_train", *words, "--trials", "2"]
    code, told = on_terminal([*argv, *(["-q"] if quiet else [])], tmp_path)
    assert code == 0
    if quiet:
        assert told == ""
    else:
        assert re.search(r"layer 1 .* nodes  RMSE 0\.\d+, validation 0\.\d+ 0:00:\d\d left ", told)
        assert re.search(r"trial 2 of 2: train rmse 0\.\d+, validation rmse 0\.\d+", told)
