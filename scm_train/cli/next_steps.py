"""How to go on after `fit`."""

from __future__ import annotations

import argparse
import shlex

from scm_train.cli.console import say
from scm_train.history import FamilyGrowthEnd
from scm_train.training.parameters import FEWEST_LUTS

__all__ = ["show_next_steps"]

#: Options of a table that `fit` and `design` have in common, and the values that need no option.
TABLE_FLAGS = ("target", "features", "drop", "task", "test_fraction", "test", "split", "time")
TABLE_FLAGS += ("test_groups", "categories", "missing", "delimiter", "decimal", "encoding")
TABLE_FLAGS += ("header", "units_row", "sheet", "missing_values", "seed")
USUAL = {"task": "auto", "seed": 0}
#: Budgets that are worth a try, beside the one that was used.
LARGER, SMALLER = 2, 3


def show_next_steps(args: argparse.Namespace, growth: FamilyGrowthEnd | None) -> None:
    """Commands to build the model, and flags for a larger or a smaller one."""
    say("")
    say("next")
    for what, command in _steps(args, growth):
        say(f"  {what:14}  {command}")


def _table(args: argparse.Namespace) -> str:
    """How the table was read and split: without, another machine would learn from more, or less."""
    words = []
    for name in TABLE_FLAGS:
        value = getattr(args, name, None)
        if value is None or value == USUAL.get(name):
            continue
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
            continue
        values = value if isinstance(value, list) else [value]
        words += [f"{flag} {shlex.quote(str(one))}" for one in values]
    return "".join(f" {word}" for word in words)


def _steps(args: argparse.Namespace, growth: FamilyGrowthEnd | None) -> list[tuple[str, str]]:
    model = shlex.quote(str(args.out))
    steps = [("build it", f"python -m scm_hw build {model} --board arty-a7")]
    source = f"--dataset {args.dataset}" if args.dataset else shlex.quote(str(args.data))
    steps.append(("to a budget", f"python -m scm_hw design {source}{_table(args)} --luts 1000"))
    if growth is None:
        steps.append(("more accurate", "fit ... with more --max-nodes, or by families with --luts"))
        return steps
    if growth.reason == "budget":
        steps.append(("more accurate", f"fit ... --luts {LARGER * growth.budget:.0f}"))
    else:
        steps.append(("more accurate", "more rows or other features; more LUTs bring no more"))
    less = max(growth.luts / SMALLER, FEWEST_LUTS)
    if less < growth.luts:
        steps.append(("smaller", f"fit ... --luts {less:.0f}"))
    return steps
