from __future__ import annotations

from time import sleep

import pytest

from scm_train.history import PHASES, History


def test_phases_add_up_and_survive_errors() -> None:
    history = History()
    assert tuple(history.seconds) == PHASES
    for _ in range(2):
        with history.phase("lasso"):
            sleep(0.01)
    with pytest.raises(RuntimeError), history.phase("inequality"):
        sleep(0.01)
        raise RuntimeError
    assert history.seconds["lasso"] >= 0.02
    assert history.seconds["inequality"] >= 0.01
    assert history.seconds["readout_update"] == 0


def test_removed_nodes_are_the_newest() -> None:
    history = History()
    for step in range(4):
        history.add_node(1, 0.5, 0.9, 0.1 / (step + 1), float("nan"))
    history.remove_nodes(2)
    history.end_layer(2, "early stopping")
    history.add_node(2, 1.0, 0.99, 0.01, float("nan"))
    assert history.removed == [False, False, True, True, False]
    assert history.layer == [1, 1, 1, 1, 2]
    assert (history.nodes_per_layer, history.stops) == ([2], ["early stopping"])
