"""Runs a Program in NumPy: the meaning that all hardware must equal.

Rows go through in blocks that stay in the cache. Sums over the same operands (the nodes of a layer)
become one matrix product, in floating point only where every partial sum is exact in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import (
    Argmax,
    AtLeast,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Program,
    Range,
    Ref,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
    ranges,
)

Integers = NDArray[np.int64]

# 32 KiB for each value, so that what is soon read again is still in the cache.
BLOCK_ROWS = 4096
# Below this many operands a plain loop beats gathering them into a matrix.
MATRIX_OPERANDS = 9
# Whole numbers up to these are exact in floating point, in whatever order they are added.
EXACT_FLOAT32, EXACT_FLOAT64 = 1 << 24, 1 << 53

Matrix = NDArray[np.floating[Any]]


def interpret(program: Program, inputs: NDArray[np.integer]) -> Integers:
    """The outputs of a program, one row for each row of `inputs` (columns as `program.inputs`)."""
    rows = np.ascontiguousarray(np.atleast_2d(inputs), dtype=np.int64)
    _check_inputs(program, rows)
    plan = _Plan(program, keep=())
    return np.concatenate(
        [np.stack([values[r] for r in program.outputs], axis=1) for values in plan.run_blocks(rows)]
    )


def trace(
    program: Program, inputs: NDArray[np.integer], refs: Iterable[Ref]
) -> dict[Ref, Integers]:
    """The values of chosen references, one per row, to compare with a simulation's probes."""
    rows = np.ascontiguousarray(np.atleast_2d(inputs), dtype=np.int64)
    _check_inputs(program, rows)
    wanted = tuple(refs)
    parts = list(_Plan(program, keep=wanted).run_blocks(rows))
    return {r: np.concatenate([values[r] for values in parts]) for r in wanted}


def values_given(
    program: Program, given: Mapping[Ref, Integers], refs: Iterable[Ref]
) -> dict[Ref, Integers]:
    """The values of `refs`, from values of earlier references that decide them, one per row."""
    values = dict(given)
    rows = len(next(iter(given.values())))
    waiting = list(refs)
    while waiting:
        ref = waiting[-1]
        missing = [r for r in operands(program.ops[ref]) if r not in values]
        if ref in values:
            waiting.pop()
        elif missing:
            waiting += missing
        else:
            values[waiting.pop()] = _evaluate(program.ops[ref], values, rows)
    return values


def _check_inputs(program: Program, rows: Integers) -> None:
    if rows.ndim != 2 or rows.shape[1] != len(program.inputs):
        raise ValueError(f"inputs must have {len(program.inputs)} columns, not shape {rows.shape}")
    for column, op in enumerate(program.input_ops()):
        values = rows[:, column]
        if values.size and (values.min() < op.low or values.max() > op.high):
            raise ValueError(
                f"input {op.name!r} must be in [{op.low}, {op.high}], "
                f"not [{values.min()}, {values.max()}]"
            )


class _Plan:
    """When to compute what, worked out once for all blocks."""

    def __init__(self, program: Program, keep: tuple[Ref, ...]) -> None:
        self.program = program
        self.known = ranges(program)
        self.groups = _matrix_groups(program, self.known)
        self.last_use = _last_uses(program, keep)

    def run_blocks(self, rows: Integers) -> Iterable[dict[Ref, Integers]]:
        # No rows are one empty block, so that there is something to join.
        for start in range(0, max(len(rows), 1), BLOCK_ROWS):
            yield self._run(rows[start : start + BLOCK_ROWS])

    def _run(self, rows: Integers) -> dict[Ref, Integers]:
        columns = dict(zip(self.program.inputs, rows.T, strict=True))
        values: dict[Ref, Integers] = {}
        for ref, op in self.program:
            if ref in values:
                pass
            elif ref in columns:
                values[ref] = np.ascontiguousarray(columns[ref])
            elif ref in self.groups:
                members, matrix = self.groups[ref]
                _run_group(self.program, members, matrix, values)
            else:
                values[ref] = _evaluate(op, values, len(rows))
            # A large program has more values than there is memory for.
            for dead in self.last_use[ref]:
                values.pop(dead, None)
        return values


