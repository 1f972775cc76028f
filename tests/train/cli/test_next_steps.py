"""The commands that `fit` names at its end can be run."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from scm_hw.cli.commands import build_parser as hw_parser
from scm_train.cli.next_steps import show_next_steps
from scm_train.cli.parser import build_parser
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


def test_a_budget_is_for_the_same_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = "fit t.csv --target y --drop a,b --split groups:run --no-header --decimal , --seed 3"
    args = build_parser().parse_args([*words.split(), "--out", "m.npz"])
    show_next_steps(args, None)
    (command,) = re.findall(r"scm_hw design (.*)", capsys.readouterr().out)
    told = "t.csv --target y --drop a,b --split groups:run --decimal , --no-header --seed 3"
    assert command == f"{told} --luts 1000"
    hw_parser().parse_args(["design", *shlex.split(command)])
