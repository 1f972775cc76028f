"""Trees with integer leaves: the exact meaning of the hardware, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.trees.boosting import Boosted, Tree

__all__ = ["Quantised", "quantise"]

Leaves = Sequence[Sequence[NDArray[np.intp]]]


@dataclass(frozen=True, eq=False)
class Quantised:
    """Trees by round and output, integers for their nodes, and one constant per output.

    The sum of an output is that of its leaves' integers plus its constant. One output: a regression
    gives the sum itself, of two classes the second is taken where the sum is at least 0. Several:
    the first of the largest. Reals are `scale` times the sums, plus `offset`.
    """

    classes: NDArray | None
    trees: Sequence[Sequence[Tree]]
    values: Sequence[Sequence[NDArray[np.int64]]]
    constants: NDArray[np.int64]
    scale: float
    offset: float
    feature_bits: int
    features: int

    @property
    def outputs(self) -> int:
        return len(self.constants)

    def sums(self, leaves: Leaves) -> NDArray[np.int64]:
        """Per row and output, from the leaves that the rows come to."""
        columns = []
        for output in range(self.outputs):
            total = np.full(len(leaves[0][output]), self.constants[output], dtype=np.int64)
            for by_output, values in zip(leaves, self.values, strict=False):
                total += values[output][by_output[output]]
            columns.append(total)
        return np.stack(columns, axis=1)

    def decide(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the hardware puts out: the sum of a regression, or the index of a class."""
        if self.classes is None:
            return sums[:, 0]
        if self.outputs == 1:
            return (sums[:, 0] >= 0).astype(np.int64)
        return np.argmax(sums, axis=1)

    def outputs_of(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        leaves = [[tree.leaf_of(codes) for tree in trees] for trees in self.trees]
        return self.decide(self.sums(leaves))

    def real(self, outputs: NDArray[np.int64]) -> NDArray:
        """Targets of a regression, or labels, from what the hardware puts out."""
        if self.classes is None:
            return self.scale * outputs + self.offset
        return self.classes[outputs]


def quantise(boosted: Boosted, rounds: int, leaf_bits: int) -> Quantised:
    """The first `rounds`, with the widest tree's leaves from 0 to `2**leaf_bits - 1`.

    All trees share one scale, so that their integers add up; narrow trees have fewer bits.
    """
    trees = boosted.rounds[:rounds]
    least = np.array([[_leaf_values(t).min() for t in by_output] for by_output in trees])
    widest = max(np.ptp(_leaf_values(t)) for by_output in trees for t in by_output)
    scale = float(widest) / ((1 << leaf_bits) - 1) if widest > 0 else 1.0
    values = [
        [
            np.where(_leaf_mask(tree), np.rint((tree.value - low) / scale), 0).astype(np.int64)
            for tree, low in zip(by_output, lows, strict=True)
        ]
        for by_output, lows in zip(trees, least, strict=True)
    ]
    bias = boosted.bias + least.sum(axis=0)
    if boosted.classes is None:
        constants, offset = np.zeros(1, dtype=np.int64), float(bias[0])
    else:
        # What all classes have in common decides nothing.
        common = bias.min() if boosted.outputs > 1 else 0.0
        constants, offset = np.rint((bias - common) / scale).astype(np.int64), 0.0
    return Quantised(
        boosted.classes,
        trees,
        values,
        constants,
        scale,
        offset,
        boosted.feature_bits,
        boosted.features,
    )


def _leaf_mask(tree: Tree) -> NDArray[np.bool_]:
    return tree.left == np.arange(len(tree.left))


def _leaf_values(tree: Tree) -> NDArray[np.float64]:
    return tree.value[_leaf_mask(tree)]
