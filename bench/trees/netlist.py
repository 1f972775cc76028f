"""What is laid out: distinct comparisons, trees without needless nodes, and pairs of sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bench.trees.boosting import Tree
from bench.trees.quantised import Quantised

__all__ = ["Adder", "Branch", "Layout", "Node", "Operand", "added", "lay_out", "tree_name"]


@dataclass(frozen=True)
class Branch:
    """`high` where comparison number `key` holds, else `low`; a leaf is a plain integer."""

    key: int
    high: Branch | int
    low: Branch | int


Node = Branch | int


Operand = tuple[int, str]
"""The most that a word can be, and its name."""


@dataclass(frozen=True)
class Adder:
    total: Operand
    left: Operand
    right: Operand


@dataclass(frozen=True)
class Layout:
    """`keys` are features with thresholds; `trees` go by output and round, with their most.

    `totals` are one operand per output. Those of several classes have their constants in them, the
    one of a single output has none.
    """

    keys: list[tuple[int, int]]
    trees: dict[tuple[int, int], tuple[Node, int]]
    adders: list[Adder]
    totals: list[Operand]


def tree_name(output: int, number: int) -> str:
    return f"t{output}_{number}"


def lay_out(model: Quantised) -> Layout:
    keys: dict[tuple[int, int], int] = {}
    trees: dict[tuple[int, int], tuple[Node, int]] = {}
    adders: list[Adder] = []
    totals = []
    for output in range(model.outputs):
        operands = []
        # Of several classes the constant goes into leaves that are there anyway.
        constant = int(model.constants[output]) if model.outputs > 1 else 0
        for number, (by_output, values) in enumerate(zip(model.trees, model.values, strict=True)):
            leaves = [value + (number == 0) * constant for value in values[output].tolist()]
            node = _branch(by_output[output], leaves, 0, keys)
            if node != 0:
                trees[output, number] = node, _most(node)
                operands.append((_most(node), tree_name(output, number)))
        found, total = added(operands, f"s{output}_")
        adders += found
        totals.append(total)
    return Layout(list(keys), trees, adders, totals)


def _branch(
    tree: Tree,
    values: list[int],
    node: int,
    keys: dict[tuple[int, int], int],
) -> Node:
    """A subtree without branches whose sides are equal, as rounding makes them often."""
    if tree.is_leaf(node):
        return values[node]
    key = int(tree.feature[node]), int(tree.threshold[node])
    low = _branch(tree, values, int(tree.left[node]), keys)
    high = _branch(tree, values, int(tree.right[node]), keys)
    if low == high:
        return low
    return Branch(keys.setdefault(key, len(keys)), high, low)


def _most(node: Node) -> int:
    return max(_most(node.high), _most(node.low)) if isinstance(node, Branch) else node


def added(operands: Iterable[Operand], prefix: str = "") -> tuple[list[Adder], Operand]:
    """Sums of two, the two least first, so that the adders are as narrow as can be.

    Nothing to add is 0.
    """
    heap = list(operands)
    heapify(heap)
    adders: list[Adder] = []
    while len(heap) > 1:
        right, left = heappop(heap), heappop(heap)
        total = left[0] + right[0], f"{prefix}{len(adders)}"
        adders.append(Adder(total, left, right))
        heappush(heap, total)
    return adders, heap[0] if heap else (0, "1'd0")
