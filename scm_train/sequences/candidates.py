"""Machines that could be taken for records: grown from taps alone, the plant alone, and grown on
what the plant leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from scm_model import Model
from scm_model.memory import Memory
from scm_train.algorithms import ALGORITHMS
from scm_train.errors import DataError, ParameterError
from scm_train.history import History
from scm_train.learner import Learner
from scm_train.learner.regressor import Regressor
from scm_train.sequences.plant import Scale
from scm_train.sequences.records import Records, segments
from scm_train.training.parameters import DEFAULT_LUTS

__all__ = ["Candidate", "check_length", "grown", "has_plant", "source_ranges", "validation_error"]

Floats = NDArray[np.float64]

#: LUTs of a plant where the device has multipliers: for each tap, and for its table.
TAP_LUTS, TABLE_LUTS = 20.0, 60.0
#: What is left of a budget for nodes at least.
LEAST_LUTS = 60.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """A machine with its history, and its validation error after each round of learning from its
    own outputs."""

    machine: Model
    history: History = field(default_factory=History)
    errors: list[float] = field(default_factory=list)

    @property
    def error(self) -> float:
        return min(self.errors)


def grown(
    learner: Learner,
    memory: Memory,
    parts: tuple[Records, Records],
    names: tuple[str, ...],
    *,
    rounds: int = 0,
    plant: Model | None = None,
    enough: float = np.inf,
) -> Candidate:
    """What the learner makes of rows of taps, behind a plant if there is one.

    With feedback it learns in further rounds from what came back when it ran free, unless its
    validation error is above ``enough``; the machine that predicts those records best stays.
    """
    learn, held = parts
    machine, history = _trained(
        learner, memory, learn.taps(memory), held.taps(memory), names, plant
    )
    best, errors = machine, [validation_error(machine, held)]
    if not memory.feedback or errors[0] > enough:
        rounds = 0
    for _ in range(rounds):
        seen = [_joined(part.taps(memory), _own_taps(machine, part, memory)) for part in parts]
        machine, further = _trained(learner, memory, seen[0], seen[1], names, plant)
        error = validation_error(machine, held)
        if error < min(errors):
            best, history = machine, further
        errors.append(error)
    return Candidate(best, history, errors)


def has_plant(learner: Learner) -> bool:
    """Whether a plant can stand before what the learner grows.

    A plant is fitted by least squares, which is not for a learner with another loss.
    """
    return (
        isinstance(learner, Regressor)
        and learner.loss == "squared_error"
        and ALGORITHMS[learner._algorithm].linear
        and learner.mechanism is None
        and learner._code_bits() is not None
        # A plant is fitted to squared errors, which a few wrong targets would decide.
        and learner.loss != "huber"
    )


def validation_error(machine: Model, held: Records) -> float:
    """Over the held-out records, in normalised units: RMSE, running free from a history of measured
    targets where outputs come back; of a classifier the share of wrong labels."""
    memory, first = machine.memory, held.first
    assert memory is not None
    rows = held.scored(memory)
    if machine.is_classifier:
        return float(
            (machine.predict(held.signals, first=first)[rows] != held.targets[rows]).mean()
        )
    told = {"outputs": held.measured, "simulate": True} if memory.feedback else {}
    found = machine.predict(held.signals, first=first, **told)
    span = machine.target_max - machine.target_min
    return float(np.sqrt(np.mean(((found[rows] - held.measured[rows]) / span) ** 2)))


def check_length(parts: tuple[Records, Records], memory: Memory) -> None:
    """Refuse records that are shorter than their history."""
    learn, held = (int(part.scored(memory).sum()) for part in parts)
    if learn < 2 or not held:
        raise DataError(
            f"records must be longer than their history of {memory.depth} rows, of which "
            f"{learn} rows to learn from and {held} to choose by are left"
        )


def source_ranges(memory: Memory, X: Floats, y: NDArray | None) -> tuple[Floats, Floats]:
    """Ranges of signals and, where they are numbers, of outputs; taps of a source share one."""
    outputs = () if y is None else y.reshape(len(X), -1).T
    seen = [
        X[:, [place for place, tap in enumerate(memory.taps) if tap.source == source]]
        for source in range(len(memory.signals))
    ]
    low = np.array([values.min() for values in (*seen, *outputs)], dtype=np.float64)
    high = np.array([values.max() for values in (*seen, *outputs)], dtype=np.float64)
    # A constant has no range to scale by; any will do, and hardware wants one.
    return low, np.where(high > low, high, low + np.maximum(1.0, np.spacing(np.abs(low))))


def _trained(
    learner: Learner,
    memory: Memory,
    rows: tuple[Floats, NDArray],
    held: tuple[Floats, NDArray],
    names: tuple[str, ...],
    plant: Model | None,
) -> tuple[Model, History]:
    """The learner's machine on rows of taps, with its memory, behind the plant."""
    if learner.unsure is not None or learner.flags is not None:
        raise ParameterError(
            "unsure and flags must be None for records; they are not exchangeable, and no rate "
            "could be guaranteed"
        )
    if learner.interval is not None:
        raise ParameterError(
            "interval must be None for records; they are not exchangeable, and no coverage "
            "could be guaranteed"
        )
    learner = clone(learner)
    if plant is None:
        low, high = source_ranges(memory, rows[0], rows[1] if memory.feedback else None)
        sources = [tap.source for tap in memory.taps]
        learner._input_range = (low[sources], high[sources])
        learner.fit(*rows, eval_set=held)
        machine = learner.machine_
    else:
        machine = _behind_plant(learner, rows, held, plant)
    targets = names
    if machine.is_classifier:
        # Nothing of a class comes back, and yet a file has the rest of every source.
        targets, signals = machine.targets, len(memory.signals)
        rest = np.r_[memory.rest[:signals], np.zeros(machine.outputs)]
        memory = replace(memory, rest=rest)
    machine = replace(machine, memory=memory, features=memory.names(targets), targets=targets)
    return machine, learner.history_


