"""Bounds as further outputs of a machine: ``y``, then ``y.lower`` and ``y.upper``.

Of k targets the first k outputs predict, and behind them are a lower and an upper bound for each.
``info["interval"]`` says so, with the ``level``: the share of rows that the bounds are to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scm_model.errors import DataError, ModelFileError
from scm_model.scaling import Floats

if TYPE_CHECKING:
    from scm_model.model import Model

__all__ = ["Covered", "check_interval", "covered", "for_bounds", "names_with_bounds", "of_points"]


@dataclass(frozen=True, eq=False)
class Covered:
    """How bounds do on some rows, by target: the share of rows inside, and the mean width."""

    coverage: Floats
    width: Floats


def check_interval(interval: Any, task: str, outputs: int) -> None:
    """Refuse a note on bounds that the rest of a model file contradicts."""
    level = interval.get("level") if isinstance(interval, Mapping) else None
    if not isinstance(level, float) or not 0 < level < 1:
        raise ModelFileError(
            f"meta 'interval' must have a 'level' between 0 and 1, not {interval!r}"
        )
    if task != "regression" or outputs % 3:
        raise ModelFileError(
            "meta 'interval' must belong to a regression with three outputs per target, not to a "
            f"{task} with {outputs}"
        )


def names_with_bounds(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of all outputs, by those of the targets."""
    found = names + tuple(f"{name}.{bound}" for name in names for bound in ("lower", "upper"))
    if len(set(found)) < len(found):
        raise DataError(
            f"names of targets must differ from those of bounds, not {', '.join(names)}; "
            "rename the target that ends in .lower or .upper"
        )
    return found


def for_bounds(values: NDArray[Any]) -> NDArray[Any]:
    """What each target has (..., k), for its prediction and its two bounds (..., 3 k)."""
    return np.concatenate([values, np.repeat(values, 2, axis=-1)], axis=-1)


def of_points(model: Model) -> Model:
    """The machine without its bounds; itself if it has none."""
    if model.level is None:
        return model
    k, rows = model.points, model.evaluation
    return replace(
        model,
        readout=model.readout[:, :k],
        linear=model.linear[:, :k],
        intercept=model.intercept[:k],
        target_min=model.target_min[:k],
        target_max=model.target_max[:k],
        targets=model.targets[:k],
        info={key: value for key, value in model.info.items() if key != "interval"},
        evaluation=None if rows is None else replace(rows, targets=rows.targets[:, :k]),
    )


def covered(outputs: NDArray[Any], targets: NDArray[Any]) -> Covered:
    """Of outputs (n, 3 k) and targets (n, k or 3 k) in the same units; a bound itself is inside."""
    k = outputs.shape[1] // 3
    # Behind the predictions bounds alternate: lower, upper, lower, upper.
    low, high, y = outputs[:, k::2], outputs[:, k + 1 :: 2], targets[:, :k]
    return Covered(((low <= y) & (y <= high)).mean(axis=0), (high - low).mean(axis=0))
