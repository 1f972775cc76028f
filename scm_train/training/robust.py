"""Fits that a few wrong targets can't ruin, by Huber's loss: rows far off count less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Model, evaluate
from scm_model.scaling import to_unit
from scm_train.algorithms import Algorithm
from scm_train.errors import ParameterError
from scm_train.history import History, Outliers
from scm_train.solve.huber import huber_bound, huber_weights, robust_scale
from scm_train.training.refit import REFIT_RIDGE
from scm_train.training.run import TrainingTask

__all__ = ["LOSSES", "check_loss", "find_outliers", "robust_trainer"]

Floats = NDArray[np.float64]
Trainer = Callable[..., tuple[Model, History]]

LOSSES = ("squared_error", "huber")
#: Targets more than this many interquartile ranges outside the quartiles don't set the scale.
FENCE = 10.0
#: A row whose residual is more robust standard deviations than these is an outlier.
FAR = 6.0
#: How often the readout is solved again, with weights from the residuals that it left.
REWEIGHTED = 10


def check_loss(loss: object, logistic: bool) -> bool:
    """Whether a loss is Huber's."""
    if loss not in LOSSES:
        raise ParameterError(f"loss must be 'squared_error' or 'huber', not {loss!r}")
    if loss == "huber" and logistic:
        raise ParameterError("loss must be 'squared_error' with readout='logistic', not 'huber'")
    return loss == "huber"


def robust_trainer(train: Trainer, families: bool) -> Trainer:
    """``train`` with Huber's loss.

    Families weigh the rows anew for each family. Nodes are chosen on targets that are pulled to
    the answers of a first machine where they are far from them, and the readout is then solved by
    reweighted least squares on the targets as they are.
    """

    def trained(
        algorithm: Algorithm,
        parameters: dict[str, Any],
        task: TrainingTask,
        eval_set: tuple[NDArray, NDArray] | None,
        random: np.random.RandomState,
    ) -> tuple[Model, History]:
        task = _with_robust_range(task)
        if families:
            return train(algorithm, parameters, task, eval_set, random)
        seed = int(random.randint(np.iinfo(np.int32).max))

        def run(y: NDArray, unseen: tuple[NDArray, NDArray] | None) -> tuple[Model, History]:
            # Both machines start from one seed: rows are split alike, and only the targets differ.
            own = np.random.RandomState(seed)
            return train(algorithm, parameters, replace(task, y=y), unseen, own)

        first, _ = run(_held(task.y, np.median(task.y, axis=0)), eval_set)
        if eval_set is not None:
            eval_set = (eval_set[0], _held(eval_set[1], _answers(first, eval_set[0])))
        machine, history = run(_held(task.y, _answers(first, task.x)), eval_set)
        return _reweighted(machine, task), history

    return trained


def _with_robust_range(task: TrainingTask) -> TrainingTask:
    """The task with a range of targets that a few of them don't stretch."""
    low, high = np.quantile(task.y, (0.25, 0.75), axis=0)
    fence = FENCE * (high - low)
    least = np.maximum(task.target_min, low - fence)
    most = np.minimum(task.target_max, high + fence)
    # Where most rows have the same target there are no quartiles to go by.
    wide = most > least
    return replace(
        task,
        target_min=np.where(wide, least, task.target_min),
        target_max=np.where(wide, most, task.target_max),
    )


def _answers(machine: Model, x: NDArray) -> Floats:
    """Predictions (n, m) in the units of the targets."""
    span = machine.target_max - machine.target_min
    return np.asarray(machine.target_min + span * evaluate(machine.static, x).output)


def _held(y: NDArray, answers: Floats) -> Floats:
    """Targets (n, m), those far from the answers no further from them than Huber's bound."""
    left = y - answers
    bound = np.array([huber_bound(column) for column in left.T])
    return np.asarray(answers + np.clip(left, -bound, bound))


def _reweighted(machine: Model, task: TrainingTask) -> Model:
    """The machine with a readout by reweighted least squares, as far as it has nodes."""
    if not len(machine.readout):
        return machine
    seen = evaluate(machine.static, task.x)
    left = to_unit(task.y, machine.target_min, machine.target_max) - seen.output
    hidden = np.concatenate([seen.hidden, np.ones((len(left), 1))], axis=1)
    change = np.stack([_solved(hidden, column) for column in left.T], axis=1)
    return replace(
        machine, readout=machine.readout + change[:-1], intercept=machine.intercept + change[-1]
    )


def _solved(hidden: Floats, left: Floats) -> Floats:
    """What to add to a readout (nodes, then the intercept) that leaves this much of a target."""
    pull = np.full(hidden.shape[1], REFIT_RIDGE * len(left))
    pull[-1] = 0.0
    change = np.zeros(hidden.shape[1])
    # Each solution minimises a parabola that lies above Huber's loss and touches it at the solution
    # before: at a given scale of the residuals the loss never rises.
    for _ in range(REWEIGHTED):
        weighed = hidden * huber_weights(left - hidden @ change)[:, None]
        change = np.linalg.solve(weighed.T @ hidden + np.diag(pull), weighed.T @ left)
    return change


def find_outliers(machine: Model, x: NDArray, y: NDArray) -> Outliers:
    """The outliers among rows and their targets (n, m); of several targets the farthest counts."""
    left = np.abs(y - _answers(machine, x)[:, : y.shape[1]])
    scale = np.array([robust_scale(column) for column in left.T])
    distances = (left / np.where(scale > 0, scale, np.inf)).max(axis=1)
    rows = np.flatnonzero(distances > FAR)
    rows = rows[np.argsort(-distances[rows], kind="stable")]
    return Outliers(rows, distances[rows])
