"""The blocks of a pipelined core: its operations by the part that they belong to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from scm_hw.design import Design
from scm_hw.ir import Constant, Field, Input, Kind, Op, Ref, operands, part_of, ranges
from scm_hw.report._html_elements import count
from scm_hw.report._stages import KINDS
from scm_hw.report.blocks.parts import Block, Span, Wire, total_cost
from scm_hw.rtl.modules import Modules
from scm_hw.schedule import Schedule, by_operation

# More layers than these are drawn in groups.
MAX_LAYERS = 12
# From the inputs to the outputs; what many nodes share stands before the first of them.
ORDER = (
    Kind.INTERFACE,
    Kind.PARITY,
    Kind.SHARED,
    Kind.NODE,
    Kind.LINEAR,
    Kind.MECHANISM,
    Kind.READOUT,
    Kind.ARGMAX,
)
TITLES = {Kind.SHARED: "shared by nodes", Kind.PARITY: "parities", Kind.READOUT: "readout"}


class Key(NamedTuple):
    """A block's place: that of its kind in the order, and for layers the group of layers."""

    place: int
    group: int


INPUTS = Key(-1, 0)


def unrolled(design: Design, first: int) -> tuple[list[Block], list[Wire]]:
    """Blocks from the inputs on, and wires between them; the program begins in cycle `first`."""
    found = _Blocks(design, first)
    return [found.block(key) for key in found.groups], found.wires()


class _Blocks:
    def __init__(self, design: Design, first: int) -> None:
        assert isinstance(design.schedule, Schedule)
        self.program, self.schedule, self.first = design.program, design.schedule, first
        self.costs = by_operation(self.program, self.schedule)
        layers = max((part_of(op).layer for op in self.program.ops), default=0)
        self.modules = Modules(self.program)
        self.layers_each = -(-layers // MAX_LAYERS)
        groups: dict[Key, list[Ref]] = defaultdict(list)
        for ref, op in self.program:
            # A constant costs nothing wherever it is read.
            if not isinstance(op, Constant):
                groups[self._key(op)].append(ref)
        self.groups = dict(sorted(groups.items()))

    def _key(self, op: Op) -> Key:
        part = part_of(op)
        # Bits of an input are wires of it.
        if isinstance(op, Input | Field) and part.kind is Kind.INTERFACE:
            return INPUTS
        group = (part.layer - 1) // self.layers_each if part.layer else 0
        return Key(ORDER.index(part.kind), group)

    def block(self, key: Key) -> Block:
        refs = self.groups[key]
        cost = total_cost(self.costs[ref] for ref in refs)
        if key == INPUTS:
            return Block("in_data", "port", cost=cost)
        cycles = sorted({c for ref in refs if (c := self.schedule.cycles[ref]) is not None})
        kind = ORDER[key.place]
        return Block(
            self._title(kind, refs),
            kind.value,
            self._what(kind, refs),
            cost,
            _spans([cycle + self.first for cycle in cycles]),
            max((self.schedule.stage_ns[cycle] for cycle in cycles), default=0.0),
            self._modules(refs),
            self._cells(kind, refs),
        )

    def _title(self, kind: Kind, refs: Sequence[Ref]) -> str:
        layers = sorted({part_of(self.program.ops[ref]).layer for ref in refs})
        if kind is not Kind.NODE:
            return TITLES.get(kind, kind.value)
        if len(layers) == 1:
            return f"layer {layers[0]}"
        return f"layers {layers[0]} to {layers[-1]}"

    def _what(self, kind: Kind, refs: Sequence[Ref]) -> str:
        if kind is Kind.NODE:
            return count(len(self._by_node(refs)), "node")
        kinds = Counter(KINDS.get(type(self.program.ops[ref]), "wire") for ref in refs)
        most = max(kinds, key=lambda one: (one != "wire", kinds[one]))
        return count(kinds[most], most)

    def _by_node(self, refs: Sequence[Ref]) -> dict[tuple[int, int], int]:
        luts: Counter[tuple[int, int]] = Counter()
        for ref in refs:
            part = part_of(self.program.ops[ref])
            luts[part.layer, part.node] += self.costs[ref].lut
        return luts

    def _cells(self, kind: Kind, refs: Sequence[Ref]) -> tuple[int, ...]:
        if kind is Kind.NODE:
            return tuple(self._by_node(refs).values())
        luts: Counter[int | None] = Counter()
        for ref in refs:
            luts[self.schedule.cycles[ref]] += self.costs[ref].lut
        return tuple(luts.values())

    def _modules(self, refs: Sequence[Ref]) -> tuple[str, ...]:
        """Those that hold logic: what has no cycle is wiring of its readers."""
        ops = (self.program.ops[ref] for ref in refs if self.schedule.cycles[ref] is not None)
        return tuple(filter(None, dict.fromkeys(self.modules.of(op) for op in ops)))

    def wires(self) -> list[Wire]:
        """Each value once for every block that reads it."""
        known = ranges(self.program)
        places = {ref: place for place, refs in enumerate(self.groups.values()) for ref in refs}
        read: dict[tuple[int, int], set[Ref]] = defaultdict(set)
        for ref, op in self.program:
            for source in operands(op):
                if source in places and places[source] != places[ref]:
                    read[places[source], places[ref]].add(source)
        # An output may be an input, or a bit of a node, that no other block reads.
        for ref in self.program.outputs:
            if ref in places:
                read[places[ref], len(self.groups)].add(ref)
        return [
            Wire(source, target, sum(known[ref].width for ref in refs))
            for (source, target), refs in sorted(read.items())
        ]


def _spans(cycles: Sequence[int]) -> tuple[Span, ...]:
    """Cycles that follow each other as one stretch."""
    found: list[Span] = []
    for cycle in cycles:
        if found and sum(found[-1]) == cycle:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((cycle, 1))
    return tuple(found)
