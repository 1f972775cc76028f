"""How well a machine does on rows whose targets are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import Model
from scm_model.scaling import to_unit
from scm_model.suggestions import did_you_mean
from scm_train.errors import DataError

__all__ = ["class_indices", "score"]


def score(
    machine: Model, X: NDArray, targets: NDArray, mechanism_values: ArrayLike | None = None
) -> dict[str, Any]:
    """Errors on rows with ``targets`` (n, m), or class indices (n,) for a classifier.

    ``rmse`` is over all outputs in normalised units, as in training. A regression adds
    ``rmse_raw``, per target in its own units; a classifier adds ``accuracy``.
    """
    y_norm = machine.decision(X, mechanism_values)
    if machine.classes is not None:
        wanted = np.eye(machine.outputs)[targets]
        hits = y_norm.argmax(axis=1) == targets
        return {"rmse": _rmse(y_norm - wanted), "accuracy": float(hits.mean())}
    error = y_norm - to_unit(targets, machine.target_min, machine.target_max)
    span = machine.target_max - machine.target_min
    raw = np.sqrt((error**2).mean(axis=0)) * span
    return {
        "rmse": _rmse(error),
        "rmse_raw": dict(zip(machine.targets, raw.tolist(), strict=True)),
    }


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
