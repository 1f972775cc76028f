"""What intervals and flags promise, and what they keep, on every table under an exchangeable split.

    python -m bench.promises [--tables abalone,ccpp] [--seeds 10]

A fourth of the rows, drawn at random whatever the table's own split is, tests what was calibrated
on the others. Coverage of one machine varies with its calibration rows; the means over several
splits are what is promised. Results go to bench/results/promises.md.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.tables import NAMES, Table, load
from scm_train import SCMClassifier, SCMRegressor
from scm_train.errors import ClippedWarning
from scm_train.evaluation.scores import score

RESULT = Path(__file__).parent / "results" / "promises.md"
LEVEL, UNSURE, RATE = 0.9, 0.05, 0.02
LUTS, MOST_ROWS, TEST_SHARE = 300, 12_000, 0.25
#: Of images training takes longer than all the rest together.
LEFT_OUT = ("mnist", "fashion_mnist")

Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(n for n in NAMES if n not in LEFT_OUT))
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ClippedWarning)
    lines = []
    for name in args.tables.split(","):
        table = load(name)
        kept = np.array([one_split(table, seed) for seed in range(args.seeds)])
        lines.append(line(table, kept))
        print(lines[-1], file=sys.stderr, flush=True)
    RESULT.write_text(page(lines, args.seeds), encoding="utf-8")


def one_split(table: Table, seed: int) -> Floats:
    """Coverage, or the share of rows wrong and not unsure; the shares of unsure and novel rows."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(table.y))[:MOST_ROWS]
    held = round(TEST_SHARE * len(order))
    test, train = order[:held], order[held:]
    measure: Callable[..., list[float]] = (
        of_classes if table.task == "classification" else of_targets
    )
    return np.array(measure(table.X, table.y, train, test, seed))


def of_targets(X: NDArray, y: NDArray, train: NDArray, test: NDArray, seed: int) -> list[float]:
    learner = SCMRegressor(luts=LUTS, interval=LEVEL, flags=RATE, random_state=seed)
    learner.fit(X[train], y[train])
    found = score(learner.machine_, X[test], y[test].reshape(len(test), -1))
    return [float(np.mean(list(found["coverage"].values()))), np.nan, found["novel"]["share"]]


def of_classes(X: NDArray, y: NDArray, train: NDArray, test: NDArray, seed: int) -> list[float]:
    learner = SCMClassifier(luts=LUTS, unsure=UNSURE, flags=RATE, random_state=seed)
    learner.fit(X[train], y[train])
    found = score(learner.machine_, X[test], np.searchsorted(learner.classes_, y[test]))
    unsure = found["unsure"]
    return [unsure["wrong_unflagged"], unsure["share"], found["novel"]["share"]]


def line(table: Table, kept: Floats) -> str:
    mean = kept.mean(axis=0)
    spread = kept.std(axis=0)
    classes = table.task == "classification"
    first = f"{mean[0]:.2%} ± {spread[0]:.2%}"
    cells = [table.name, f"{min(len(table.y), MOST_ROWS):,}"]
    cells += ["", first, f"{mean[1]:.1%}"] if classes else [first, "", ""]
    return f"| {' | '.join([*cells, f'{mean[2]:.2%} ± {spread[2]:.2%}'])} |"


def page(lines: list[str], seeds: int) -> str:
    head = (
        "| table | rows | coverage of intervals | wrong and not unsure | unsure | novel |\n"
        "|---|---|---|---|---|---|"
    )
    about = (
        f"From `python -m bench.promises`: {LUTS} LUTs, {seeds} random splits of at most "
        f"{MOST_ROWS:,} rows; mean and standard deviation over splits. Asked for were intervals "
        f"of level {LEVEL:.0%}, at most {UNSURE:.0%} of the rows wrong and not unsure, and at "
        f"most {RATE:.0%} false alarms of `novel`."
    )
    return "\n".join(["# Promises of intervals and flags", "", about, "", head, *lines, ""])


if __name__ == "__main__":
    main()
