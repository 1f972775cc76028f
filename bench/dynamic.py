"""Machines with memory on records of dynamic plants: one step ahead, running free, and in gates.

    python -m bench.dynamic [--cases silverbox,tanks] [--seeds 1]

Test records are touched once, at the end; lags and settings are the same for all that is compared.
Errors are RMSE in the units of the target, over rows with a full history. Beside ours are those of
:mod:`bench.dynamic_rivals`. Results go to bench/results/dynamic.*.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.dynamic_rivals import RIVALS, rmse
from bench.tables import data_file
from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_model import Memory
from scm_model.memory import starts
from scm_train import SCMRegressor, SequenceRegressor
from scm_train.sequences.records import Records

RESULTS = Path(__file__).parent / "results"

Record = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Case:
    """A plant: a record to learn from and one to test on, and what the machine sees of it."""

    title: str
    unit: str
    load: Callable[[], tuple[Record, Record]]
    lags: str
    feedback: str | None
    luts: int = 3000


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(data_file(name))


def silverbox() -> tuple[Record, Record]:
    rows = table("silverbox.csv.gz")
    u, y = rows[["u"]].to_numpy(), rows["y"].to_numpy()
    # Of the ten multisines behind the arrow head three, which tell all that the rest would.
    return (u[40_650:70_000], y[40_650:70_000]), (u[:40_000], y[:40_000])


def silverbox_inside() -> tuple[Record, Record]:
    """The part of the arrow head whose amplitude training has seen."""
    learn, (u, y) = silverbox()
    return learn, (u[:25_000], y[:25_000])


def tanks() -> tuple[Record, Record]:
    rows = table("cascaded_tanks.csv")
    found = [
        (rows[[f"u_{part}"]].to_numpy(), rows[f"y_{part}"].to_numpy()) for part in ("est", "val")
    ]
    return found[0], found[1]


def servo() -> tuple[Record, Record]:
    rows = table("emps_servo.csv.gz")
    X, y = rows[["qg", "qm"]].to_numpy(), rows["vir"].to_numpy()
    half = len(y) // 2
    return (X[:half], y[:half]), (X[half:], y[half:])


def column() -> tuple[Record, Record]:
    rows = table("debutanizer.csv")
    X, y = rows.drop(columns="butane").to_numpy(), rows["butane"].to_numpy()
    end = 3 * len(y) // 4
    return (X[:end], y[:end]), (X[end:], y[end:])


CASES = {
    "silverbox": Case("Silverbox, whole arrow head", "V", silverbox, "*:0..2", "y:1..3"),
    "silverbox_inside": Case(
        "Silverbox, arrow head within the trained amplitude", "V", silverbox_inside, "*:0..2",
        "y:1..3",
    ),
    "tanks": Case("cascaded tanks", "V", tanks, "*:0..2", "y:1..3"),
    "tanks_open": Case(
        "cascaded tanks, no feedback", "V", tanks, "*:0+2+4+8+12+16+24+32+48+64+96", None
    ),
    "emps": Case("EMPS servo, second half of the record", "V", servo, "*:0..4", None),
    "debutanizer": Case("debutanizer, soft sensor", "1", column, "*:0+2+4+8+16", None, 1500),
    "debutanizer_output": Case(
        "debutanizer with its own output", "1", column, "*:0+4+8", "y:1..3", 1500
    ),
}  # fmt: skip


def run(case: Case, seed: int) -> dict[str, Any]:
    (X, y), (X_test, y_test) = case.load()
    began = time.process_time()
    learner = SCMRegressor(luts=case.luts, random_state=seed)
    model = SequenceRegressor(learner, lags=case.lags, feedback=case.feedback, rounds=1)
    model.fit(X, y)
    seconds = time.process_time() - began
    memory: Memory = model.machine_.memory
    records = Records.ahead(X, y, starts(None, len(X)), 0)
    tests = Records.ahead(X_test, y_test, starts(None, len(X_test)), 0)
    found: dict[str, Any] = {"case": case.title, "unit": case.unit, "taps": len(memory.taps)}
    found["scm"] = _errors(model.machine_.predict, memory, tests) | _gates(model, X_test, y_test)
    found["scm"] |= {"seconds": seconds, "plant": model.machine_.info["settings"]["plant"]}
    for name, rival in RIVALS.items():
        found[name] = rival(records, tests, memory, seed)
    return found


def _errors(predict: Callable[..., Any], memory: Memory, tests: Records) -> dict[str, float]:
    rows, wanted = tests.scored(memory), tests.measured
    if not memory.feedback:
        return {"one_step": rmse(predict(tests.signals)[rows], wanted[rows])}
    ahead = predict(tests.signals, outputs=wanted)
    free = predict(tests.signals, outputs=wanted, simulate=True)
    return {
        "one_step": rmse(ahead[rows], wanted[rows]),
        "free_run": rmse(free[rows], wanted[rows]),
    }


def _gates(model: SequenceRegressor, X: NDArray, y: NDArray) -> dict[str, float]:
    """What the core takes on an Arty A7, by estimate."""
    machine = model.with_evaluation(X[:5000], y[:5000])
    design = compile_model(machine, boards.get("arty-a7"), Options())
    return {
        "lut": design.estimate.lut,
        "ff": design.estimate.ff,
        "dsp": design.estimate.dsp,
        "cycles": design.latency,
        "interval": design.initiation_interval,
        "ns": design.latency * design.schedule.period_ns,
    }


INTRODUCTION = """# Machines with memory

From `python -m bench.dynamic`. RMSE in the units of the target on test records, over rows with a
full history; free: running on its own outputs. ARX, histogram boosting and sysidentpy NARX see the
same taps; reservoirpy's echo state network sees the signals alone, and so is always free. LUTs by
estimate, at 100 MHz on an Arty A7.
"""
OURS = ("LUTs", "DSPs", "cycles", "ns", "a sample every", "training, s")


def markdown(results: list[dict[str, Any]]) -> str:
    names = ["ours", *RIVALS]
    errors = [f"{name}{what}" for name in names for what in ("", ", free")]
    columns = ["record", "taps", *errors, *OURS]
    lines = [INTRODUCTION, _row(columns), _row(["---", *["---:"] * (len(columns) - 1)])]
    for found in results:
        ours = found["scm"]
        shown = [
            one.get(key)
            for one in (ours, *(found[name] for name in RIVALS))
            for key in ("one_step", "free_run")
        ]
        cells = [f"{found['case']}, {found['unit']}", str(found["taps"]), *map(_number, shown)]
        cells += [f"{ours['lut']:,}", str(ours["dsp"]), str(ours["cycles"]), f"{ours['ns']:.0f}"]
        lines.append(_row([*cells, f"{ours['interval']} cycles", f"{ours['seconds']:.1f}"]))
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    results = []
    for name in args.cases.split(","):
        results.append(run(CASES[name], args.seed))
        print(json.dumps(results[-1]), flush=True)
    if args.cases != ",".join(CASES):
        return
    (RESULTS / "dynamic.json").write_text(json.dumps(results, indent=2) + "\n")
    (RESULTS / "dynamic.md").write_text(markdown(results))


if __name__ == "__main__":
    main()
