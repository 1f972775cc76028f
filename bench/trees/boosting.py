"""Gradient boosting on integer codes, and its trees as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

__all__ = ["BOOSTING", "Boosted", "Boosting", "Tree", "boost"]

#: What all ensembles are trained with. Small leaves and a little shrinkage of their values did
#: better than scikit-learn's defaults on validation rows of small tables.
BOOSTING: dict[str, Any] = {
    "max_leaf_nodes": None,
    "min_samples_leaf": 5,
    "l2_regularization": 1.0,
    "early_stopping": False,
}


@dataclass(frozen=True)
class Boosting:
    """What decides the trees, besides the rows and the seed."""

    depth: int
    rate: float
    feature_bits: int


@dataclass(frozen=True, eq=False)
class Tree:
    """Arrays by node, the root first: right where ``code[feature] >= threshold``.

    A leaf is its own left and right child; its value has the learning rate in it.
    """

    feature: NDArray[np.intp]
    threshold: NDArray[np.int64]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: NDArray[np.float64]

    def is_leaf(self, node: int) -> bool:
        return bool(self.left[node] == node)

    def leaf_of(self, codes: NDArray[np.integer]) -> NDArray[np.intp]:
        """The leaf that each row comes to."""
        rows = np.arange(len(codes))
        node = np.zeros(len(codes), dtype=np.intp)
        while True:
            right = codes[rows, self.feature[node]] >= self.threshold[node]
            below = np.where(right, self.right[node], self.left[node])
            if np.array_equal(below, node):
                return node
            node = below


@dataclass(frozen=True, eq=False)
class Boosted:
    """`rounds` of one tree per output, and a bias per output.

    `outputs` is 1 for a regression or two classes, else the number of classes.
    """

    classes: NDArray | None
    rounds: Sequence[Sequence[Tree]]
    bias: NDArray[np.float64]
    feature_bits: int
    features: int

    @property
    def outputs(self) -> int:
        return len(self.bias)

    def leaves(self, codes: NDArray[np.integer]) -> list[list[NDArray[np.intp]]]:
        """The leaf of each row in each tree, by round and output."""
        return [[tree.leaf_of(codes) for tree in trees] for trees in self.rounds]


def boost(
    codes: NDArray[np.integer],
    y: NDArray,
    task: str,
    settings: Boosting,
    rounds: int,
    seed: int,
) -> Boosted:
    """Train on integer codes; fewer rounds are its first ones."""
    kind = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
    model = kind(
        max_depth=settings.depth,
        learning_rate=settings.rate,
        max_iter=rounds,
        random_state=seed,
        **BOOSTING,
    ).fit(codes, y)
    return Boosted(
        classes=None if task == "regression" else model.classes_,
        rounds=[[_tree(p.nodes) for p in predictors] for predictors in model._predictors],
        bias=np.ravel(model._baseline_prediction).astype(np.float64),
        feature_bits=settings.feature_bits,
        features=codes.shape[1],
    )


def _tree(nodes: NDArray) -> Tree:
    """From scikit-learn's record of a tree, where a row goes left at `x <= num_threshold`."""
    own = np.arange(len(nodes))
    leaf = nodes["is_leaf"].astype(bool)
    # Leaves have no threshold of their own; any code is on the same side of 0.
    cut = np.where(leaf, 0.0, nodes["num_threshold"])
    return Tree(
        feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.intp),
        threshold=np.where(leaf, 0, np.floor(cut) + 1).astype(np.int64),
        left=np.where(leaf, own, nodes["left"]).astype(np.intp),
        right=np.where(leaf, own, nodes["right"]).astype(np.intp),
        value=nodes["value"].astype(np.float64),
    )
