"""Tables of two levels in block RAM.

Two levels of five bits address one row of a block RAM, and the row has room for the entries of many
nodes, both levels' added up. So a node adds half as many terms, and none of them costs a LUT to
look up. It takes a cycle more, and a good part of the device's block RAM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

from scm_hw.ir import INTERFACE, Concat, Op, Program, Ref, Sum, Table, ranges
from scm_hw.passes.rewrite import Rewriter, rewrite

# The most bits of one level: two of them address the 1,024 rows of a block RAM of 18 bits.
MAX_LEVEL_BITS = 5
# Two tables with fewer readers than this would leave most of a block RAM's row empty.
MIN_READERS = 6

Pair = tuple[Ref, Ref]
Weighted = tuple[Ref, int]


def block_tables(program: Program) -> Program:
    """Join tables, two at a time, in every sum that reads both of their levels."""
    known = ranges(program)
    uses = program.uses()

    def level(ref: Ref) -> Ref | None:
        """The index of a small table that nothing else reads."""
        op = program.ops[ref]
        if not isinstance(op, Table) or known[op.index].width > MAX_LEVEL_BITS or uses[ref] > 1:
            return None
        return op.index

    partner = _pair_up(program, level)

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        if not isinstance(op, Sum):
            return None
        levels = _levels_of(op, level)
        terms: list[Weighted] = []
        # A sum may have several tables of one level, such as the bits of nodes of one feature.
        waiting: dict[Ref, list[Weighted]] = {}
        for old, new, weight in zip(op.operands, refs, op.weights, strict=True):
            index = level(old)
            if index in partner and partner[index] in levels:
                waiting.setdefault(index, []).append((old, weight))
            else:
                terms.append((new, weight))
        for index, low in waiting.items():
            # Both levels of a pair are in `waiting`; one of them builds the table.
            if index < partner[index]:
                terms.append((_joined(build, program, (low, waiting[partner[index]]), op.name), 1))
        return build.sum(terms, op.constant, name=op.name)

    return rewrite(program, visit)


def _pair_up(program: Program, level: Callable[[Ref], Ref | None]) -> dict[Ref, Ref]:
    """Levels by two, those that most sums have in common first; each in one pair at most."""
    together: Counter[Pair] = Counter()
    for op in program.ops:
        if isinstance(op, Sum):
            levels = sorted(_levels_of(op, level))
            together.update(combinations(levels, 2))
    partner: dict[Ref, Ref] = {}
    # Ties are settled by references: the result is the same in every run.
    for (a, b), readers in sorted(together.items(), key=lambda item: (-item[1], item[0])):
        if readers >= MIN_READERS and a not in partner and b not in partner:
            partner[a], partner[b] = b, a
    return partner


def _levels_of(op: Sum, level: Callable[[Ref], Ref | None]) -> set[Ref]:
    return {index for ref in op.operands if (index := level(ref)) is not None}


def _joined(
    build: Rewriter, program: Program, weighted: tuple[list[Weighted], list[Weighted]], name: str
) -> Ref:
    """One table of both levels, in block RAM: for each level all its tables, added up."""
    parts = [_added_up(build, program, tables) for tables in weighted]
    (low, low_width, below), (high, high_width, above) = parts
    with build.within(INTERFACE):
        index = build.add(Concat((low, high), (low_width, high_width), name="levels"))
    sums = tuple(a + b for b in above for a in below)
    return build.add(Table(index, sums, memory=True, name=f"{name}.levels"))


def _added_up(
    build: Rewriter, program: Program, weighted: list[Weighted]
) -> tuple[Ref, int, list[int]]:
    """The level that tables have in common, its width, and their sum at each address."""
    tables = [(op, weight) for ref, weight in weighted if isinstance(op := program.ops[ref], Table)]
    index = build.new[tables[0][0].index]
    width = build.ranges[index].width
    # Addresses beyond the last entry never occur.
    total = [
        sum(weight * op.contents[min(address, len(op.contents) - 1)] for op, weight in tables)
        for address in range(1 << width)
    ]
    return index, width, total
