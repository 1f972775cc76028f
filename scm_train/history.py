"""What happened in training, node by node and phase by phase."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

__all__ = ["PHASES", "FamilyGrowthEnd", "History", "Outliers"]

PHASES = ("lasso", "candidate_search", "inequality", "readout_update")


@dataclass(frozen=True)
class FamilyGrowthEnd:
    """How large a machine of families became, by the trainer's estimate, and why no larger."""

    families: int
    luts: float
    budget: float
    reason: str


@dataclass(frozen=True, eq=False)
class Outliers:
    """Rows whose targets lie far from the answers: their numbers, those farthest away first.

    ``distances`` are in robust standard deviations of all residuals.
    """

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]


@dataclass
class History:
    """The course of a training run; errors are RMSE over all outputs in normalised units.

    One entry per node ever added: ``train_rmse`` and ``validation_rmse`` (NaN without validation
    rows) after it, its ``layer`` (from 1), its ``lambdas`` and ``r``, and whether it was
    ``removed`` again. ``nodes_per_layer`` counts those that stayed, ``stops`` says why each layer
    ended, ``seconds`` is time per phase, ``selected_inputs`` what LASSO kept.
    ``growth`` is for machines of families alone, ``outliers`` for fits with Huber's loss.
    """

    train_rmse: list[float] = field(default_factory=list)
    validation_rmse: list[float] = field(default_factory=list)
    layer: list[int] = field(default_factory=list)
    lambdas: list[float] = field(default_factory=list)
    r: list[float] = field(default_factory=list)
    removed: list[bool] = field(default_factory=list)
    nodes_per_layer: list[int] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    selected_inputs: list[int] = field(default_factory=list)
    ridge: float = 0.0
    growth: FamilyGrowthEnd | None = None
    outliers: Outliers | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    def phase(self, name: str) -> _Phase:
        """Count the time spent inside as part of a phase."""
        return _Phase(self.seconds, name)

    def add_node(
        self, layer: int, lambda_: float, r: float, train_rmse: float, validation_rmse: float
    ) -> None:
        self.layer.append(layer)
        self.lambdas.append(lambda_)
        self.r.append(r)
        self.train_rmse.append(train_rmse)
        self.validation_rmse.append(validation_rmse)
        self.removed.append(False)

    def remove_nodes(self, count: int) -> None:
        """Mark the newest ``count`` nodes as removed."""
        for step in range(len(self.removed) - count, len(self.removed)):
            self.removed[step] = True

    def remove(self, steps: Iterable[int]) -> None:
        """Mark these nodes as removed, counted over all that were ever added."""
        for step in steps:
            self.removed[step] = True

    def end_layer(self, nodes: int, reason: str) -> None:
        self.nodes_per_layer.append(nodes)
        self.stops.append(reason)


class _Phase:
    """A plain context manager: those made of generators cost more than some phases take."""

    def __init__(self, seconds: dict[str, float], name: str):
        self._seconds, self._name = seconds, name

    def __enter__(self) -> None:
        self._start = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._name] += perf_counter() - self._start
