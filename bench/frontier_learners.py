"""One learner on one split of one table: score on the test rows, LUTs, seconds of training."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.preprocessing import LabelEncoder
from threadpoolctl import threadpool_limits

from bench import tables
from bench.tables import Split, Table
from bench.trees.search import GRIDS, Part, best_under, score
from scm_hw.boards import get
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.errors import FitError
from scm_hw.ir.interp import interpret
from scm_hw.load import normalised_results, read_model
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify.rows import hardware_inputs
from scm_train import SCMClassifier, SCMRegressor

__all__ = ["CEILINGS", "OURS", "TREES", "Job", "jobs_of", "run_trial"]

TREES, OURS = "trees in gates", "SCM"
CEILINGS = ("histogram boosting", "CatBoost")

BOARD = "nexys-a7"
#: Trees have no DSP either, and a block RAM would be a table for nothing.
OPTIONS = Options(multipliers="lut", tables="lut", fold="none")


@dataclass(frozen=True)
class Job:
    """With the number of a split all that decides a trial.

    Trees find the best designs for all `budgets` in one search of a `grid`. Of ours one machine is
    trained for each budget.
    """

    table: str
    learner: str
    budgets: tuple[int, ...] = ()
    grid: str | None = None

    @property
    def key(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def jobs_of(table: str, learners: Sequence[str], budgets: Sequence[int], grid: str) -> list[Job]:
    found = []
    for learner in learners:
        if learner == TREES:
            found.append(Job(table, learner, tuple(budgets), grid))
        elif learner == OURS:
            found += [Job(table, learner, (budget,)) for budget in budgets]
        else:
            found.append(Job(table, learner))
    return found


def run_trial(job: Job, number: int) -> dict[str, Any]:
    # Threads of boosting and of linear algebra wait for each other on a busy machine.
    with threadpool_limits(limits=1):
        table = tables.load(job.table)
        rows = tables.split(table, number)
        if job.learner == TREES:
            return _trees(job, table, rows, number)
        if job.learner == OURS:
            return _ours(job, table, rows, number)
        return _ceiling(job.learner, table, rows, number)


def _trees(job: Job, table: Table, rows: Split, seed: int) -> dict[str, Any]:
    def part(numbers: NDArray[np.intp]) -> Part:
        return Part(table.X[numbers], table.y[numbers])

    pairs = [(part(a), part(b)) for a, b in tables.validations(table, rows)]
    assert job.grid is not None
    return best_under(job.budgets, table.task, pairs, part(rows.test), GRIDS[job.grid], seed)


def _ceiling(name: str, table: Table, rows: Split, seed: int) -> dict[str, Any]:
    model = _boosting(name, table.task)(seed)
    encoder = LabelEncoder().fit(table.y) if table.task == "classification" else None
    y = table.y if encoder is None else encoder.transform(table.y)
    start = process_time()
    model.fit(table.X[rows.known], y[rows.known])
    seconds = process_time() - start
    predicted = np.ravel(model.predict(table.X[rows.test]))
    return {"test": score(table.task, predicted, y[rows.test]), "seconds": round(seconds, 3)}


def _boosting(name: str, task: str) -> Any:
    """With its own defaults."""
    if name == "CatBoost":
        from catboost import CatBoostClassifier, CatBoostRegressor

        kind = CatBoostRegressor if task == "regression" else CatBoostClassifier
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        return lambda seed: kind(random_seed=seed, **quiet)
    if task == "regression":
        return lambda seed: HistGradientBoostingRegressor(random_state=seed)
    return lambda seed: HistGradientBoostingClassifier(random_state=seed)


def _ours(job: Job, table: Table, rows: Split, seed: int) -> dict[str, Any]:
    kind = SCMRegressor if table.task == "regression" else SCMClassifier
    (budget,) = job.budgets
    model = kind(random_state=seed, luts=budget)
    start = process_time()
    model.fit(table.X[rows.known], table.y[rows.known])
    seconds = process_time() - start
    found: dict[str, Any] = {"seconds": round(seconds, 3)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        try:
            design = compile_model(read_model(path), get(BOARD), OPTIONS)
        except FitError as error:
            return found | {"not_built": str(error)}
    start = perf_counter()
    resources = synthesise({f"{CORE}.v": design.verilog}, CORE)
    return found | {
        "test": score(table.task, _predicted(design, table.X[rows.test]), table.y[rows.test]),
        "lut": resources.lut,
        "lut_sites": resources.lut_sites,
        "ff": resources.ff,
        "carry4": resources.carry4,
        "dsp": resources.dsp,
        "bram": resources.bram,
        "estimate": design.estimate.lut,
        "cycles": design.schedule.latency,
        "nodes": [layer.nodes for layer in design.model.layers],
        "synthesis_seconds": round(perf_counter() - start, 1),
    }


def _predicted(design: Design, X: NDArray) -> NDArray:
    """Classes or targets, from the integers that the core puts out."""
    model = design.model
    results = interpret(design.meaning, hardware_inputs(design, X.astype(np.float64)))
    if model.classes is not None:
        return np.asarray(model.classes)[results[:, 0]]
    unit = normalised_results(model, design.hardware, design.fixed, results)
    return (unit * (model.target_max - model.target_min) + model.target_min)[:, 0]