def _behind_plant(
    learner: Learner, rows: tuple[Floats, NDArray], held: tuple[Floats, NDArray], plant: Model
) -> Model:
    """What the learner makes of what the plant leaves, and the plant, as one machine."""
    static = plant.static
    left, left_held = (y.reshape(len(X), -1) - static.predict(X) for X, y in (rows, held))
    span = plant.target_max - plant.target_min
    # A power of two of the plant's range: entries of few binary digits keep them.
    share = 2.0 ** np.ceil(np.log2(np.maximum(2.0 * np.abs(left).max(axis=0) / span, 2.0**-20)))
    learner._input_range = (plant.input_min, plant.input_max)
    learner._target_range = (-share * span / 2, share * span / 2)
    budget = DEFAULT_LUTS if learner.luts is None else learner.luts
    cost = TAP_LUTS * len(plant.features) + TABLE_LUTS * (plant.mechanism.kind == "table")
    # Inputs come in the plant's codes, and the budget is that of the whole machine.
    learner.set_params(input_bits=plant.input_bits, luts=max(budget - cost, LEAST_LUTS))
    learner.fit(rows[0], left, eval_set=(held[0], left_held))
    own: Model = learner.machine_
    return replace(
        own,
        readout=own.readout * share,
        linear=own.linear * share + plant.linear,
        # What is left is centred: 0.5 of its range is nothing.
        intercept=(own.intercept - 0.5) * share + plant.intercept,
        target_min=plant.target_min,
        target_max=plant.target_max,
        mechanism=plant.mechanism,
    )


def _own_taps(machine: Model, records: Records, memory: Memory) -> tuple[Floats, NDArray]:
    """Rows of taps with what came back in a free run, in pieces that run side by side."""
    pieces = segments(records, memory.depth)
    found = machine.predict(
        pieces.signals, first=pieces.first, outputs=pieces.measured, simulate=True
    )
    return pieces.taps(memory, found)


def _joined(*parts: tuple[Floats, NDArray]) -> tuple[Floats, NDArray]:
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def scale_of(memory: Memory, records: Records, margin: float) -> Scale:
    """The training ranges of records, and how far beyond them a plant is to reach."""
    X, y = records.taps(memory)
    low, high = source_ranges(memory, X, y)
    return Scale(low, high, len(memory.signals), margin)


def settings_of(machine: Model, memory: Memory, more: dict[str, Any]) -> Model:
    """The machine with lags, horizon and ``more`` among its settings."""
    told = {"lags": [list(tap) for tap in memory.taps], "horizon": memory.horizon} | more
    settings = machine.info.get("settings", {}) | told
    return replace(machine, info=machine.info | {"settings": settings})