def _matrix_groups(program: Program, known: list[Range]) -> dict[Ref, tuple[list[Ref], Matrix]]:
    """Sums over equal operands, by the first of them, with their weights as a matrix."""
    by_operands: dict[tuple[Ref, ...], list[Ref]] = defaultdict(list)
    for ref, op in program:
        if isinstance(op, Sum) and len(op.operands) >= MATRIX_OPERANDS:
            by_operands[op.operands].append(ref)
    groups: dict[Ref, tuple[list[Ref], Matrix]] = {}
    for members in by_operands.values():
        sums = [op for r in members if isinstance(op := program.ops[r], Sum)]
        reach = max(_reach(op, known) for op in sums)
        if reach < EXACT_FLOAT64:
            dtype = np.float32 if reach < EXACT_FLOAT32 else np.float64
            weights: Matrix = np.array([op.weights for op in sums], dtype=dtype)
            groups[members[0]] = (members, weights)
    return groups


def _reach(op: Sum, known: list[Range]) -> int:
    """A bound on every partial sum, in whatever order it is added up."""
    return sum(
        abs(w) * max(abs(known[r].low), abs(known[r].high))
        for r, w in zip(op.operands, op.weights, strict=True)
    )


def _run_group(
    program: Program, members: list[Ref], matrix: Matrix, values: dict[Ref, Integers]
) -> None:
    first = program.ops[members[0]]
    assert isinstance(first, Sum)
    rows = len(values[first.operands[0]])
    stacked = np.empty((len(first.operands), rows), dtype=matrix.dtype)
    for place, ref in enumerate(first.operands):
        stacked[place] = values[ref]
    sums = (matrix @ stacked).astype(np.int64)
    for place, ref in enumerate(members):
        op = program.ops[ref]
        assert isinstance(op, Sum)
        values[ref] = sums[place] + op.constant


def _last_uses(program: Program, keep: tuple[Ref, ...]) -> list[list[Ref]]:
    """For each reference, the values that nobody reads after it."""
    last = {}
    for ref, op in program:
        last[ref] = ref
        for used in operands(op):
            last[used] = ref
    dying: list[list[Ref]] = [[] for _ in program.ops]
    kept = {*program.outputs, *keep}
    for used, ref in last.items():
        if used not in kept:
            dying[ref].append(used)
    return dying


def _evaluate(op: Op, values: dict[Ref, Integers], rows: int) -> Integers:
    match op:
        case Input():
            raise AssertionError(f"input {op.name!r} was not supplied")
        case Constant():
            return np.full(rows, op.value, dtype=np.int64)
        case AtLeast():
            return (values[op.value] >= op.bound).astype(np.int64)
        case Field():
            # The highest bit of a signed field counts negative.
            bits = (values[op.value] >> op.offset) & ((1 << op.width) - 1)
            return bits - ((bits >> (op.width - 1)) << op.width) if op.signed else bits
        case Shift():
            # Rounds down for negative values as well, as wires do.
            return values[op.value] >> op.bits
        case Xor():
            return np.bitwise_xor.reduce([values[r] for r in op.operands])
        case Majority():
            a, b, c = (values[r] for r in op.operands)
            return (a & b) | (c & (a | b))
        case Sum():
            return _weighted_sum(op, values, rows)
        case Product():
            return values[op.left] * values[op.right]
        case Concat():
            return _concatenate(op, values, rows)
        case Table():
            contents: Integers = np.asarray(op.contents, dtype=np.int64)
            return contents[values[op.index]]
        case Less():
            return (values[op.left] < values[op.right]).astype(np.int64)
        case Select():
            return np.where(values[op.condition] == 1, values[op.chosen], values[op.other])
        case Argmax():
            # Of equal scores the first wins, in NumPy as in the hardware.
            stacked: Integers = np.stack([values[r] for r in op.operands], axis=1)
            return stacked.argmax(axis=1).astype(np.int64)


def _weighted_sum(op: Sum, values: dict[Ref, Integers], rows: int) -> Integers:
    total = np.full(rows, op.constant, dtype=np.int64)
    for ref, weight in zip(op.operands, op.weights, strict=True):
        if weight == 1:
            total += values[ref]
        elif weight == -1:
            total -= values[ref]
        else:
            total += weight * values[ref]
    return total


def _concatenate(op: Concat, values: dict[Ref, Integers], rows: int) -> Integers:
    word = np.zeros(rows, dtype=np.int64)
    shift = 0
    for ref, width in zip(op.operands, op.widths, strict=True):
        word |= values[ref] << shift
        shift += width
    return word
