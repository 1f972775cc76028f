"""Tables of two levels in block RAM.

Two levels of five bits address one row of a block RAM, and the row has room for the entries of many
nodes, both levels' added up. So a node adds half as many terms, and none of them costs a LUT to
look up. It takes a cycle more, and a good part of the device's block RAM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

from scm_hw.ir import Concat, Op, Program, Ref, Sum, Table, ranges
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.target import ABSORBED_INPUTS

# Two tables with fewer readers than this would leave most of a block RAM's row empty.
MIN_READERS = 6

Pair = tuple[Ref, Ref]


def block_tables(program: Program) -> Program:
    """Join tables, two at a time, in every sum that reads both of their levels."""
    known = ranges(program)
    uses = program.uses()

    def level(ref: Ref) -> Ref | None:
        """The index of a small table that nothing else reads."""
        op = program.ops[ref]
        if not isinstance(op, Table) or known[op.index].width > ABSORBED_INPUTS or uses[ref] > 1:
            return None
        return op.index

    partner = _pair_up(program, level)

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        if not isinstance(op, Sum):
            return None
        terms, waiting = [], {}
        for old, new, weight in zip(op.operands, refs, op.weights, strict=True):
            index = level(old)
            if index in partner:
                waiting[index] = (old, new, weight)
            else:
                terms.append((new, weight))
        for index, (old, new, weight) in waiting.items():
            other = waiting.get(partner[index])
            if other is None:
                terms.append((new, weight))
            elif index < partner[index]:
                weighted = ((old, weight), (other[0], other[2]))
                terms.append((_joined(build, program, weighted, op.name), 1))
        return build.sum(terms, op.constant, name=op.name)

    return rewrite(program, visit)


def _pair_up(program: Program, level: Callable[[Ref], Ref | None]) -> dict[Ref, Ref]:
    """Levels by two, those that most sums have in common first; each in one pair at most."""
    together: Counter[Pair] = Counter()
    for op in program.ops:
        if isinstance(op, Sum):
            levels = sorted({index for r in op.operands if (index := level(r)) is not None})
            together.update(combinations(levels, 2))
    partner: dict[Ref, Ref] = {}
    for (a, b), readers in sorted(together.items(), key=lambda item: (-item[1], item[0])):
        if readers >= MIN_READERS and a not in partner and b not in partner:
            partner[a], partner[b] = b, a
    return partner


def _joined(
    build: Rewriter, program: Program, weighted: tuple[tuple[Ref, int], tuple[Ref, int]], name: str
) -> Ref:
    """One table of both levels, in block RAM."""
    parts = []
    for old, weight in weighted:
        table = program.ops[old]
        assert isinstance(table, Table)
        index = build.new[table.index]
        width = build.ranges[index].width
        contents = [weight * v for v in table.contents[: 1 << width]]
        contents += contents[-1:] * ((1 << width) - len(contents))
        parts.append((index, width, contents))
    (low, low_width, below), (high, high_width, above) = parts
    index = build.add(Concat((low, high), (low_width, high_width), name="levels"))
    sums = tuple(a + b for b in above for a in below)
    return build.add(Table(index, sums, memory=True, name=f"{name}.levels"))
