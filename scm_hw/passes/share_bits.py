"""Sub-sums of bits that many nodes have in common, whatever their signs.

A full adder takes three bits of a sum and leaves two: `a + b + c = parity + 2 * carry`. With signs,
`+-a +- b +- c` has the same parity in every node, and up to its sign and a constant one of four
carries. So three bits that many nodes add cost those nodes one bit less each, for one parity and at
most four carries in common, a LUT each. The parities are bits that the same nodes add: they go
through full adders in turn, until one of them is left, which a comparison takes in or ignores. A
node of `n` bits becomes one of `n / 2` carries.

Bits whose signs agree in most of the nodes (a short Hamming distance, up to the sign of the whole
bit) need fewer kinds of carries, so each bit is tried with those nearest to it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import SHARED, AtLeast, Concat, Op, Program, Range, Ref, Sum, Xor, ranges
from scm_hw.passes.rewrite import Rewriter, rewrite

# Five bits of a node's sum are a table of three bits, each a LUT, whose addition carries one in.
LUTS_PER_BIT = 0.5
# Fewer bits than these are a table or two.
MIN_BITS = 12
# Each bit is tried with all pairs of this many neighbours, or fewer where that would exceed the
# budget. It is counted in operations: what is shared is the same on any machine.
NEIGHBOURS = 64
BUDGET = 20_000_000_000

Signs = NDArray[np.int8]
Node = tuple[Ref, Sum]
Weighted = tuple[Ref, int]


def share_bits(program: Program) -> Program:
    """Send the bits of compared sums through adders in common wherever that takes fewer LUTs."""
    nodes, bits = _nodes(program)
    plan = _planned(nodes, bits)

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        if build.old not in plan.used or not isinstance(op, AtLeast):
            return None
        source = program.ops[op.value]
        assert isinstance(source, Sum)
        with build.within(SHARED):
            terms, constant = plan.terms(build, source)
        return _compared(build, terms, op.bound - constant, source.name, op.name)

    return rewrite(program, visit) if plan.adders else program


@dataclass
class _Plan:
    """The adders, and for each node those that it uses and the columns that it is left with.

    A column is one of the bits, or the parity of an adder: their columns follow the bits'.
    """

    bits: list[Ref]
    adders: list[tuple[int, ...]] = field(default_factory=list)
    used: dict[Ref, list[tuple[int, Signs]]] = field(default_factory=lambda: defaultdict(list))
    left: dict[Ref, list[tuple[int, int]]] = field(default_factory=dict)

    def column(self, build: Rewriter, number: int) -> Ref:
        if number < len(self.bits):
            return build.new[self.bits[number]]
        parts = [self.column(build, c) for c in self.adders[number - len(self.bits)]]
        return build.add(Xor(tuple(parts), name="shared.parity"))

    def terms(self, build: Rewriter, source: Sum) -> tuple[list[Weighted], int]:
        """What a node adds up instead of its sum, and a constant."""
        used = self.used[build.old]
        inside = {c for number, _ in used for c in self.adders[number]}
        gone = {self.bits[c] for c in inside if c < len(self.bits)}
        weighted = zip(source.operands, source.weights, strict=True)
        terms = [(build.new[r], w) for r, w in weighted if r not in gone]
        constant = source.constant
        for number, signs in used:
            parts = [self.column(build, c) for c in self.adders[number]]
            carry, weight, offset = _carry(build, parts, [int(s) for s in signs])
            terms.append((carry, weight))
            constant += offset
        parities = [(c, s) for c, s in self.left[build.old] if c >= len(self.bits)]
        return [*terms, *((self.column(build, c), s) for c, s in parities)], constant


def _carry(build: Rewriter, parts: list[Ref], signs: list[int]) -> tuple[Ref, int, int]:
    """The carry of signed bits, its weight, and a constant that belongs to it.

    With the sign of the first taken out, a bit that is subtracted counts where it is not set.
    """
    flips = [sign != signs[0] for sign in signs]
    addresses = range(1 << len(parts))
    ones = [sum((a >> i & 1) != flip for i, flip in enumerate(flips)) for a in addresses]
    index = build.add(Concat(tuple(parts), (1,) * len(parts), name="shared.bits"))
    carry = build.table(index, tuple(count // 2 for count in ones), name="shared.carry")
    # An odd number of flips inverts the parity: it is subtracted from one.
    return carry, 2 * signs[0], signs[0] * (sum(flips) % 2 - sum(flips))


def _parity_signs(signs: Signs) -> Signs:
    """The sign of the parity in each node."""
    # The sign of the first, times the signs of all relative to it. In an odd number of them the
    # first cancels out.
    product: Signs = np.prod(signs, axis=1, dtype=np.int8)
    return product if signs.shape[1] % 2 else product * signs[:, 0]


def _compared(build: Rewriter, terms: list[Weighted], bound: int, name: str, bit_name: str) -> Ref:
    """`2 * s + p >= t` is `s >= t / 2` for even bounds and `s + p >= (t + 1) / 2` for odd ones."""
    odd = [(ref, weight) for ref, weight in terms if weight % 2]
    if not odd or (len(odd) == 1 and abs(odd[0][1]) == 1 and build.is_bit(odd[0][0])):
        half = -(-bound // 2)
        halves = [(ref, weight // 2) for ref, weight in terms if weight % 2 == 0]
        # Where it is set, the bound of the others is that of `t - weight`.
        halves += [(ref, half + (weight - bound) // 2) for ref, weight in odd]
        terms, bound = [(ref, weight) for ref, weight in halves if weight], half
    return build.add(AtLeast(build.sum(terms, name=name), bound, name=bit_name))


def _nodes(program: Program) -> tuple[list[Node], list[Ref]]:
    """Comparisons of sums of many bits, and those bits."""
    uses, known = program.uses(), ranges(program)
    found: list[Node] = []
    bits: set[Ref] = set()
    for ref, op in program:
        source = program.ops[op.value] if isinstance(op, AtLeast) else None
        if not isinstance(op, AtLeast) or not isinstance(source, Sum) or uses[op.value] != 1:
            continue
        weighted = zip(source.operands, source.weights, strict=True)
        mine = {r for r, w in weighted if abs(w) == 1 and known[r] == Range(0, 1)}
        if len(mine) >= MIN_BITS and len(set(source.operands)) == len(source.operands):
            found.append((ref, source))
            bits |= mine
    return found, sorted(bits)


def _planned(nodes: list[Node], bits: list[Ref]) -> _Plan:
    """Level after level of adders, until none pays any more."""
    plan = _Plan(bits)
    place = {ref: column for column, ref in enumerate(bits)}
    signs: Signs = np.zeros((len(nodes), len(bits)), dtype=np.int8)
    for row, (_, source) in enumerate(nodes):
        for ref, weight in zip(source.operands, source.weights, strict=True):
            if ref in place and abs(weight) == 1:
                signs[row, place[ref]] = weight
    columns = list(range(len(bits)))
    # An adder takes more signs than it leaves, so this ends.
    while nodes and (groups := _groups(signs)):
        signs, columns = _added(plan, nodes, signs, columns, groups)
    for (ref, _), row_signs in zip(nodes, signs, strict=True):
        left = zip(columns, row_signs.tolist(), strict=True)
        plan.left[ref] = [(column, sign) for column, sign in left if sign]
    return plan


def _added(
    plan: _Plan,
    nodes: list[Node],
    signs: Signs,
    columns: list[int],
    groups: list[tuple[int, ...]],
) -> tuple[Signs, list[int]]:
    """One level of adders: the signs that are left, and their columns."""
    parities: Signs = np.zeros((len(nodes), len(groups)), dtype=np.int8)
    columns = list(columns)
    for number, group in enumerate(groups):
        columns.append(len(plan.bits) + len(plan.adders))
        mine = signs[:, group]
        # Only nodes that still add all bits of the group can use its adder.
        rows = np.flatnonzero(np.all(mine != 0, axis=1))
        for row in rows.tolist():
            plan.used[nodes[row][0]].append((len(plan.adders), mine[row]))
        parities[rows, number] = _parity_signs(mine[rows])
        signs[np.ix_(rows, np.array(group))] = 0
        plan.adders.append(tuple(columns[i] for i in group))
    signs = np.concatenate([signs, parities], axis=1)
    # Columns that no node adds any more would only slow down the next level.
    live = np.flatnonzero(signs.any(axis=0))
    return signs[:, live], [columns[i] for i in live]


def _groups(signs: Signs) -> list[tuple[int, ...]]:
    """Disjoint triples of columns that pay; the last pair, where that is all there is left."""
    # Triples and no larger groups: seven bits have 64 kinds of sums, which pays from about 400
    # nodes on.
    count = signs.shape[1]
    if count == 2 and bool(np.all(signs)) and _gain(len(signs), 2) > 0:
        return [(0, 1)]
    # float32 makes this a BLAS product, and counts of nodes stay exact in it.
    wide = signs.astype(np.float32)
    # A column whose sign is opposite in every node needs as few carries as one that always agrees.
    alike = np.abs(wide.T @ wide)
    # For each column, four products of k by nodes by k, with k neighbours.
    most = int((BUDGET / (4 * len(signs) * max(count, 1))) ** 0.5)
    free = np.ones(count, dtype=bool)
    found: list[tuple[int, ...]] = []
    for first in range(count):
        if not free[first]:
            continue
        free[first] = False
        others = np.flatnonzero(free)
        nearest = others[np.argsort(-alike[first, others], kind="stable")]
        pair = _best_pair(signs, first, nearest[: max(2, min(NEIGHBOURS, most))])
        if pair:
            free[list(pair)] = False
            found.append((first, *pair))
    return found


def _best_pair(signs: Signs, first: int, others: NDArray[np.intp]) -> tuple[int, ...]:
    """The two columns that save most together with the first; none where none do."""
    if len(others) < 2:
        return ()
    # Relative to the first, a pair has four combinations of signs: each is a kind of carry.
    relative = signs[:, [first]] * signs[:, others]
    sides = [(relative == sign).astype(np.float32) for sign in (1, -1)]
    # By the signs of the pair: in how many nodes it has them.
    kinds = np.stack([a.T @ b for a in sides for b in sides])
    gain = _gain(kinds.sum(axis=0), (kinds > 0).sum(axis=0))
    # Every pair once, and no column with itself.
    gain[np.tril_indices(len(others))] = -np.inf
    a, b = divmod(int(np.argmax(gain)), len(others))
    return (int(others[a]), int(others[b])) if gain[a, b] > 0 else ()


def _gain(nodes: Any, carries: Any) -> Any:
    """LUTs saved by an adder: a bit of each node, less a LUT for its parity and each carry."""
    return LUTS_PER_BIT * nodes - carries - 1
