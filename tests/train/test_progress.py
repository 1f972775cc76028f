from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from scm_train.progress import progress_bar


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
