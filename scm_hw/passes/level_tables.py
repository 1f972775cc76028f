"""A coded feature against its signs is a function of the feature's level.

All bits that a sum takes from one input, whatever their code, change only where the input crosses
from one level to the next. Their weighted sum is one small table, addressed by the level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scm_hw.ir import INTERFACE, AtLeast, Field, Input, Op, Program, Ref, Sum, Xor, operands
from scm_hw.ir.interp import trace
from scm_hw.passes.level_search import thresholds_reached
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.target import Technology

# One LUT6 holds one bit of a table of this many address bits.
MAX_LEVEL_BITS = 6
# A table costs a LUT for each result bit; a pair of bits is as cheap to add as they are.
MIN_GROUP = 3


@dataclass(frozen=True)
class Level:
    """How the level of an input is read off, and one code that stands for each level."""

    codes: tuple[int, ...]
    offset: int = 0
    width: int = 0
    thresholds: tuple[int, ...] = ()

    def build(self, build: Rewriter, code: Ref, name: str, tech: Technology) -> Ref:
        if self.width:
            return build.add(Field(code, self.offset, self.width, name=f"{name}.level"))
        return thresholds_reached(build, code, self.thresholds, name, tech)


def level_tables(program: Program, tech: Technology) -> Program:
    """Replace groups of bits of one input, inside a sum, by a table of its level."""
    return _LevelTables(program, tech).run()


class _LevelTables:
    def __init__(self, program: Program, tech: Technology) -> None:
        self.program = program
        self.tech = tech
        self.source = _sources(program)
        self.levels = self._find_levels()
        self.bits = self._bit_values()
        self.built: dict[Ref, Ref] = {}

    def run(self) -> Program:
        return rewrite(self.program, self._visit)

    def _visit(self, build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        if not isinstance(op, Sum) or build.old in self.source:
            return None
        groups, terms = self._split(op, refs)
        constant = op.constant
        for code, members in groups.items():
            shares = [weight * self.bits[old] for old, weight in members]
            table = np.sum(shares, axis=0)
            # The least entry moves into the constant: tables begin at 0 and need no sign.
            constant += int(table.min())
            source = self.program.ops[code]
            index = self._level_of(build, code)
            contents = [int(v) for v in table - table.min()]
            # Addresses beyond the last level never occur.
            contents += contents[-1:] * (build.ranges[index].high + 1 - len(contents))
            name = f"{op.name}.{source.name}"
            terms.append((build.table(index, tuple(contents), name=name), 1))
        return build.sum(terms, constant, name=op.name) if groups else None

    def _level_of(self, build: Rewriter, code: Ref) -> Ref:
        """The level of an input, built once for all sums."""
        if code not in self.built:
            name = self.program.ops[code].name
            with build.within(INTERFACE):
                self.built[code] = self.levels[code].build(build, build.new[code], name, self.tech)
        return self.built[code]

    def _split(
        self, op: Sum, refs: tuple[Ref, ...]
    ) -> tuple[dict[Ref, list[tuple[Ref, int]]], list[tuple[Ref, int]]]:
        """Groups of old bits by their input, and the terms that stay as they are."""
        groups: dict[Ref, list[tuple[Ref, int]]] = {}
        for old, weight in zip(op.operands, op.weights, strict=True):
            if old in self.bits:
                groups.setdefault(self.source[old], []).append((old, weight))
        groups = {code: g for code, g in groups.items() if len(g) >= MIN_GROUP}
        taken = {old for members in groups.values() for old, _ in members}
        terms = [
            (new, weight)
            for old, new, weight in zip(op.operands, refs, op.weights, strict=True)
            if old not in taken
        ]
        return groups, terms

    def _find_levels(self) -> dict[Ref, Level]:
        by_input: dict[Ref, list[Ref]] = {}
        for op in self.program.ops:
            for ref in operands(op) if isinstance(op, Sum) else ():
                # A code that is added as a number is no bit of itself.
                if ref in self.source and ref != self.source[ref]:
                    by_input.setdefault(self.source[ref], []).append(ref)
        found = {}
        for code, bits in by_input.items():
            if len(set(bits)) < MIN_GROUP:
                continue
            level = self._level(code, sorted(set(bits)))
            if level is not None:
                found[code] = level
        return found

    def _level(self, code: Ref, bits: list[Ref]) -> Level | None:
        source = self.program.ops[code]
        assert isinstance(source, Input)
        # A level is a field of a code; other inputs don't begin at 0 and end at all ones.
        if source.low or source.high & (source.high + 1):
            return None
        input_bits = source.high.bit_length()
        lowest = min(self._lowest_bit(ref, input_bits) for ref in bits)
        width = input_bits - lowest
        # Tried first: a field of the code is wires, while thresholds need comparisons.
        if width <= MAX_LEVEL_BITS:
            codes = tuple(level << lowest for level in range(1 << width))
            return Level(codes, offset=lowest, width=width)
        tests = [self._bounds(ref) for ref in bits]
        thresholds = sorted({bound for bounds in tests for bound in bounds})
        # Each level is represented by its lowest code.
        if all(tests) and len(thresholds) < 1 << MAX_LEVEL_BITS:
            return Level((0, *thresholds), thresholds=tuple(thresholds))
        return None

    def _bounds(self, ref: Ref) -> set[int]:
        """The thresholds at which a bit can change; none where they are not known."""
        op = self.program.ops[ref]
        match op:
            case AtLeast() if isinstance(self.program.ops[op.value], Input):
                return {op.bound}
            case Xor():
                parts = [self._bounds(r) for r in op.operands]
                return {bound for part in parts for bound in part} if all(parts) else set()
        return set()

    def _lowest_bit(self, ref: Ref, input_bits: int) -> int:
        """The lowest bit of the input that a bit depends on."""
        op = self.program.ops[ref]
        match op:
            case AtLeast() if isinstance(self.program.ops[op.value], Input):
                return min(_trailing_zeros(op.bound), input_bits - 1)
            case Field() if isinstance(self.program.ops[op.value], Input):
                return op.offset
            case Xor():
                return min(self._lowest_bit(r, input_bits) for r in op.operands)
        return 0

    def _bit_values(self) -> dict[Ref, np.ndarray]:
        """For every bit of an input with levels, its value at each of them."""
        if not self.levels:
            return {}
        # A bit depends on one input alone, so all inputs can go through their levels together.
        count = max(len(level.codes) for level in self.levels.values())
        rows = np.tile([op.low for op in self.program.input_ops()], (count, 1))
        for code, level in self.levels.items():
            codes = level.codes + level.codes[-1:] * (count - len(level.codes))
            rows[:, self.program.inputs.index(code)] = codes
        bits = [ref for ref, code in self.source.items() if code in self.levels and ref != code]
        values = trace(self.program, rows, bits)
        return {ref: values[ref][: len(self.levels[self.source[ref]].codes)] for ref in bits}


def _sources(program: Program) -> dict[Ref, Ref]:
    """The one input that a comparison, field or xor depends on, where it is one."""
    source: dict[Ref, Ref] = {}
    for ref, op in program:
        if isinstance(op, Input):
            source[ref] = ref
        elif isinstance(op, AtLeast | Field | Xor):
            found = {source.get(r) for r in operands(op)}
            if len(found) == 1 and None not in found:
                source[ref] = next(s for s in found if s is not None)
    return source


def _trailing_zeros(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else 0
