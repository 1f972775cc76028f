"""How well a machine does on rows whose targets are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import Evaluation, FamilyLayer, Model, classes_of, evaluate
from scm_model.flags import NOVEL, UNSURE, novel_rows, unsure_rows
from scm_model.interval import covered, of_points
from scm_model.memory import check_first
from scm_model.scaling import from_unit, to_unit
from scm_model.suggestions import did_you_mean
from scm_train.errors import DataError
from scm_train.families.losses import probabilities

__all__ = ["class_indices", "flag_columns", "flagged_by", "record_scores", "score"]


def score(
    machine: Model, X: NDArray, targets: NDArray, mechanism_values: ArrayLike | None = None
) -> dict[str, Any]:
    """Errors on rows with ``targets`` (n, m), or class indices (n,) for a classifier.

    ``rmse`` is over all outputs in normalised units; of classes, that of their probabilities, or of
    outputs that were fitted to indicators. A regression adds per target
    ``rmse_raw``, ``mae_raw`` and ``worst_raw`` in its own units, and ``r2``, None where the target
    does not vary; one with bounds also the ``level`` of its intervals, their ``coverage`` and their
    mean width, ``width_raw``. A classifier adds ``accuracy``, ``balanced_accuracy``, ``majority``,
    the accuracy of always answering the most frequent class, and ``confusion``: a row per class, a
    column per answer. Of a machine with flags there are ``unsure`` and ``novel``.
    """
    y_norm = machine.decision(X, mechanism_values)
    return _scores(machine, y_norm, targets) | _flag_scores(machine, X, y_norm, targets)


def flagged_by(machine: Model) -> list[str]:
    """The flags that a machine can set without a port."""
    if machine.flags is None:
        return []
    own = ((UNSURE, machine.flags.unsure), (NOVEL, machine.flags.novelty))
    return [name for name, one in own if one is not None]


def flag_columns(machine: Model, X: NDArray) -> dict[str, NDArray[np.bool_]]:
    """These flags of each row, by name."""
    flags, found = machine.flags, {}
    if flags is not None and flags.unsure is not None:
        found[UNSURE] = unsure_rows(flags.unsure, machine.decision(X))
    if flags is not None and flags.novelty is not None:
        found[NOVEL] = novel_rows(flags.novelty, evaluate(machine, X).hidden)
    return found


def _flag_scores(
    machine: Model, X: NDArray, y_norm: NDArray[np.float64], targets: NDArray
) -> dict[str, Any]:
    """The shares of rows that have a flag; of an unsure classifier also of those that are wrong
    without it, and the accuracy where it is sure."""
    flags, found = machine.flags, {}
    if flags is None:
        return found
    if flags.unsure is not None:
        unsure, right = unsure_rows(flags.unsure, y_norm), classes_of(y_norm) == targets
        found["unsure"] = {
            "level": flags.unsure.level,
            "share": float(unsure.mean()),
            "wrong_unflagged": float((~right & ~unsure).mean()),
            "accuracy_of_sure": float(right[~unsure].mean()) if (~unsure).any() else None,
        }
    if flags.novelty is not None:
        novel = novel_rows(flags.novelty, evaluate(machine, X).hidden)
        found["novel"] = {"rate": flags.novelty.rate, "share": float(novel.mean())}
    return found


def record_scores(machine: Model, rows: Evaluation) -> dict[str, Any]:
    """The same of records, over the rows with a full history. With feedback the machine runs free;
    ``one_step_rmse`` is what it errs by where it sees measured outputs."""
    memory = machine.memory
    assert memory is not None
    first = check_first(rows.first, len(rows))
    # Before its history is full, a machine of records has nothing to be judged by.
    full = memory.complete(first)
    if not full.any():
        raise DataError(
            f"records to test on must be longer than the history of {memory.depth} rows; "
            "hold out more of them with --test-fraction"
        )
    targets = rows.targets[full]
    if not memory.feedback:
        return _scores(machine, machine.decision(rows.inputs, first=first)[full], targets)
    measured = rows.targets
    free = machine.decision(rows.inputs, first=first, outputs=measured, simulate=True)[full]
    ahead = machine.decision(rows.inputs, first=first, outputs=measured)[full]
    one_step = ahead - to_unit(targets, machine.target_min, machine.target_max)
    return _scores(machine, free, targets) | {"one_step_rmse": _rmse(one_step)}


def _scores(machine: Model, y_norm: NDArray[np.float64], targets: NDArray) -> dict[str, Any]:
    if machine.classes is not None:
        return _class_scores(machine, y_norm, targets)
    bounds = {}
    if machine.level is not None:
        machine, y_norm, targets, bounds = _without_bounds(machine, y_norm, targets)
    error = y_norm - to_unit(targets, machine.target_min, machine.target_max)
    raw = np.abs(error) * (machine.target_max - machine.target_min)
    variance = targets.var(axis=0)
    squares = (raw**2).mean(axis=0)
    r2 = [
        float(1 - s / v) if v > 0 else None
        for s, v in zip(squares.tolist(), variance.tolist(), strict=True)
    ]
    return {
        "rmse": _rmse(error),
        "rmse_raw": _by_target(machine, np.sqrt(squares).tolist()),
        "mae_raw": _by_target(machine, raw.mean(axis=0).tolist()),
        "worst_raw": _by_target(machine, raw.max(axis=0).tolist()),
        "r2": _by_target(machine, r2),
    } | bounds


def _without_bounds(
    machine: Model, y_norm: NDArray[np.float64], targets: NDArray
) -> tuple[Model, NDArray[np.float64], NDArray, dict[str, Any]]:
    """Machine, outputs and targets of the predictions, and how their bounds do."""
    k, points = machine.points, of_points(machine)
    raw = from_unit(y_norm, machine.target_min, machine.target_max)
    found = covered(raw, targets)
    scores = {
        "level": machine.level,
        "coverage": _by_target(points, found.coverage.tolist()),
        "width_raw": _by_target(points, found.width.tolist()),
    }
    return points, y_norm[:, :k], targets[:, :k], scores


def _by_target(machine: Model, values: Sequence[float | None]) -> dict[str, float | None]:
    return dict(zip(machine.targets, values, strict=True))


def _class_scores(
    machine: Model, y_norm: NDArray[np.float64], targets: NDArray[np.int64]
) -> dict[str, Any]:
    assert machine.classes is not None
    classes = len(machine.classes)
    confusion = np.zeros((classes, classes), dtype=np.int64)
    # Unlike +=, this counts a pair as often as it occurs.
    np.add.at(confusion, (targets, classes_of(y_norm)), 1)
    rows, hits = confusion.sum(axis=1), confusion.diagonal()
    shares = class_shares(machine, y_norm)
    return {
        "rmse": _rmse(shares - np.eye(classes)[targets]),
        "accuracy": float(hits.sum() / len(targets)),
        # A class without test rows has no share of right answers.
        "balanced_accuracy": float((hits[rows > 0] / rows[rows > 0]).mean()),
        "majority": float(rows.max() / len(targets)),
        "confusion": confusion.tolist(),
    }


def class_shares(machine: Model, y_norm: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is compared with indicators of the classes: probabilities, where outputs are log-odds.

    Growth by nodes fits outputs to indicators; families, and one output for two classes, don't.
    """
    log_odds = any(isinstance(layer, FamilyLayer) for layer in machine.layers)
    if log_odds or y_norm.shape[1] == 1:
        return probabilities(y_norm.T).T
    return y_norm


def _rmse(error: NDArray) -> float:
    return float(np.sqrt((error**2).mean()))


def class_indices(machine: Model, labels: NDArray) -> NDArray[np.int64]:
    """The index of each label among the machine's classes.

    A label that isn't equal to a class may be written like one, as ``True`` is in a text file.
    """
    assert machine.classes is not None
    index: dict[object, int] = {str(label): i for i, label in enumerate(machine.classes)}
    index |= {label: i for i, label in enumerate(machine.classes)}
    values, inverse = np.unique(labels, return_inverse=True)
    found = [index.get(value, index.get(str(value))) for value in values.tolist()]
    if None in found:
        label = values.tolist()[found.index(None)]
        raise DataError(
            f"label must be one of the model's {machine.outputs} classes, not {label!r}; "
            f"{did_you_mean(label, map(str, machine.classes))}"
        )
    return np.array(found, dtype=np.int64)[inverse]
