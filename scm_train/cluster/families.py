"""Machines of families on a cluster: rows stay on their workers, and whole sums leave them.

Such sums are exact in any order, and whether a row is in a part follows from its number: the same
families join as in memory, to the bit. What choices look at, some rows for thresholds, linear part
and size, comes to the client; there are no more of them however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.scaling import to_unit
from scm_train.cluster.coordinator import Chunk, Cluster
from scm_train.cluster.shards import Floats, Frame
from scm_train.encode.rows import ScaledRows
from scm_train.families.problem import Problem, outputs_of, some_rows
from scm_train.families.rows import (
    Extent,
    FamilyRows,
    Part,
    Scale,
    SignalRows,
    Sums,
    Whole,
    joined_rows,
)
from scm_train.families.signals import SignalPool

__all__ = ["FamilyCluster", "FamilyShard", "RemoteProblem", "problem_of_rows"]


def problem_of_rows(x: NDArray, y: NDArray, frame: Frame) -> Problem:
    """Rows as families learn them."""
    assert frame.encoder.input_bits is not None
    codes = frame.encoder.codes(to_unit(x, frame.low, frame.high))
    if frame.classes is not None:
        targets = np.searchsorted(frame.classes, y)
    else:
        targets = frame.targets(ScaledRows(x, frame.low, frame.high, frame.encoder), y)
    classes = 0 if frame.classes is None else len(frame.classes)
    return Problem(codes, targets, np.ones(len(x)), classes, frame.encoder.input_bits)


class FamilyShard:
    """The rows of one chunk; made on the worker that has them, and used there."""

    def __init__(self, x: NDArray, y: NDArray, first: int, frame: Frame):
        """``first`` is the number of the first row among those of all chunks."""
        self.problem, self._first = problem_of_rows(x, y, frame), first
        self._rows: FamilyRows

    def catch_up(self, told: list[tuple[str, tuple[Any, ...]]]) -> None:
        """Repeat the instructions that the other shards have received."""
        for method, arguments in told:
            getattr(self, method)(*arguments)

    def counts(self) -> tuple[int, int, int]:
        return len(self.problem), 0, 0

    def part(self, rows: NDArray[np.integer]) -> Problem:
        return self.problem.part(rows)

    def begin(self, pool: SignalPool, weights: Floats, intercept: Floats) -> None:
        """Start anew, from a linear part."""
        self._rows = self.problem.family_rows(pool, weights, intercept, self._first)

    def extent(self, output: int) -> Extent:
        return self._rows.extent(output)

    def searched(self, part: Part, scale: Scale, signals: Whole) -> SignalRows:
        return self._rows.searched(part, scale, signals)

    def sums(self, part: Part, scale: Scale, signals: Whole, thresholds: Whole) -> Sums:
        return self._rows.sums(part, scale, signals, thresholds)

    def add(self, output: int, values: Floats) -> None:
        self._rows.add(output, values)


class FamilyCluster(Cluster):
    """Shards that families grow on."""

    # `extent` and `sums` change a shard too: they renew its slopes and its rows' cells.
    changes = ("begin", "extent", "sums", "add")

    def _shard_of(self, chunk: Chunk, rows: Sequence[Any], roles: Any) -> tuple[Any, ...]:
        return FamilyShard, *rows, chunk.start, self.frame

    def part(self, numbers: NDArray[np.integer]) -> Problem:
        """Rows by their numbers, which increase."""
        owner = np.searchsorted(self.starts, numbers, side="right") - 1
        parts: list[Problem] = self.answers(
            [
                (k, "part", (numbers[owner == k] - self.starts[k],))
                for k in np.unique(owner).tolist()
            ]
        )
        codes, targets, weights = (
            np.concatenate([getattr(one, name) for one in parts])
            for name in ("codes", "targets", "weights")
        )
        return Problem(codes, targets, weights, parts[0].classes, parts[0].input_bits)


class RemoteProblem:
    """The rows of all shards, as :class:`scm_train.families.problem.Problem` has them here."""

    def __init__(self, cluster: FamilyCluster):
        self.cluster, self.features = cluster, cluster.features
        classes = cluster.frame.classes
        self.classes = 0 if classes is None else len(classes)
        self.outputs = outputs_of(self.classes, cluster.frame.target_min[None])
        self.input_bits: int = cluster.frame.encoder.input_bits or 0

    def __len__(self) -> int:
        return self.cluster.rows

    def part(self, rows: NDArray[np.integer] | slice) -> Problem:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        return self.cluster.part(rows)

    def some_rows(self, count: int, seed: int) -> NDArray[np.int64]:
        # A permutation takes memory for every row, of which a worker has more.
        return self.cluster.client.submit(some_rows, len(self), count, seed, pure=False).result()

    def family_rows(self, pool: SignalPool, weights: Floats, intercept: Floats) -> RemoteFamilyRows:
        self.cluster.forget()
        self.cluster.ask("begin", pool, weights, intercept)
        return RemoteFamilyRows(self.cluster)


class RemoteFamilyRows:
    """What is asked of rows is asked of all shards, and the answers are joined."""

    def __init__(self, cluster: FamilyCluster):
        self._cluster = cluster

    def __len__(self) -> int:
        return self._cluster.rows

    def extent(self, output: int) -> Extent:
        parts = self._cluster.ask("extent", output)
        names = ("slope", "curvature", "energy")
        return Extent(*(max(getattr(one, name) for one in parts) for name in names))

    def searched(self, part: Part, scale: Scale, signals: Whole) -> SignalRows:
        return joined_rows(self._cluster.ask("searched", part, scale, signals))

    def sums(self, part: Part, scale: Scale, signals: Whole, thresholds: Whole) -> Sums:
        parts: list[Sums] = self._cluster.ask("sums", part, scale, signals, thresholds)
        # Whole numbers, which have the same sum in any order of the shards.
        return Sums(
            np.sum([one.gradients for one in parts], axis=0),
            np.sum([one.weights for one in parts], axis=0),
            sum(one.energy for one in parts),
        )

    def add(self, output: int, values: Floats) -> None:
        self._cluster.ask("add", output, values)
