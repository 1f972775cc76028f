"""Bounds that hold a share of the rows: a second readout of the same nodes, calibrated.

The width of an interval differs from place to place: it is fitted to the absolute errors on rows
that the machine was not trained on. Split conformal calibration on further rows then adds one
constant, so that ``[f - w, f + w]`` holds at least ``level`` of all rows that are drawn as these
were, whatever their distribution is and however well width or machine fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, inf, log2
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from scm_model import Model
from scm_model.interval import for_bounds, names_with_bounds
from scm_model.reference import Activity, evaluate
from scm_model.scaling import to_unit
from scm_train.algorithms import Algorithm
from scm_train.errors import DataError, ParameterError
from scm_train.history import History
from scm_train.training.run import TrainingTask

__all__ = ["interval_trainer"]

Floats = NDArray[np.float64]
Trainer = Callable[..., tuple[Model, History]]

#: Shares of the rows that are held back for the width and for calibration, and the most of them.
WIDTH_SHARE, CALIBRATION_SHARE = 0.1, 0.2
MOST_ROWS = 10_000
#: Families, or single nodes, that the width is read out of: the fewer, the fewer gates.
MOST_FAMILIES, MOST_NODES = 12, 60
#: Ridge penalties (in rows) that two halves of the rows choose from; the last is one width.
PENALTIES = (3.0, 10.0, 30.0, 100.0, inf)
#: Share of the mean absolute error that the width is at least.
LEAST_WIDTH = 0.2
#: Steps in the mean width, at least, of the grid that coefficients are rounded to.
GRID_STEPS = 32
#: Values that nodes of an activation lie between.
LOW = {"sign": -1.0, "tanh": -1.0}


@dataclass(frozen=True, eq=False)
class Width:
    """``offset + evidence @ coefficients``, none of them negative, nor is any evidence: so the
    width isn't either, for any input at all."""

    offset: float
    coefficients: Floats

    def of(self, evidence: Floats) -> Floats:
        return np.asarray(self.offset + evidence @ self.coefficients)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a width can be read out of: each node of a family; each other node and its opposite.

    ``groups`` (columns,) says what joins together, a family or a node with its opposite.
    """

    model: Model

    @property
    def groups(self) -> NDArray[np.int64]:
        families = self.model.families
        if families is not None:
            return np.repeat(np.arange(len(families.sizes)), families.sizes)
        return np.tile(np.arange(sum(self.model.nodes)), 2)

    @property
    def most_groups(self) -> int:
        return MOST_NODES if self.model.families is None else MOST_FAMILIES

    @property
    def _lows(self) -> Floats:
        layers = self.model.layers
        return np.concatenate(
            [np.zeros(0), *(np.full(one.nodes, LOW.get(one.activation, 0.0)) for one in layers)]
        )

    def columns(self, seen: Activity, chosen: NDArray[np.int64]) -> Floats:
        """The evidence (n, columns) of some groups on the rows that were seen."""
        if self.model.families is not None:
            starts = self._first + self.model.families.starts
            sizes = self.model.families.sizes
            parts = [
                np.eye(sizes[one])[seen.firing[:, one] - starts[one]] for one in chosen.tolist()
            ]
            return np.concatenate([np.zeros((len(seen.x), 0)), *parts], axis=1)
        high = (seen.hidden[:, chosen] - self._lows[chosen]) / (1 - self._lows[chosen])
        return np.concatenate([high, 1 - high], axis=1)

    @property
    def _first(self) -> int:
        """Where the families begin in the readout."""
        return sum(layer.nodes for layer in self.model.layers[:-1])

    def readout(self, width: Width, chosen: NDArray[np.int64]) -> tuple[Floats, float]:
        """The width as a readout (N,) of the machine's nodes, and its intercept."""
        found, intercept = np.zeros(sum(self.model.nodes)), width.offset
        if self.model.families is not None:
            places = np.flatnonzero(np.isin(self.groups, chosen))
            # The groups' columns come in the order in which they were chosen, sorted.
            found[self._first + places] = width.coefficients
            return found, intercept
        up, down = np.split(width.coefficients, 2)
        # up (h - low) / (1 - low) + down (1 - h) / (1 - low), as a slope of h and a constant.
        slopes = (up - down) / (1 - self._lows[chosen])
        found[chosen] = slopes
        return found, float(intercept + down.sum() - slopes @ self._lows[chosen])


