"""Another readout for the same hidden nodes: least squares on new rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import Activity, ExternalModel, Model, evaluate
from scm_train.errors import DataError, ParameterError

__all__ = ["REFIT_RIDGE", "refit"]

# The pull to the readout that is there, for each row: it decides what the rows say nothing of.
REFIT_RIDGE = 1e-3
# Numbers of hidden outputs that are held at once.
CHUNK_NUMBERS = 2**22


def refit(machine: Model, X: ArrayLike, targets: ArrayLike, ridge: float = REFIT_RIDGE) -> Model:
    """The model with its readout and intercept solved again on rows; all else stays.

    ``targets`` are raw (n, m), or class indices (n,). The squared error of the rows is minimised,
    with ``ridge`` times their number as the weight of the squared distance to the readout that is
    there: few rows change it little. Scores and test rows of before are left out.
    """
    if not (np.isfinite(ridge) and ridge > 0):
        raise ParameterError(f"ridge must be a number above 0, not {ridge!r}")
    check_refit(machine)
    wanted = normalised_targets(machine, np.asarray(targets))
    activity = evaluate(machine, X)
    if len(activity.output) != len(wanted) or not len(wanted):
        raise DataError(
            f"rows must have a target each, not {len(activity.output)} rows and {len(wanted)}"
        )
    first = len(machine.readout) - machine.families.nodes if machine.families is not None else 0
    unknowns = len(machine.readout) - first
    gram = np.zeros((unknowns + 1, unknowns + 1))
    cross = np.zeros((unknowns + 1, wanted.shape[1]))
    step = max(1, CHUNK_NUMBERS // (unknowns + 1))
    for start in range(0, len(wanted), step):
        part = slice(start, start + step)
        outputs = weighed(activity, part, first, unknowns)
        gram += outputs.T @ outputs
        cross += outputs.T @ (wanted[part] - activity.output[part])
    pull = np.full(unknowns + 1, ridge * len(wanted))
    # The intercept follows the mean of the rows.
    pull[-1] = 0.0
    return changed(machine, np.linalg.solve(gram + np.diag(pull), cross))


def changed(machine: Model, change: NDArray[np.float64]) -> Model:
    """The model with another readout: what is added to its last coefficients and the intercept."""
    readout = machine.readout.copy()
    readout[len(readout) - len(change) + 1 :] += change[:-1]
    return replace(
        machine,
        readout=readout,
        intercept=machine.intercept + change[-1],
        evaluation=None,
        info={key: value for key, value in machine.info.items() if key != "scores"},
    )


def check_refit(machine: Model) -> None:
    """ParameterError for a machine whose readout can't be fitted again."""
    logistic = machine.info.get("settings", {}).get("readout") == "logistic"
    logistic |= machine.classes is not None and machine.families is not None
    for is_so, what in (
        # They would have to be calibrated again, on rows that the readout isn't fitted to.
        (machine.level is not None, "predictions alone, not bounds"),
        (
            machine.flags is not None and machine.flags.unsure is not None,
            "classes alone, not the flag unsure",
        ),
        (not len(machine.readout), "hidden nodes, not a linear part alone"),
        (machine.memory is not None, "rows of its own, not memory"),
        (isinstance(machine.mechanism, ExternalModel), "its mechanism inside, not from outside"),
        (logistic or machine.decides_by_sign, "a readout by least squares, not of log-odds"),
    ):
        if is_so:
            raise ParameterError(f"model must have {what}, to be fitted again; train a new one")


def normalised_targets(machine: Model, targets: NDArray) -> NDArray[np.float64]:
    """Raw targets or class indices as what the outputs are to be."""
    if machine.classes is not None:
        return np.eye(machine.outputs)[targets]
    span = machine.target_max - machine.target_min
    return (targets.reshape(len(targets), -1) - machine.target_min) / span


def weighed(activity: Activity, rows: slice, first: int, unknowns: int) -> NDArray[np.float64]:
    """What the readout weighs, a column each, and ones for the intercept."""
    firing = activity.firing[rows]
    found = np.ones((len(firing), unknowns + 1))
    if firing.shape[1]:
        found[:, :-1] = 0.0
        found[np.arange(len(firing))[:, None], firing - first] = 1.0
    else:
        found[:, :-1] = activity.hidden[rows]
    return found
