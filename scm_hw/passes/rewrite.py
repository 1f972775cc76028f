"""What passes share: rebuilding a Program operation by operation."""

from __future__ import annotations

from collections.abc import Callable

from scm_hw.ir import (
    Builder,
    Constant,
    Op,
    Program,
    Range,
    Ref,
    Sum,
    Table,
    operands,
    part_of,
    range_of,
    with_operands,
)
from scm_hw.target import Technology, delay


class Rewriter(Builder):
    """A Builder that knows the range of what it has built, and how far the old program is done.

    `new[r]` stands for the old reference `r`, for all of them before `old`, the current one. With
    a technology it also knows when values arrive.
    """

    def __init__(self, tech: Technology | None = None) -> None:
        super().__init__()
        self.tech = tech
        self.ranges: list[Range] = []
        self.new: list[Ref] = []
        self._arrivals: list[float] = []

    @property
    def old(self) -> Ref:
        return len(self.new)

    def add(self, op: Op) -> Ref:
        ref = super().add(op)
        # An operation that is there already is found again, with its range.
        if ref == len(self.ranges):
            self.ranges.append(range_of(op, self.ranges))
        return ref

    def arrival(self, ref: Ref) -> float:
        """When a value is there if nothing is registered, in nanoseconds."""
        assert self.tech is not None, "times are those of a technology"
        # Operands stand before their readers, so filling up in order needs no recursion.
        while len(self._arrivals) <= ref:
            op = self.ops[len(self._arrivals)]
            start = max((self._arrivals[r] for r in operands(op)), default=0.0)
            takes = delay(op, self.ranges, self.ranges[len(self._arrivals)], self.tech)
            self._arrivals.append(start + takes)
        return self._arrivals[ref]

    def constant(self, value: int) -> Ref:
        return self.add(Constant(value))

    def is_bit(self, ref: Ref) -> bool:
        return self.ranges[ref].low >= 0 and self.ranges[ref].high <= 1

    def sum(self, terms: list[tuple[Ref, int]], constant: int = 0, *, name: str = "") -> Ref:
        """A sum in normal form: one term for each operand, constants taken out."""
        weights: dict[Ref, int] = {}
        for ref, weight in terms:
            op = self.ops[ref]
            if isinstance(op, Constant):
                constant += weight * op.value
            else:
                weights[ref] = weights.get(ref, 0) + weight
        # Equal terms of opposite signs have cancelled out by now.
        kept = {ref: weight for ref, weight in weights.items() if weight}
        if not kept:
            return self.constant(constant)
        if constant == 0 and list(kept.values()) == [1]:
            return next(iter(kept))
        return self.add(Sum(tuple(kept), tuple(kept.values()), constant, name=name))

    def table(self, index: Ref, contents: tuple[int, ...], *, name: str = "") -> Ref:
        """A table in normal form: looked up at once where the index is constant."""
        low, high = self.ranges[index]
        reachable = contents[low : high + 1]
        if min(reachable) == max(reachable):
            return self.constant(reachable[0])
        # A table that gives back its index needs no logic.
        if low == 0 and reachable == tuple(range(high + 1)):
            return index
        return self.add(Table(index, contents, name=name))


Visit = Callable[[Rewriter, Op, tuple[Ref, ...]], Ref | None]


def rewrite(program: Program, visit: Visit, tech: Technology | None = None) -> Program:
    """Rebuild a program; `visit` gives the reference that stands for an operation.

    It gets the operation and its new operands, and returns None to keep the operation as it is.
    What it adds belongs to the part of the operation unless it says otherwise.
    Inputs are kept always. What nobody reads any more is left out.
    """
    build = Rewriter(tech)
    for op in program.ops:
        refs = tuple(build.new[r] for r in operands(op))
        with build.within(part_of(op)):
            ref = visit(build, op, refs)
            build.new.append(build.add(with_operands(op, refs)) if ref is None else ref)
    rebuilt = build.program(
        tuple(build.new[r] for r in program.inputs), tuple(build.new[r] for r in program.outputs)
    )
    return without_dead(rebuilt)


def without_dead(program: Program) -> Program:
    """Only what the outputs need, and the inputs."""
    needed = {*program.inputs, *program.outputs}
    # Readers come after what they read, so one walk backwards finds all that is needed.
    for ref in range(len(program.ops) - 1, -1, -1):
        if ref in needed:
            needed.update(operands(program.ops[ref]))
    # Sorted, so that operands still stand before their readers.
    place = {ref: i for i, ref in enumerate(sorted(needed))}
    ops = tuple(
        with_operands(program.ops[ref], tuple(place[r] for r in operands(program.ops[ref])))
        for ref in place
    )
    return Program(
        ops, tuple(place[r] for r in program.inputs), tuple(place[r] for r in program.outputs)
    )
