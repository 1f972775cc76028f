"""One training run by families: a task in, a model and its history out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_model import AnyLayer, Encoder, FamilyLayer, Layer
from scm_train.families.growth import Family, FamilySettings, apply
from scm_train.families.losses import probabilities
from scm_train.families.machine import FittedFamilies, Size, fit_families
from scm_train.families.problem import Problem, Source, linear_scores
from scm_train.families.signals import SignalPool
from scm_train.growth.engine import Fitted
from scm_train.history import FamilyGrowthEnd, History
from scm_train.solve.linear import LinearPart

__all__ = ["FamilyRun", "train_families"]

Floats = NDArray[np.float64]
Bit = tuple[tuple[int, ...], tuple[int, ...], int]

#: Rows that the training error is followed on while families join.
CURVE_ROWS = 2000


@dataclass(frozen=True)
class FamilyRun:
    """What a run is asked for; ``members`` machines are averaged, a power of two."""

    size: Size
    members: int
    seed: int
    linear: bool


def train_families(
    problem: Source, unseen: Problem | float, run: FamilyRun, history: History
) -> Fitted:
    """Fit the members one after the other, and join them to one machine."""
    size = Size(run.size.luts / run.members, run.size.families)
    settings = FamilySettings.for_budget(size.luts, bool(problem.classes))
    with history.phase("candidate_search"):
        fitted = tuple(
            fit_families(
                problem, size, settings, run.seed + member, linear=run.linear, unseen=unseen
            )
            for member in range(run.members)
        )
    layers, readout = _joined(fitted, problem)
    # The training error is followed on some of the rows.
    rows = problem.part(slice(None, None, -(-len(problem) // CURVE_ROWS)))
    _follow(fitted, rows, history)
    for layer in layers:
        history.end_layer(layer.nodes, fitted[0].stop)
    history.growth = FamilyGrowthEnd(
        sum(len(member.families) for member in fitted),
        sum(member.luts for member in fitted),
        run.size.luts,
        fitted[0].stop,
    )
    linear = LinearPart(
        np.mean([member.linear for member in fitted], axis=0),
        np.mean([member.intercept for member in fitted], axis=0),
    )
    history.selected_inputs = linear.selected
    error = history.train_rmse[-1] if history.train_rmse else _start_error(fitted[0], rows)
    return Fitted(layers, readout, linear, error, float("nan"))


def _joined(
    fitted: Sequence[FittedFamilies], problem: Source
) -> tuple[tuple[AnyLayer, ...], Floats]:
    """Layers and readout of all members together; equal bits are there once."""
    families = [(one.pool, family) for one in fitted for family in one.families]
    if not families:
        return (), np.zeros((0, problem.outputs))
    # In a fixed order, whichever member found a bit first.
    bits = sorted({bit for pool, family in families for bit in _bits(pool, family)})
    place = {bit: k for k, bit in enumerate(bits)}
    most = max(len(family.signals) for _, family in families)
    supports = np.full((len(families), most), -1, dtype=np.int32)
    entries = []
    for row, (pool, family) in zip(supports, families, strict=True):
        own = [place[bit] for bit in _bits(pool, family)]
        row[: len(own)] = own
        part = np.zeros((1 << len(own), problem.outputs))
        # The number of members is a power of two, so that means stay on grids of powers of two.
        part[:, family.output] = family.entries.values / len(fitted)
        entries.append(part)
    first = _first_layer(bits, problem.features, problem.input_bits)
    readout = np.concatenate([np.zeros((len(bits), problem.outputs)), *entries])
    return (first, FamilyLayer(supports)), readout


def _bits(pool: SignalPool, family: Family) -> list[Bit]:
    """The bits of a family, each by what it compares and with what."""
    return [
        (pool.signals[s].features, pool.signals[s].signs, int(pool.thresholds[s][t]))
        for s, t in zip(family.signals, family.thresholds, strict=True)
    ]


def _first_layer(bits: Sequence[Bit], features: int, input_bits: int) -> Layer:
    """Sign nodes that are set where their signal reaches the threshold.

    An input stands for the middle of its code's step, so that a signal of code sum ``c`` enters as
    ``(c + half the sum of the signs) / 2**input_bits``; the bias lies halfway below the threshold.
    """
    # Hidden connections have no effect; the file has a sign for each all the same.
    weights = np.full((len(bits), features), -1, dtype=np.int8)
    mask = np.zeros((len(bits), features), dtype=bool)
    biases = np.empty(len(bits))
    for k, (seen, signs, threshold) in enumerate(bits):
        weights[k, seen] = signs
        mask[k, seen] = True
        biases[k] = -math.ldexp(threshold - 0.5 + 0.5 * sum(signs), -input_bits)
    return Layer(weights, np.ones(len(bits)), biases, "sign", mask)


def _follow(fitted: Sequence[FittedFamilies], rows: Problem, history: History) -> None:
    """The error after each family."""
    for member in fitted:
        for family, error in zip(member.families, _errors(member, rows), strict=True):
            history.add_node(2, 1.0, family.r, error, float("nan"))


def _errors(member: FittedFamilies, rows: Problem) -> list[float]:
    """RMSE of outputs, or of probabilities, after each family."""
    reached = member.pool.reached(rows.codes)
    scores = _start(member, rows)
    found = []
    for family in member.families:
        apply([family], reached, scores)
        found.append(_error(rows, scores))
    return found


def _start(member: FittedFamilies, rows: Problem) -> Floats:
    return linear_scores(rows, member.linear, member.intercept)


def _start_error(member: FittedFamilies, rows: Problem) -> float:
    return _error(rows, _start(member, rows))


def _error(rows: Problem, scores: Floats) -> float:
    if not rows.classes:
        return float(np.sqrt(np.mean((scores - rows.targets.T) ** 2)))
    wanted = np.eye(rows.classes)[:, rows.targets]
    return float(np.sqrt(np.mean((probabilities(scores) - wanted) ** 2)))


def problem_of(
    codes: NDArray[np.integer],
    targets: Floats,
    weights: Floats | None,
    classes: int,
    encoder: Encoder,
    robust: bool = False,
) -> Problem:
    """Rows as families learn them; of a classifier ``targets`` are indicators (rows, classes)."""
    assert encoder.input_bits is not None
    wanted = targets.argmax(axis=1) if classes else targets
    share = np.ones(len(codes)) if weights is None else weights * (len(codes) / weights.sum())
    return Problem(codes, wanted, share, classes, encoder.input_bits, robust)
