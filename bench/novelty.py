"""How often `novel` is set while a plant drifts, and how wrong the flagged rows are.

    python -m bench.novelty

A gas turbine's NOX, learned from the years 2011 to 2013, with 2 % of false alarms allowed. Results
go to bench/results/novelty.md.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from bench.tables import data_file
from scm_train import SCMRegressor
from scm_train.errors import ClippedWarning

RESULT = Path(__file__).parent / "results" / "novelty.md"
LUTS, RATE, ROWS, LAST = 300, 0.02, 8000, 2013
TARGETS, YEAR = ("CO", "NOX"), "year"


def main() -> None:
    warnings.simplefilter("ignore", ClippedWarning)
    rows = pd.read_csv(data_file("gas_turbine.csv.gz"))
    inputs = [name for name in rows.columns if name not in (*TARGETS, YEAR)]
    known = rows[rows[YEAR] <= LAST].sample(ROWS, random_state=0)
    learner = SCMRegressor(luts=LUTS, flags=RATE, random_state=0)
    learner.fit(known[inputs], known[TARGETS[1]])
    rest = rows.drop(known.index)
    lines = [line(learner, str(year), part, inputs) for year, part in rest.groupby(YEAR)]
    about = (
        f"From `python -m bench.novelty`: NOX of a gas turbine by {LUTS} LUTs, learned from "
        f"{ROWS:,} rows of 2011 to {LAST}, `flags={RATE}`. Rows that were not learned from."
    )
    head = "| year | novel | mean absolute error, novel rows | other rows |\n|---|---|---|---|"
    title = "# Novel rows of a drifting plant"
    RESULT.write_text("\n".join([title, "", about, "", head, *lines, ""]), encoding="utf-8")
    print("\n".join(lines))


def line(learner: SCMRegressor, year: str, part: pd.DataFrame, inputs: list[str]) -> str:
    novel = learner.is_novel(part[inputs])
    error = np.abs(learner.predict(part[inputs]) - part[TARGETS[1]].to_numpy())
    cells = [f"{novel.mean():.1%}", *(f"{error[own].mean():.1f}" for own in (novel, ~novel))]
    return f"| {' | '.join([year, *cells])} |"


if __name__ == "__main__":
    main()
