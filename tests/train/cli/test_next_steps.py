"""The commands that `fit` names at its end can be run."""

from __future__ import annotations

import argparse
import re

import pytest

from scm_train.cli.next_steps import show_next_steps
from scm_train.history import FamilyGrowthEnd
from scm_train.training.parameters import FEWEST_LUTS


@pytest.mark.parametrize("luts", [51.0, 59.0, 120.0, 900.0])
def test_a_smaller_machine_has_a_budget_that_fit_takes(
    capsys: pytest.CaptureFixture[str], luts: float
) -> None:
    args = argparse.Namespace(out="m.npz", dataset=None, data="t.csv", target=["y"])
    show_next_steps(
        args, FamilyGrowthEnd(families=5, luts=luts, budget=1000.0, reason="validation")
    )
    (less,) = re.findall(r"smaller +fit \.\.\. --luts (\d+)", capsys.readouterr().out)
    assert FEWEST_LUTS <= int(less) < luts