def interval_trainer(train: Trainer) -> Trainer:
    """``train`` for machines with bounds: some rows are held back from it, and make the bounds."""

    def trained(
        algorithm: Algorithm,
        parameters: dict[str, Any],
        task: TrainingTask,
        eval_set: tuple[NDArray, NDArray] | None,
        random: np.random.RandomState,
    ) -> tuple[Model, History]:
        level = _checked(parameters)
        rows, shaping, calibrating = _split(len(task.x), level, random)
        machine, history = train(algorithm, parameters, _part(task, rows), eval_set, random)
        return _with_bounds(machine, task, shaping, calibrating, level), history

    return trained


def _checked(parameters: dict[str, Any]) -> float:
    level = parameters["interval"]
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < level < 1:
        raise ParameterError(f"interval must be a level between 0 and 1, not {level!r}")
    if parameters["mechanism"] is not None:
        raise ParameterError("interval must be None for a machine with a mechanism")
    return float(level)


def _split(
    rows: int, level: float, random: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows to train on, to fit the width to, and to calibrate on, each in order."""
    shaping = min(MOST_ROWS, round(WIDTH_SHARE * rows))
    calibrating = min(MOST_ROWS, round(CALIBRATION_SHARE * rows))
    # With fewer, the quantile would be larger than every score.
    fewest = ceil(level / (1 - level) - 1e-9)
    if calibrating < fewest:
        raise DataError(
            f"rows must be at least {ceil(fewest / CALIBRATION_SHARE)} for interval={level:g}, "
            f"not {rows}; gather more, or lower the level"
        )
    # A random choice: rows held back are exchangeable with those to come, which is all that the
    # guarantee needs.
    order = random.permutation(rows)
    held = shaping + calibrating
    return np.sort(order[held:]), np.sort(order[:shaping]), np.sort(order[shaping:held])


def _rank(rows: int, level: float) -> int:
    """The rank of the score, of ``rows`` sorted ones, that a further score exceeds with probability
    ``1 - level`` at most."""
    # Rounding of 0.9 (9 + 1) must not make it more than 9.
    return ceil((rows + 1) * level - 1e-9)


def _part(task: TrainingTask, rows: NDArray[np.int64]) -> TrainingTask:
    weights = None if task.weights is None else task.weights[rows]
    return replace(task, x=task.x[rows], y=task.y[rows], weights=weights)


def _with_bounds(
    machine: Model,
    task: TrainingTask,
    shaping: NDArray[np.int64],
    calibrating: NDArray[np.int64],
    level: float,
) -> Model:
    plain, span = machine.static, (machine.target_min, machine.target_max)
    seen, later = evaluate(plain, task.x[shaping]), evaluate(plain, task.x[calibrating])
    errors = np.abs(seen.output - to_unit(task.y[shaping], *span))
    further = np.abs(later.output - to_unit(task.y[calibrating], *span))
    evidence = Evidence(plain)
    found = [
        _bound(evidence, seen, errors[:, k], later, further[:, k], level)
        for k in range(machine.outputs)
    ]
    readouts, intercepts = (np.stack([one[i] for one in found], axis=-1) for i in (0, 1))
    return replace(
        machine,
        readout=_spread(machine.readout, readouts),
        linear=_spread(machine.linear, np.zeros_like(machine.linear)),
        intercept=_spread(machine.intercept, intercepts),
        target_min=for_bounds(machine.target_min),
        target_max=for_bounds(machine.target_max),
        targets=names_with_bounds(machine.targets),
        info=machine.info | {"interval": {"level": level}},
    )


def _spread(values: Floats, width: Floats) -> Floats:
    """The prediction's values (..., k), and behind them those of its bounds."""
    bounds = np.stack([values - width, values + width], axis=-1)
    return np.concatenate(
        [values, bounds.reshape(*values.shape[:-1], 2 * values.shape[-1])], axis=-1
    )


def _bound(
    evidence: Evidence,
    seen: Activity,
    errors: Floats,
    later: Activity,
    further: Floats,
    level: float,
) -> tuple[Floats, float]:
    """The readout of half the interval of one target, and its intercept."""
    chosen, width = _fitted(evidence, seen, errors)
    # As large as the quantile of the errors here already, so that calibration has little to add.
    ratio = errors / width.of(evidence.columns(seen, chosen))
    width = _rounded(width, float(np.quantile(ratio, level)), float(errors.mean()))
    # Scores |y - f| - w on rows that neither machine nor width was fitted to: these alone make the
    # share of rows within the bounds a guarantee.
    scores = np.sort(further - width.of(evidence.columns(later, chosen)))
    shift = float(scores[_rank(len(scores), level) - 1])
    # Less than nothing would be no interval; a wider one holds as much.
    width = replace(width, offset=max(0.0, width.offset + shift))
    return evidence.readout(width, chosen)


def _rounded(width: Width, factor: float, mean: float) -> Width:
    """The width times a factor, with coefficients on a coarse grid: tables of few bits."""
    if not width.coefficients.any():
        return Width(width.offset * factor, width.coefficients)
    step = 2.0 ** floor(log2(factor * mean / GRID_STEPS))
    return Width(width.offset * factor, step * np.round(width.coefficients * factor / step))


def _fitted(evidence: Evidence, seen: Activity, errors: Floats) -> tuple[NDArray[np.int64], Width]:
    """The width with the penalty that is best on the half of the rows that is not fitted to."""
    half = np.arange(len(errors)) % 2 == 0
    wrong = []
    for penalty in PENALTIES:
        total = 0.0
        for own in (half, ~half):
            chosen, width = _fit(evidence, seen, errors, own, penalty)
            unseen = evidence.columns(seen, chosen)[~own]
            total += float(np.sum((width.of(unseen) - errors[~own]) ** 2))
        wrong.append(total)
    # Of equal errors the last and largest penalty wins, which makes the fewest gates.
    best = PENALTIES[len(wrong) - 1 - int(np.argmin(wrong[::-1]))]
    return _fit(evidence, seen, errors, np.ones(len(errors), bool), best)


def _fit(
    evidence: Evidence, seen: Activity, errors: Floats, rows: NDArray[np.bool_], penalty: float
) -> tuple[NDArray[np.int64], Width]:
    mean = float(errors[rows].mean()) if rows.any() else 0.0
    # A machine without any error has a width all the same.
    least = max(LEAST_WIDTH * mean, 2.0**-20)
    none = np.empty(0, dtype=np.int64)
    if penalty == inf:
        return none, Width(max(mean, least), np.zeros(0))
    chosen = _best_groups(evidence, seen, errors - mean, rows, penalty)
    columns = evidence.columns(seen, chosen)[rows]
    if not columns.shape[1]:
        return none, Width(max(mean, least), np.zeros(0))
    # A large column for the offset makes its penalty none.
    wide = np.concatenate([np.full((len(columns), 1), 100.0), columns], axis=1)
    ridge = Ridge(alpha=penalty, fit_intercept=False, positive=True, max_iter=2000, tol=1e-6)
    found = ridge.fit(wide, errors[rows] - least).coef_
    return chosen, Width(least + 100.0 * float(found[0]), np.maximum(found[1:], 0.0))


def _best_groups(
    evidence: Evidence, seen: Activity, left: Floats, rows: NDArray[np.bool_], penalty: float
) -> NDArray[np.int64]:
    """The groups that each explain most of what is left of the errors, in order."""
    count = int(evidence.groups.max(initial=-1)) + 1
    gains = np.zeros(count)
    for group in range(count):
        columns = evidence.columns(seen, np.array([group]))[rows]
        gains[group] = np.sum((columns.T @ left[rows]) ** 2 / ((columns**2).sum(axis=0) + penalty))
    return np.sort(np.argsort(-gains, kind="stable")[: evidence.most_groups])
