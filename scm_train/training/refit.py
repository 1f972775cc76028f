"""Another readout for the same hidden nodes: least squares on new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import Activity, ExternalModel, Model, evaluate
from scm_train.errors import DataError, ParameterError

__all__ = ["REFIT_RIDGE", "refit"]

Floats = NDArray[np.float64]

# The pull to the readout that is there, for each row, where there are too few rows to choose by:
# it decides what the rows say nothing of.
REFIT_RIDGE = 1e-3
# What "auto" chooses from. The strongest leaves all but the intercept as it is.
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e3)
# One row in four chooses the ridge, unless that is fewer than these.
HELD, FEWEST_HELD = 4, 10
# Numbers of hidden outputs that are held at once.
CHUNK_NUMBERS = 2**22


def refit(
    machine: Model, X: ArrayLike, targets: ArrayLike, ridge: float | str = "auto", seed: int = 0
) -> Model:
    """The model with its readout and intercept solved again on rows; all else stays.

    ``targets`` are raw (n, m), or class indices (n,). The squared error of the rows is minimised,
    with ``ridge`` times their number as the weight of the squared distance to the readout that is
    there: few rows change it little. "auto" takes the ridge with the least error on rows that are
    held back, drawn by ``seed``, and then fits all rows. Scores and test rows of before are left
    out.
    """
    if ridge != "auto" and not (isinstance(ridge, int | float) and 0 < ridge < np.inf):
        raise ParameterError(f"ridge must be a number above 0 or 'auto', not {ridge!r}")
    check_refit(machine)
    wanted = normalised_targets(machine, np.asarray(targets))
    activity = evaluate(machine, X)
    if len(activity.output) != len(wanted) or not len(wanted):
        raise DataError(
            f"rows must have a target each, not {len(activity.output)} rows and {len(wanted)}"
        )
    held = np.zeros(len(wanted), dtype=bool)
    if ridge == "auto" and len(wanted) >= HELD * FEWEST_HELD:
        held[np.random.default_rng(seed).permutation(len(wanted))[::HELD]] = True
    rows = _Sums.of(machine, activity, wanted, ~held)
    if held.any():
        unseen = _Sums.of(machine, activity, wanted, held)
        ridge = min(RIDGES, key=lambda one: unseen.error(rows.solved(one)))
        rows = rows.joined(unseen)
    return changed(machine, rows.solved(REFIT_RIDGE if isinstance(ridge, str) else ridge))


@dataclass(frozen=True, eq=False)
class _Sums:
    """All that least squares needs of some rows: how many, and products of what the readout weighs.

    ``gram`` (k + 1, k + 1) and ``cross`` (k + 1, m) have the intercept last.
    """

    rows: int
    gram: Floats
    cross: Floats

    @classmethod
    def of(cls, machine: Model, activity: Activity, wanted: Floats, used: NDArray) -> _Sums:
        """Of the rows in ``used``, a part of them at a time."""
        families = machine.families
        first = len(machine.readout) - families.nodes if families is not None else 0
        unknowns = len(machine.readout) - first
        gram = np.zeros((unknowns + 1, unknowns + 1))
        cross = np.zeros((unknowns + 1, wanted.shape[1]))
        places = np.flatnonzero(used)
        step = max(1, CHUNK_NUMBERS // (unknowns + 1))
        for start in range(0, len(places), step):
            part = places[start : start + step]
            outputs = weighed(activity, part, first, unknowns)
            gram += outputs.T @ outputs
            # The right-hand side is the residual, so that the unknown is the change of the readout
            # and the ridge pulls to the readout that is there, not to 0.
            cross += outputs.T @ (wanted[part] - activity.output[part])
        return cls(len(places), gram, cross)

    def joined(self, other: _Sums) -> _Sums:
        return _Sums(self.rows + other.rows, self.gram + other.gram, self.cross + other.cross)

    def solved(self, ridge: float) -> Floats:
        """The change of readout and intercept (k + 1, m) with the least error and pull."""
        pull = np.full(len(self.gram), ridge * self.rows)
        # The intercept follows the mean of the rows.
        pull[-1] = 0.0
        return np.linalg.solve(self.gram + np.diag(pull), self.cross)

    def error(self, change: Floats) -> float:
        """The squared error after a change, less what it is without any."""
        return float(np.sum(change * (self.gram @ change - 2 * self.cross)))


def changed(machine: Model, change: Floats) -> Model:
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


def normalised_targets(machine: Model, targets: NDArray) -> Floats:
    """Raw targets or class indices as what the outputs are to be."""
    if machine.classes is not None:
        return np.eye(machine.outputs)[targets]
    span = machine.target_max - machine.target_min
    return (targets.reshape(len(targets), -1) - machine.target_min) / span


def weighed(
    activity: Activity, rows: slice | NDArray[np.intp], first: int, unknowns: int
) -> Floats:
    """What the readout weighs, a column each, and ones for the intercept."""
    firing = activity.firing[rows]
    found = np.ones((len(firing), unknowns + 1))
    if firing.shape[1]:
        found[:, :-1] = 0.0
        found[np.arange(len(firing))[:, None], firing - first] = 1.0
    else:
        found[:, :-1] = activity.hidden[rows]
    return found
