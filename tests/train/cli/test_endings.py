"""Fewer nodes than asked for: which layer, why, and what to change."""

from __future__ import annotations

import json

import pytest

from scm_train.cli.endings import Ending, early_endings, ending_lines
from scm_train.history import History
from tests.train.commands import fitted

pytestmark = pytest.mark.usefixtures("folder")

SETTINGS = {"stop_step": 20, "stop_tolerance": 0.001, "tolerance": 0.0}


def history(*layers: tuple[int, str]) -> History:
    found = History()
    for nodes, reason in layers:
        found.end_layer(nodes, reason)
    return found


def notes(capsys) -> list[str]:
    """The lines of standard error but that of clipped test rows."""
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if "outside of the training range" not in line]


def test_layers_that_ended_early():
    ended = history((48, "early stopping"), (30, "max_nodes"), (0, "no candidate"))
    assert early_endings(ended, {"max_nodes": [200, 30, 5], "layers": 3}) == [
        Ending(1, 48, 200, "early stopping"),
        Ending(3, 0, 5, "no candidate"),
    ]
    assert early_endings(ended, {"max_nodes": None, "layers": 3}) == []
    # The target was met before the second layer, or before any.
    target = Ending(2, 0, 9, "tolerance")
    two = {"max_nodes": 9, "layers": 2}
    assert early_endings(history((9, "max_nodes")), two) == [target]
    assert len(early_endings(history(), two)) == 2
    # A layer that grew beyond its limit first has all that it was allowed.
    assert early_endings(history((30, "early stopping")), {"max_nodes": 30, "layers": 1}) == []


def test_a_line_for_each_reason():
    endings = [Ending(1, 48, 200, "early stopping"), Ending(2, 9, 100, "early stopping")]
    (line,) = ending_lines(endings, SETTINGS)
    assert line == (
        "training ended before --max-nodes in layer 1 (48 of 200 nodes) and layer 2 (9 of 100 "
        "nodes): early stopping, as 20 nodes lowered the validation error by no more than 0.001 of "
        "it; for more nodes raise --stop-step or lower --stop-tolerance (-1 never stops)"
    )
    (line,) = ending_lines([Ending(1, 3, 8, "tolerance")], SETTINGS)
    assert line.endswith(
        "the training rows are fitted exactly, and no error is left for more nodes"
    )


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ("--stop-step 2 --stop-tolerance 0.5", "early stopping, as 2 nodes lowered"),
        ("--tolerance 0.2", "the training error reached --tolerance 0.2"),
        ("--candidates 1 --r 0.5 --criterion paper", "no candidate satisfied the supervisory"),
    ],
)
def test_fit_says_so_in_one_line(flags, why, capsys):
    machine = fitted("--max-nodes", "40", *flags.split())
    line = notes(capsys)[0]
    nodes = sum(machine.nodes)
    assert line.startswith(
        f"note: training ended before --max-nodes in layer 1 ({nodes} of 40 nodes): {why}"
    )


def test_the_remedy_helps(capsys):
    stopped = fitted("--max-nodes", "30", "--stop-step", "2", "--stop-tolerance", "0.2")
    assert stopped.nodes[0] < 30
    capsys.readouterr()
    machine = fitted("--max-nodes", "30", "--stop-step", "2", "--stop-tolerance=-1")
    assert machine.nodes == (30,)
    assert notes(capsys) == []


def test_json_has_it_and_quiet_has_not(capsys):
    flags = ("--max-nodes", "30", "--stop-step", "2", "--stop-tolerance", "0.2")
    machine = fitted(*flags, "--json")
    captured = capsys.readouterr()
    (ending,) = json.loads(captured.out)["ended_early"]
    nodes = machine.nodes[0]
    assert ending == {
        "layer": 1,
        "nodes": nodes,
        "max_nodes": 30,
        "reason": "early stopping",
    }
    fitted(*flags, "-q")
    assert capsys.readouterr().err == ""
