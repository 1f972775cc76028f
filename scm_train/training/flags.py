"""What a machine says of its own results, calibrated on rows that are held back from training.

A classifier's answer is unsure where its margin is no larger than a threshold. The threshold is
chosen so that of all rows that are drawn as these were, whatever their distribution, at most a
given share is answered wrongly and not unsure (split conformal calibration, with the margin of
wrong answers as the score). A row is novel where several groups of hidden bits have values that
training rows rarely or never had; how many is calibrated in the same way, by the share of false
alarms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer, Model, classes_of, evaluate
from scm_model.flags import MAX_GROUP_BITS, Flags, Novelty, Unsure, margins, rare_groups
from scm_train.algorithms import Algorithm
from scm_train.errors import DataError, ParameterError
from scm_train.history import History
from scm_train.training.run import TrainingTask

__all__ = ["check_flags", "flags_trainer"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Trainer = Callable[..., tuple[Model, History]]

#: Share of the rows that is held back, and the most of them.
SHARE, MOST_ROWS = 0.2, 10_000
#: Training rows that say which values are rare, and groups drawn where there are no families.
SEEN_ROWS, DRAWN = 10_000, 256
#: Groups that are kept: a LUT each, and as much to count them.
GROUPS = 32
#: A value is rare where it has less than this share of the training rows.
RARE = 1e-3


def check_flags(parameters: dict[str, Any], classes: bool) -> bool:
    """Whether any flag is asked for."""
    for name in ("unsure", "flags"):
        value = parameters[name]
        number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not (number and 0 < value < 1):
            raise ParameterError(f"{name} must be a share between 0 and 1, not {value!r}")
    if parameters["unsure"] is not None and not classes:
        raise ParameterError(
            f"unsure must be None for targets, not {parameters['unsure']!r}; it is for classes, "
            "and interval for targets"
        )
    return parameters["unsure"] is not None or parameters["flags"] is not None


def flags_trainer(train: Trainer) -> Trainer:
    """``train`` for machines with flags: some rows are held back from it, and calibrate them."""

    def trained(
        algorithm: Algorithm,
        parameters: dict[str, Any],
        task: TrainingTask,
        eval_set: tuple[NDArray, NDArray] | None,
        random: np.random.RandomState,
    ) -> tuple[Model, History]:
        level, rate = parameters["unsure"], parameters["flags"]
        if parameters["mechanism"] is not None:
            raise ParameterError("unsure and flags must be None for a machine with a mechanism")
        rows, held = _split(len(task.x), min(s for s in (level, rate) if s is not None), random)
        machine, history = train(algorithm, parameters, _part(task, rows), eval_set, random)
        plain = machine.static
        unsure = novelty = None
        if level is not None:
            unsure = _unsure(plain, task.x[held], task.y[held], float(level))
        if rate is not None:
            novelty = _novelty(plain, task, rows, held, float(rate), random)
        return replace(machine, flags=Flags(unsure, novelty)), history

    return trained


def _split(rows: int, share: float, random: np.random.RandomState) -> tuple[Whole, Whole]:
    """Rows to train on and rows to calibrate on, each in order."""
    held = min(MOST_ROWS, round(SHARE * rows))
    # With fewer, even no error at all among them would say too little.
    fewest = ceil(1 / share - 1e-9) - 1
    if held < fewest:
        raise DataError(
            f"rows must be at least {ceil(fewest / SHARE)} for a share of {share:g}, not {rows}; "
            "gather more, or raise the share"
        )
    # A random choice: rows held back are exchangeable with those to come, which is all that the
    # guarantee needs.
    order = random.permutation(rows)
    return np.sort(order[held:]), np.sort(order[:held])


def _part(task: TrainingTask, rows: Whole) -> TrainingTask:
    weights = None if task.weights is None else task.weights[rows]
    return replace(task, x=task.x[rows], y=task.y[rows], weights=weights)


def _unsure(machine: Model, x: NDArray, y: NDArray, level: float) -> Unsure:
    outputs = evaluate(machine, x).output
    wrong = classes_of(outputs) != y.argmax(axis=1)
    # Right answers are no error at any threshold.
    scores = np.sort(np.where(wrong, margins(outputs), 0.0))
    # The rank of split conformal calibration: n + 1 counts the row to come, which is as likely to
    # have any rank among these. The small number keeps rounding from raising a whole product.
    rank = ceil((len(scores) + 1) * (1 - level) - 1e-9)
    return Unsure(level, float(scores[rank - 1]))


# ---------------------------------------------------------------------------------------- novelty


def _novelty(
    machine: Model,
    task: TrainingTask,
    rows: Whole,
    held: Whole,
    rate: float,
    random: np.random.RandomState,
) -> Novelty:
    seen = task.x[rows[:: -(-len(rows) // SEEN_ROWS)]]
    known = _bits(machine, seen)
    groups = _candidates(machine, random)
    rare = np.array([_rare_values(known, group) for group in groups], dtype=np.uint64)
    whole = Novelty(rate, 1, groups, rare)
    # Rows whose features don't go together tell which groups see such things.
    mixed = _bits(machine, _mixed(task, seen, random))
    # How often a group has rare values on such rows beyond how often on those of training: its
    # power less its false alarms.
    power = _shares(whole, mixed) - _shares(whole, known)
    chosen = np.sort(np.argsort(-power, kind="stable")[:GROUPS])
    kept = Novelty(rate, 1, groups[chosen], rare[chosen])
    return replace(kept, least=_least(rare_groups(kept, _bits(machine, task.x[held])), rate))


def _bits(machine: Model, x: NDArray) -> NDArray[np.bool_]:
    return np.asarray(evaluate(machine, x).hidden > 0)


def _candidates(machine: Model, random: np.random.RandomState) -> NDArray[np.int32]:
    """Groups of nodes: those of the families, or else any."""
    nodes = [layer for layer in machine.layers if isinstance(layer, Layer)]
    count = sum(layer.nodes for layer in nodes)
    if not count or not all(layer.hard for layer in nodes):
        raise ParameterError(
            "flags must be None for a machine without nodes that fire (sign or step); "
            "leave it out, or choose another activation"
        )
    families = machine.families
    if families is not None and families.supports.shape[1] <= MAX_GROUP_BITS:
        first = count - nodes[-1].nodes
        supports = families.supports.astype(np.int32)
        return np.where(supports >= 0, supports + first, -1).astype(np.int32)
    size = min(MAX_GROUP_BITS, count)
    drawn = [random.permutation(count)[:size] for _ in range(DRAWN)]
    return np.sort(np.array(drawn, dtype=np.int32), axis=1)


def _rare_values(bits: NDArray[np.bool_], group: NDArray[np.int32]) -> int:
    """The values, as bits of a word, that few rows have."""
    members = group[group >= 0]
    values = bits[:, members] @ (1 << np.arange(len(members)))
    counts = np.bincount(values, minlength=1 << len(members))
    return int(sum(1 << v for v in np.flatnonzero(counts < RARE * len(bits)).tolist()))


def _mixed(task: TrainingTask, x: NDArray, random: np.random.RandomState) -> NDArray:
    """Rows with the values of each column in another order."""
    sources = range(x.shape[1])
    if task.columns is not None:
        sources = [feature.column for feature in task.columns.features]
    orders = {source: random.permutation(len(x)) for source in sources}
    columns = [x[orders[source], place] for place, source in enumerate(sources)]
    return np.stack(columns, axis=1)


def _shares(novelty: Novelty, bits: NDArray[np.bool_]) -> Floats:
    """The share of rows of which each group has a rare value."""
    return np.array(
        [
            rare_groups(replace(novelty, groups=group[None], rare=rare[None]), bits).mean()
            for group, rare in zip(novelty.groups, novelty.rare, strict=True)
        ]
    )


def _least(counts: Whole, rate: float) -> int:
    """The least number of rare groups that a share of at most ``rate`` of the rows has."""
    least = 1
    # (1 + those at least as extreme) / (n + 1) is a conformal p-value: a row drawn as these were
    # has one of at most `rate` with probability `rate` at most.
    while (1 + np.count_nonzero(counts >= least)) > rate * (len(counts) + 1) * (1 + 1e-12):
        least += 1
    return least
