"""Machines that live: a plant that changes, and what follows it.

    python -m bench.living [--quick] [--json FILE]

A gas turbine (hourly, trained on 2011, then 2012 to 2015 in order) and a simulated servo whose
friction grows from stage to stage. Every learner predicts a row before it sees its target, the
running ones then learn from it. Settings are chosen on the last quarter of the rows to train on.

    frozen     trained once
    reloaded   the readout fitted again after each period on its rows, for `scm_hw load` to send
    adapting   `SCMRegressor.adapt`, the integers of a core of `build --adapt`
    boosting   CatBoost trained once, and trained again on all rows so far after each period
    river      an adaptive random forest and a linear model, learning row by row

The figure has the error over time. With `--board` an emulated board answers a stream while it is
given another readout, and another one learns from a stream; every integer is compared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.tables import data_file
from scm_train import SCMRegressor
from scm_train.datasets.speed_servo import ServoParameters, simulate_servo
from scm_train.errors import ClippedWarning

RESULTS = Path(__file__).parent / "results"
STEPS = (4, 5, 6, 7, 8)
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
WINDOWS = 60
LUTS = 1000

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Case:
    """Rows to train on, then those of each period in order."""

    title: str
    unit: str
    first: Rows
    periods: dict[str, Rows]


def gas_turbine(quick: bool) -> Case:
    table = pd.read_csv(data_file("gas_turbine.csv.gz"))
    if quick:
        table = table.groupby("year").head(600)
    parts = {
        str(year): (own.drop(columns=["year", "CO", "NOX"]).to_numpy(), own["NOX"].to_numpy())
        for year, own in table.groupby("year")
    }
    first = parts.pop("2011")
    return Case("gas turbine, NOX, trained on 2011", "mg/m³", first, parts)


def servo(quick: bool) -> Case:
    """The friction of dry surfaces and of the bearing grows fourfold in eight stages."""
    count = 2 if quick else 3
    stages = {}
    for stage in range(9):
        growth = 1 + 3 * stage / 8
        own = ServoParameters()
        own = replace(own, coulomb=own.coulomb * growth, viscous=own.viscous * growth)
        stages[f"x {growth:g}"] = _servo_rows(own, count * (1 if stage else 2), stage)
    first = stages.pop("x 1")
    return Case("servo, current error, friction that grows", "A", first, stages)


def _servo_rows(parameters: ServoParameters, count: int, seed: int) -> Rows:
    """One run after the other; three samples and the settings, the current error one ahead."""
    # The same speeds in all stages: friction alone changes.
    speeds = np.random.default_rng(0).uniform(20, 260, count)
    stiffness = np.random.default_rng(1).integers(1, 8, count)
    runs = simulate_servo(speeds, stiffness, 400, parameters, seed)
    X, y = [], []
    for run in range(count):
        own = (runs.speed, runs.motor_current, runs.controller_current)
        signals = np.stack([signal[:, run] for signal in own], axis=1)
        past = np.hstack([signals[:-3], signals[1:-2], signals[2:-1]])
        settings = np.tile([speeds[run], stiffness[run]], (len(past), 1))
        X.append(np.hstack([past, settings]))
        y.append(signals[3:, 1] - signals[3:, 2])
    return np.concatenate(X), np.concatenate(y)


CASES: dict[str, Callable[[bool], Case]] = {"gas_turbine": gas_turbine, "servo": servo}


# What follows


def trained(X: NDArray, y: NDArray, luts: int = LUTS) -> SCMRegressor:
    """A machine after a visit to its file, with test rows from the end of what it learned on."""
    some = slice(0, None, max(1, len(X) // 500))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.npz"
        learner = SCMRegressor(random_state=0, luts=luts).fit(X, y)
        learner.save(path, X[some], y[some])
        return SCMRegressor.load(path)


def machines(case: Case) -> dict[str, NDArray]:
    """Predictions of the whole stream: frozen, reloaded after each period, and adapting."""
    X, y = case.first
    cut = 3 * len(X) // 4
    early = trained(X[:cut], y[:cut])
    later = X[cut:], y[cut:]
    step = min(STEPS, key=lambda k: rmse(_copy(early).adapt(*later, step=k), later[1]))
    ridge = min(RIDGES, key=lambda value: _halves(early, later, value))
    machine = trained(X, y)
    frozen = [machine.predict(X) for X, _ in case.periods.values()]
    adapting = _copy(machine)
    adapted = [adapting.adapt(*rows, step=step) for rows in case.periods.values()]
    following, reloaded = _copy(machine), []
    for rows in case.periods.values():
        reloaded.append(following.predict(rows[0]))
        following.refit(*rows, ridge)
    print(f"  step 2**-{step}, ridge {ridge:g}", flush=True)
    found = {"SCM frozen": frozen, "SCM reloaded": reloaded, "SCM adapting": adapted}
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _copy(learner: SCMRegressor) -> SCMRegressor:
    copy = SCMRegressor(**learner.get_params())
    copy._adopt(learner.machine_)
    return copy


def _halves(learner: SCMRegressor, rows: Rows, ridge: float) -> float:
    """Error on the second half of the rows of a readout that was fitted again on the first."""
    X, y = rows
    half = len(X) // 2
    copy = _copy(learner).refit(X[:half], y[:half], ridge)
    return rmse(copy.predict(X[half:]), y[half:])


def boosting(case: Case) -> dict[str, NDArray]:
    from catboost import CatBoostRegressor

    def fit(X: NDArray, y: NDArray) -> Any:
        how = {"random_seed": 0, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
        return CatBoostRegressor(iterations=400, **how).fit(X, y)

    X, y = case.first
    first = again = fit(X, y)
    frozen, retrained = [], []
    for rows in case.periods.values():
        frozen.append(first.predict(rows[0]))
        retrained.append(again.predict(rows[0]))
        X, y = np.concatenate([X, rows[0]]), np.concatenate([y, rows[1]])
        again = fit(X, y)
    return {
        "CatBoost frozen": np.concatenate(frozen),
        "CatBoost retrained": np.concatenate(retrained),
    }


def online(case: Case) -> dict[str, NDArray]:
    from river import forest, linear_model, optim, preprocessing

    X, y = case.first
    learners = {
        "river forest": forest.ARFRegressor(n_models=3, seed=0),
        "river linear": preprocessing.StandardScaler()
        | linear_model.LinearRegression(optimizer=optim.SGD(0.005)),
    }
    found = {}
    for name, learner in learners.items():
        for row, target in zip(X, y, strict=True):
            learner.learn_one(dict(enumerate(row)), target)
        predictions = []
        for rows in case.periods.values():
            for row, target in zip(*rows, strict=True):
                values = dict(enumerate(row))
                predictions.append(learner.predict_one(values))
                learner.learn_one(values, target)
        found[name] = np.array(predictions)
    return found


def rmse(found: NDArray, wanted: NDArray) -> float:
    return float(np.sqrt(np.mean((found - wanted) ** 2)))


# Figures and files


def measured(name: str, quick: bool) -> dict[str, Any]:
    """Errors of one case by period, and over time."""
    print(name, flush=True)
    case = CASES[name](quick)
    wanted = np.concatenate([y for _, y in case.periods.values()])
    predictions: dict[str, NDArray] = {}
    seconds = {}
    for part in (machines, boosting, online):
        began = time.perf_counter()
        predictions |= part(case)
        seconds[part.__name__] = round(time.perf_counter() - began, 1)
    ends = np.cumsum([len(y) for _, y in case.periods.values()])
    periods = dict(zip(case.periods, np.split(np.arange(len(wanted)), ends[:-1]), strict=True))
    edges = np.linspace(0, len(wanted), WINDOWS + 1).astype(int)
    return {
        "title": case.title,
        "unit": case.unit,
        "rows": len(wanted),
        "seconds": seconds,
        "periods": {
            learner: {p: rmse(found[own], wanted[own]) for p, own in periods.items()}
            for learner, found in predictions.items()
        },
        "whole": {learner: rmse(found, wanted) for learner, found in predictions.items()},
        "ends": (ends / len(wanted)).tolist(),
        "over_time": {
            learner: [rmse(found[a:b], wanted[a:b]) for a, b in pairwise(edges)]
            for learner, found in predictions.items()
        },
    }


def figure(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    cases = results["cases"].values()
    # Equal results, equal files.
    with plt.rc_context({"svg.hashsalt": "living", "font.size": 9}):
        drawn, axes = plt.subplots(len(cases), 1, figsize=(8, 4 * len(cases)), squeeze=False)
        for axis, case in zip(axes[:, 0], cases, strict=True):
            place = (np.arange(WINDOWS) + 0.5) / WINDOWS
            for number, (learner, errors) in enumerate(case["over_time"].items()):
                style = "-" if learner.startswith("SCM") else "--"
                width = 1.8 if learner.startswith("SCM") else 1.0
                axis.plot(place, errors, style, color=f"C{number}", lw=width, label=learner)
            for end in case["ends"][:-1]:
                axis.axvline(end, color="0.85", lw=0.8, zorder=0)
            highest = max(max(case["over_time"][n]) for n in ("SCM frozen", "CatBoost frozen"))
            axis.set(title=case["title"], ylabel=f"RMSE in {case['unit']}", xlim=(0, 1))
            axis.set_ylim(0, 1.15 * highest)
            names = list(next(iter(case["periods"].values())))
            starts = np.array([0.0, *case["ends"][:-1]])
            axis.set_xticks((starts + case["ends"]) / 2, names)
            axis.tick_params(axis="x", length=0)
            axis.legend(fontsize=7, ncols=2)
        drawn.tight_layout()
        drawn.savefig(path, metadata={"Date": None})
        plt.close(drawn)


def markdown(results: dict[str, Any]) -> str:
    lines = []
    for case in results["cases"].values():
        names = list(next(iter(case["periods"].values())))
        lines += [f"### {case['title']}, RMSE in {case['unit']}", ""]
        lines += ["| learner | " + " | ".join(names) + " | all |", "|---" * (len(names) + 2) + "|"]
        for learner, errors in case["periods"].items():
            cells = [f"{errors[name]:.3g}" for name in names]
            lines.append(f"| {learner} | {' | '.join(cells)} | {case['whole'][learner]:.3g} |")
        lines.append("")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.living", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the first rows of each period")
    parser.add_argument("--board", action="store_true", help="emulated boards as well")
    parser.add_argument("--json", type=Path, default=RESULTS / "living.json")
    options = parser.parse_args(argv)
    # A plant that drifts leaves its training range.
    warnings.simplefilter("ignore", ClippedWarning)
    results: dict[str, Any] = {"cases": {n: measured(n, options.quick) for n in CASES}}
    if options.board:
        from bench.living_board import on_boards

        results["boards"] = on_boards(gas_turbine(options.quick))
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    figure(results, options.json.with_suffix(".svg"))
    text = markdown(results)
    options.json.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
