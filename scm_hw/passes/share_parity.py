"""The lowest bit of every node's sum, computed once for all nodes.

With weights of +1 and -1 the sum over a code has the parity of the code, whatever the signs: over a
thermometer, that of the level. So in `s >= t` a table is `2 * half + parity`, where the parity of a
feature is the same for all nodes that see it. The set ones, `p` of them, are counted once. Since
all else is even, `s >= t` is `sum of halves + (p + t % 2) // 2 >= ceil(t / 2)`, and every table has
lost a bit.
"""

from __future__ import annotations

from collections import Counter

from scm_hw.ir import PARITY, AtLeast, Field, Op, Program, Ref, Sum, Table, ranges
from scm_hw.passes.rewrite import Rewriter, rewrite

# The shared count costs a few LUTs for every feature; a handful of nodes earns it back.
MIN_NODES = 4

Parity = tuple[Ref, tuple[int, ...]]


def share_parity(program: Program) -> Program:
    """Halve the tables of comparisons whose parities many nodes have in common."""
    known = ranges(program)
    uses = program.uses()
    found: dict[Ref, tuple[Parity, ...]] = {}
    for ref, op in program:
        # Another reader of the sum would need it whole, and the halves would be extra logic.
        if isinstance(op, AtLeast) and uses[op.value] == 1:
            parities = _parities(program, op.value, [r.high for r in known])
            if parities is not None:
                found[ref] = parities
    # One count of set parities serves all comparisons of the same features.
    count = Counter(found.values())

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        parities = found.get(build.old)
        if parities is None or count[parities] < MIN_NODES or not isinstance(op, AtLeast):
            return None
        source = program.ops[op.value]
        assert isinstance(source, Sum)
        return _halved(build, program, source, op)

    return rewrite(program, visit)


def _parities(program: Program, value: Ref, highest: list[int]) -> tuple[Parity, ...] | None:
    """The parity of each table of a sum, up to a constant; None where a term is no table."""
    source = program.ops[value]
    if not isinstance(source, Sum) or any(weight != 1 for weight in source.weights):
        return None
    tables = [op for r in source.operands if isinstance(op := program.ops[r], Table)]
    if len(tables) != len(source.operands):
        return None
    return tuple((op.index, _parity(op.contents[: highest[op.index] + 1])) for op in tables)


def _parity(contents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((entry ^ contents[0]) & 1 for entry in contents)


def _halved(build: Rewriter, program: Program, source: Sum, op: AtLeast) -> Ref:
    bound = op.bound - source.constant
    bits: list[tuple[Ref, int]] = []
    halves: list[tuple[Ref, int]] = []
    for ref in source.operands:
        table = program.ops[ref]
        assert isinstance(table, Table)
        index = build.new[table.index]
        contents = table.contents[: build.ranges[index].high + 1]
        parity, first = _parity(contents), contents[0] & 1
        # An entry is `first + parity + 2 * half`; the constant `first` goes into the bound.
        bound -= first
        with build.within(PARITY):
            bits.append((_parity_bit(build, index, parity), 1))
        half = tuple((v - first - p) // 2 for v, p in zip(contents, parity, strict=True))
        halves.append((build.table(index, half, name=table.name), 1))
    # Added to both sides, `odd` makes the bound even, so that halving loses nothing.
    odd = bound & 1
    with build.within(PARITY):
        count = build.sum(bits, odd, name="parity.count")
        width = build.ranges[count].width
        if width > 1:
            shared = build.add(Field(count, 1, width - 1, name="parity.half"))
            halves.append((shared, 1))
    total = build.sum(halves, name=source.name)
    return build.add(AtLeast(total, (bound + odd) // 2, name=op.name))


def _parity_bit(build: Rewriter, index: Ref, parity: tuple[int, ...]) -> Ref:
    if parity == tuple(address & 1 for address in range(len(parity))):
        return build.add(Field(index, 0, 1, name="parity.bit"))
    return build.table(index, parity, name="parity.bit")
