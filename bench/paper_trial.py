"""One trial of the evaluation: split the rows, train one learner, score it.

The protocols differ in the rows that early stopping looks at, and in nothing else:

- ``paper``: the test rows, as in the paper's algorithm;
- ``clean``: rows split off from the training rows; the test rows are not looked at before the end;
- ``either``: a learner without early stopping, for which both are the same.

A trial's number decides the split and the learner's draws, so that all learners see the same rows.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import scm_train
from bench.paper_rivals import rival
from scm_hw.boards import get
from scm_hw.design import Options, compile_model
from scm_hw.errors import FitError
from scm_hw.load import read_model
from scm_train import datasets
from scm_train.algorithms import ALGORITHMS
from scm_train.datasets import Dataset

__all__ = ["PROTOCOLS", "Job", "Split", "parts", "run_trial", "split"]

PROTOCOLS = ("paper", "clean", "either")
BOARD = "arty-a7"
TEST_SHARE = 0.1


@dataclass(frozen=True)
class Job:
    """A learner with its parameters on a data set: with a trial's number, all that decides it.

    `learner` is one of ours (``"SCM"``) or a rival's name. `mechanism` puts in the data set's own.
    `hardware` compiles the model of the first trial for the estimate of its LUTs.
    """

    dataset: str
    learner: str
    protocol: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    mechanism: bool = False
    hardware: bool = False

    def __post_init__(self) -> None:
        assert self.protocol in PROTOCOLS, self.protocol

    @property
    def key(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Split:
    """Row numbers, in random order."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]


def split(data: Dataset, trial: int) -> Split:
    """Nine tenths to train on, the rest to test.

    A source with a split of its own keeps the number of its test rows, but for images: the paper
    takes a tenth of those too.
    """
    rows = len(data.y)
    held = round(TEST_SHARE * rows)
    if data.train_rows is not None and data.task == "regression":
        held = rows - data.train_rows
    order = np.random.default_rng(trial).permutation(rows)
    return Split(order[held:], order[:held])


@lru_cache(maxsize=1)
def _loaded(name: str) -> Dataset:
    return datasets.load(name)


def run_trial(job: Job, trial: int) -> dict[str, Any]:
    """Scores, seconds and nodes of one trial; of its hardware too, where the job asks for it."""
    # Trials run side by side, and threads of a trial would wait for those of another.
    with threadpool_limits(limits=1):
        return trial_on(_loaded(job.dataset), job, trial)


def trial_on(data: Dataset, job: Job, trial: int) -> dict[str, Any]:
    rows = split(data, trial)
    model = _model(job, data, trial)
    seconds = _fit(model, data, rows, job.protocol)
    found: dict[str, Any] = {"seconds": round(seconds, 3)}
    for part, numbers in (("train", rows.train), ("test", rows.test)):
        found |= {f"{part}_{k}": v for k, v in _scores(model, data, numbers).items()}
    if hasattr(model, "machine_"):
        found["nodes"] = list(model.machine_.nodes)
        found["validation_rmse"] = model.machine_.info["scores"].get("validation_rmse")
    if job.hardware and trial == 0:
        found |= _hardware(model)
    return found


def parts(data: Dataset, rows: Split, protocol: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `fit` is given. The test rows are among it under the protocol ``paper`` alone."""
    training = (data.X[rows.train], data.y[rows.train])
    if protocol != "paper":
        return training, {}
    return training, {"eval_set": (data.X[rows.test], data.y[rows.test])}


#: What parameters that a job leaves out are, whatever the estimators' defaults become: recorded
#: results stay comparable. Deep learners have two layers.
BASE = {"max_nodes": 100, "encoder": "thermometer:31:quantile"}


def _model(job: Job, data: Dataset, trial: int) -> Any:
    kind = "Regressor" if data.task == "regression" else "Classifier"
    ours = getattr(scm_train, f"{job.learner}{kind}", None)
    if ours is None:
        return rival(job.learner, data.task, trial)
    known = {"mechanism": data.mechanism} if job.mechanism else {}
    layers = {"layers": 2 if ALGORITHMS[job.learner].deep else 1}
    return ours(random_state=trial, **BASE | layers | dict(job.parameters) | known)


def _fit(model: Any, data: Dataset, rows: Split, protocol: str) -> float:
    """Seconds of processor time, which other work on the machine disturbs less than the clock's."""
    training, options = parts(data, rows, protocol)
    with warnings.catch_warnings():
        # A network that has used up its epochs is what the comparison asks for.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = process_time()
        model.fit(*training, **options)
        return process_time() - start


def _scores(model: Any, data: Dataset, numbers: NDArray[np.intp]) -> dict[str, float]:
    """RMSE in units of the range of all targets, as if they had been in [0, 1]; classes: rate."""
    X, y = data.X[numbers], data.y[numbers]
    if data.task == "regression":
        error = (model.predict(X) - y) / np.ptp(data.y)
        return {"rmse": _root_mean_square(error[:, None])}
    outputs = model.decision_function(X)
    rate = np.mean(model.classes_[outputs.argmax(axis=1)] == y)
    error = outputs - (y[:, None] == model.classes_)
    return {"rmse": _root_mean_square(error), "rate": float(rate)}


def _root_mean_square(error: NDArray[np.float64]) -> float:
    """Over the rows, of the length of the vector of errors: the paper's way with ten classes."""
    return float(np.sqrt(np.mean((error**2).sum(axis=1))))


def _hardware(model: Any) -> dict[str, Any]:
    """The compiler's estimate for a board of the paper's size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        try:
            design = compile_model(read_model(path), get(BOARD), Options())
        except FitError as error:
            return {"not_built": str(error)}
    return {
        "lut": design.estimate.lut,
        "dsp": design.estimate.dsp,
        "cycles": design.schedule.latency,
        "folded": design.fold is not None,
    }
