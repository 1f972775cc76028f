"""One training run: raw arrays in, a machine and its history out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Columns, Encoder, Model
from scm_model.scaling import to_unit
from scm_train.algorithms import Algorithm
from scm_train.chunks import chunk_map
from scm_train.encode.columns import encoder_of_columns
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.resolution import plain_codes
from scm_train.encode.rows import ScaledRows
from scm_train.errors import DataError, ParameterError
from scm_train.families.machine import Size
from scm_train.families.problem import Problem, Source
from scm_train.families.run import FamilyRun, problem_of, train_families
from scm_train.growth.engine import Fitted, Part, train
from scm_train.history import History
from scm_train.mechanisms import Mechanism, as_mechanism
from scm_train.progress import progress_bar
from scm_train.solve.further_rows import RestOfRows
from scm_train.training.parameters import (
    DEFAULT_LUTS,
    check_draws,
    check_readout,
    draw_of,
    input_bits_of,
    settings_of,
)
from scm_train.training.split import split_rows
from scm_train.training.targets import unexplained

__all__ = [
    "TrainingTask",
    "check_span",
    "machine_of",
    "run_info",
    "train_by_families",
    "train_machine",
]

Floats = NDArray[np.float64]

#: Quantile thresholds are found on at most this many rows, evenly spread.
ENCODER_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """What is to be learned: raw inputs, raw targets (n, m) with their range, and their names."""

    x: NDArray
    y: NDArray
    target_min: Floats
    target_max: Floats
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    weights: Floats | None = None
    #: What the inputs are made of, and their ranges then.
    columns: Columns | None = None
    input_range: tuple[Floats, Floats] | None = None
    input_bits: int | None = None

    def __post_init__(self) -> None:
        check_span("inputs", self.x.min(axis=0), self.x.max(axis=0), self.feature_names)
        check_span("targets", self.target_min, self.target_max, self.target_names)


def check_span(what: str, low: Floats, high: Floats, names: tuple[str, ...]) -> None:
    """Everything is scaled by its range, which therefore has to be a number."""
    with np.errstate(over="ignore"):
        endless = ~np.isfinite(np.asarray(high, dtype=np.float64) - low)
    if endless.any():
        first = int(np.argmax(endless))
        raise DataError(
            f"{what} must span a finite range, not {low[first]:g} to {high[first]:g} in "
            f"{names[first]!r}; divide them by a constant"
        )


def train_machine(
    algorithm: Algorithm,
    parameters: dict[str, Any],
    task: TrainingTask,
    eval_set: tuple[NDArray, NDArray] | None,
    random: np.random.RandomState,
) -> tuple[Model, History]:
    """Train ``algorithm`` on a task.

    ``eval_set`` (raw inputs and targets) serves as validation rows; without it, some of the task's
    own rows do where early stopping or ridge needs them, and the final readout sees them again.
    """
    # One number of the user's generator seeds all that follows; the model file has it.
    seed = int(random.randint(np.iinfo(np.int32).max))
    check_readout(parameters, task.classes is not None)
    settings = settings_of(algorithm, parameters, refit=eval_set is None)
    draw = draw_of(algorithm, parameters)
    rng = np.random.default_rng(seed)
    low, high = _range(task)
    encoder = _encoder(parameters, task, low, high)
    check_draws(settings, encoder.width)
    mechanism = as_mechanism(parameters["mechanism"]).bind(
        task.x, low, high, task.target_min, task.target_max, encoder, task.feature_names
    )
    chosen = settings.early_stopping or settings.ridge == "auto" or settings.log_odds
    needed = eval_set is None and chosen
    kept, held, others = split_rows(
        len(task.x),
        parameters["validation_fraction"] if needed else 0,
        parameters["search_rows"],
        rng,
    )

    def part(x: NDArray, y: NDArray) -> Part:
        rows = ScaledRows(x, low, high, encoder)
        return Part(rows, _targets(rows, y, task, mechanism))

    training = part(_take(task.x, kept), _take(task.y, kept))
    validation = None
    if eval_set is not None:
        validation = part(*eval_set)
    elif held is not None:
        validation = part(task.x[held], task.y[held])
    rest = None
    if others is not None:
        own = part(task.x[others], task.y[others])
        rest = RestOfRows(own.rows, own.targets)
    history = History()
    with chunk_map() as mapped, progress_bar(parameters["verbose"], settings.most_nodes) as report:
        fitted = train(
            training,
            validation,
            settings,
            draw,
            rng,
            history=history,
            chunk_map=mapped,
            report=report,
            rest=rest,
        )
    info = run_info(parameters, seed, fitted, history)
    machine = machine_of(algorithm, task, fitted, encoder, mechanism, (low, high), info, history)
    return machine, history


def train_by_families(
    algorithm: Algorithm,
    parameters: dict[str, Any],
    task: TrainingTask,
    eval_set: tuple[NDArray, NDArray] | None,
    random: np.random.RandomState,
) -> tuple[Model, History]:
    """Train a machine of families on a task; ``eval_set`` chooses its size instead of own rows."""
    seed = int(random.randint(np.iinfo(np.int32).max))
    low, high = _range(task)
    if task.columns is not None:
        # Where the code of a missing value is depends on the number of bits.
        parameters = parameters | {"input_bits": task.input_bits}
    encoder = plain_codes(parameters, task.x, low, high)
    mechanism = as_mechanism(parameters["mechanism"]).bind(
        task.x, low, high, task.target_min, task.target_max, encoder, task.feature_names
    )
    classes = len(task.classes) if task.classes is not None else 0
    robust = parameters["loss"] == "huber"

    def problem(x: NDArray, y: NDArray, weights: Floats | None) -> Problem:
        targets = y if classes else _targets(ScaledRows(x, low, high, encoder), y, task, mechanism)
        codes = encoder.codes(to_unit(x, low, high))
        return problem_of(codes, targets, weights, classes, encoder, robust)

    return machine_of_families(
        problem(task.x, task.y, task.weights),
        None if eval_set is None else problem(*eval_set, None),
        algorithm,
        parameters,
        task,
        encoder,
        mechanism,
        (low, high),
        seed,
    )


def machine_of_families(
    problem: Source,
    unseen: Problem | None,
    algorithm: Algorithm,
    parameters: dict[str, Any],
    task: TrainingTask,
    encoder: Encoder,
    mechanism: Mechanism,
    input_range: tuple[Floats, Floats],
    seed: int,
) -> tuple[Model, History]:
    """Train on a problem; ``unseen`` chooses the size, or without it some of the problem's rows."""
    history = History()
    fitted = train_families(
        problem,
        _unseen_share(parameters, len(problem)) if unseen is None else unseen,
        FamilyRun(_size(parameters), parameters["members"], seed, linear=algorithm.linear),
        history,
    )
    info = run_info(parameters, seed, fitted, history)
    if problem.classes == 2:
        # Two classes have one output, the log-odds of the second.
        task = replace(
            task,
            target_names=task.target_names[1:],
            target_min=task.target_min[1:],
            target_max=task.target_max[1:],
        )
    machine = machine_of(algorithm, task, fitted, encoder, mechanism, input_range, info, history)
    return machine, history


