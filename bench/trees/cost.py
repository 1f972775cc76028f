"""LUTs of a layout, counted without synthesis: to choose what is worth synthesising."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.trees.netlist import Branch, Node, added, lay_out
from bench.trees.quantised import Quantised

__all__ = ["estimate", "estimates"]

INPUTS = 6


def estimate(model: Quantised) -> int:
    """Comparisons, bits of trees, adders and the decision, each on its own.

    Yosys shares logic between these and comes out lower; by how much depends on the table, so that
    the search scales this by what its last synthesis gave (`bench.trees.search`).
    """
    return estimates(model, [len(model.trees)])[0]


def estimates(model: Quantised, rounds: Sequence[int]) -> list[int]:
    """The same for several numbers of first rounds, with all leaves as `model` has them."""
    layout = lay_out(model)
    keys = np.zeros(len(model.trees), dtype=np.int64)
    trees = np.zeros(len(model.trees), dtype=np.int64)
    most: list[list[tuple[int, int]]] = [[] for _ in range(model.outputs)]
    first: dict[int, int] = {}
    for (output, number), (node, highest) in layout.trees.items():
        trees[number] += _tree(node, highest)
        most[output].append((number, highest))
        for key in _keys(node):
            first[key] = min(number, first.get(key, number))
    for key, number in first.items():
        keys[number] += _comparison(layout.keys[key][1], model.feature_bits)
    logic = np.cumsum(keys + trees)
    return [
        int(logic[count - 1]) + _sums([[m for n, m in each if n < count] for each in most], model)
        for count in rounds
    ]


def _keys(node: Node) -> set[int]:
    if not isinstance(node, Branch):
        return set()
    return {node.key} | _keys(node.high) | _keys(node.low)


def _comparison(threshold: int, bits: int) -> int:
    """A chain of one gate per bit above the threshold's lowest one: five of them in a LUT."""
    gates = bits - (threshold & -threshold).bit_length()
    return -(-gates // (INPUTS - 1))


def _tree(node: Node, most: int) -> int:
    return sum(_function(_bit(node, bit))[0] for bit in range(most.bit_length()))


def _bit(node: Node, bit: int) -> Node:
    """One bit of the leaves, without branches that it does not need."""
    if not isinstance(node, Branch):
        return node >> bit & 1
    high, low = _bit(node.high, bit), _bit(node.low, bit)
    return high if high == low else Branch(node.key, high, low)


def _function(node: Node) -> tuple[int, int]:
    """LUTs of a function of one bit, and the inputs of its last one; a key alone needs none."""
    if not isinstance(node, Branch):
        return 0, 0
    sides = [_function(side) for side in (node.high, node.low) if isinstance(side, Branch)]
    luts, inputs = 1, 1 + len(sides)
    if not sides:
        return 0, 1
    # A side goes into the last LUT if there is room, else it is one input of it.
    for count, used in sorted(sides, key=lambda side: side[1]):
        if inputs - 1 + used <= INPUTS:
            inputs += used - 1
            luts += max(0, count - 1)
        else:
            luts += count
    return luts, inputs


def _sums(operands: Sequence[Sequence[int]], model: Quantised) -> int:
    """Adders of every output, and the decision."""
    luts = 0
    totals = []
    for each in operands:
        adders, total = added([(most, "") for most in each])
        luts += sum(max(a.left[0], a.right[0]).bit_length() for a in adders)
        totals.append(total[0])
    return luts + _decision(model, max(totals).bit_length())


def _decision(model: Quantised, bits: int) -> int:
    """A comparison and a choice between two sums for each class but one."""
    if model.classes is None:
        return 0
    if model.outputs == 1:
        return 2
    return (model.outputs - 1) * 2 * bits