def _unseen_share(parameters: dict[str, Any], rows: int) -> float:
    """The share of the rows that choose the size, once ``split_rows`` has no objection."""
    fraction = parameters["validation_fraction"]
    split_rows(rows, fraction, None, np.random.default_rng(0))
    return min(2 * fraction, 0.5)


def _size(parameters: dict[str, Any]) -> Size:
    luts = DEFAULT_LUTS if parameters["luts"] is None else parameters["luts"]
    most = parameters["max_nodes"]
    if isinstance(most, Sequence) and len(most) == 1:
        (most,) = most
    if most == "auto" or most is None:
        return Size(float(luts))
    if not isinstance(most, Integral) or most < 1:
        raise ParameterError(
            f"max_nodes must be one positive whole number beside luts, not {most!r}"
        )
    return Size(float(luts), int(most))


def _range(task: TrainingTask) -> tuple[Floats, Floats]:
    if task.input_range is not None:
        return task.input_range
    x = task.x
    low, high = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
    # A constant input has no range to scale by; any will do, and hardware wants one.
    return low, np.where(high > low, high, low + np.maximum(1.0, np.spacing(np.abs(low))))


def _encoder(parameters: dict[str, Any], task: TrainingTask, low: Floats, high: Floats) -> Encoder:
    stride = -(-len(task.x) // ENCODER_ROWS)
    rows, bits = to_unit(task.x[::stride], low, high), input_bits_of(parameters)
    encoder = fit_encoder(parameters["encoder"], rows, input_bits=bits)
    return encoder if task.columns is None else encoder_of_columns(encoder, task.columns)


def _take(values: NDArray, kept: NDArray | None) -> NDArray:
    return values if kept is None else values[kept]


def _targets(rows: ScaledRows, y: NDArray, task: TrainingTask, mechanism: Mechanism) -> Floats:
    span = (task.target_min, task.target_max)
    return unexplained(rows, to_unit(y, *span), span, mechanism)


def run_info(
    parameters: dict[str, Any], seed: int, fitted: Fitted, history: History
) -> dict[str, Any]:
    scores = {"train_rmse": fitted.train_rmse}
    # NaN without validation rows, and NaN alone is not equal to itself.
    if fitted.validation_rmse == fitted.validation_rmse:
        scores["validation_rmse"] = fitted.validation_rmse
    plain = {
        k: v for k, v in parameters.items() if k not in ("mechanism", "random_state", "verbose")
    }
    return {
        "seed": seed,
        "settings": plain | {"ridge_used": history.ridge},
        "scores": scores,
        "timing": dict(history.seconds),
        "selected_inputs": history.selected_inputs,
    }


def machine_of(
    algorithm: Algorithm,
    task: TrainingTask,
    fitted: Fitted,
    encoder: Encoder,
    mechanism: Mechanism,
    input_range: tuple[Floats, Floats],
    info: dict[str, Any],
    history: History,
) -> Model:
    return Model(
        task="regression" if task.classes is None else "classification",
        algorithm=algorithm.name,
        encoder=encoder,
        layers=fitted.layers,
        readout=fitted.readout,
        linear=fitted.linear.weights,
        intercept=fitted.linear.intercept,
        input_min=input_range[0],
        input_max=input_range[1],
        target_min=task.target_min,
        target_max=task.target_max,
        features=task.feature_names,
        targets=task.target_names,
        mechanism=mechanism,
        columns=task.columns,
        classes=task.classes,
        info=info,
        history=history,
    )
