"""What programs and model files mean, one row at a time, in Python's own integers and fractions.

Written from `scm_model/model_file.md` and the docstrings of the operations, with nothing of the
compiler's code, so that the two can be held against each other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
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
    Select,
    Shift,
    Sum,
    Table,
    Xor,
)

Arrays = dict[str, NDArray[Any]]
Exact = list[Fraction]


def op_value(op: Op, values: Sequence[int], row: Sequence[int]) -> int:
    """The value of one operation, given those of all before it and the inputs."""
    match op:
        case Input():
            return row[op.position]
        case Constant():
            return op.value
        case AtLeast():
            return int(values[op.value] >= op.bound)
        case Field():
            bits = values[op.value] // 2**op.offset % 2**op.width
            return bits - 2**op.width if op.signed and bits >= 2 ** (op.width - 1) else bits
        case Majority():
            found = [values[ref] for ref in op.operands]
            places = range(max(found).bit_length())
            return sum(2**i * (sum(v >> i & 1 for v in found) > 1) for i in places)
        case Shift():
            return values[op.value] // 2**op.bits
        case Xor():
            total = 0
            for ref in op.operands:
                total ^= values[ref]
            return total
        case Sum():
            terms = zip(op.operands, op.weights, strict=True)
            return op.constant + sum(weight * values[ref] for ref, weight in terms)
        case Product():
            return values[op.left] * values[op.right]
        case Concat():
            starts = [2 ** sum(op.widths[:i]) for i in range(len(op.widths))]
            return sum(values[r] * s for r, s in zip(op.operands, starts, strict=True))
        case Table():
            return op.contents[values[op.index]]
        case Less():
            return int(values[op.left] < values[op.right])
        case Select():
            return values[op.chosen] if values[op.condition] else values[op.other]
        case Argmax():
            found = [values[ref] for ref in op.operands]
            return found.index(max(found))


def all_values(program: Program, row: Sequence[int]) -> list[int]:
    """The value of every reference of a program for one row of inputs."""
    values: list[int] = []
    for op in program.ops:
        values.append(op_value(op, values, row))
    return values


def outputs(program: Program, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The outputs of a program, row by row."""
    found = [all_values(program, [int(v) for v in row]) for row in rows]
    return np.array([[values[r] for r in program.outputs] for values in found], dtype=np.int64)


def meta_of(arrays: Arrays) -> dict[str, Any]:
    return json.loads(arrays["meta"].tobytes())


def code_of(arrays: Arrays, row: Sequence[float]) -> list[int]:
    """The codes of one raw row."""
    bits = meta_of(arrays)["input_bits"]
    codes = []
    for x, low, high in zip(row, arrays["input_min"], arrays["input_max"], strict=True):
        x_norm = (x - low) / (high - low) if high > low else 0.0
        codes.append(min(max(math.floor(x_norm * 2**bits), 0), 2**bits - 1))
    return codes


def hidden(arrays: Arrays, code: Sequence[int]) -> list[list[int]]:
    """The outputs of every node, layer by layer, of a machine of sign and step nodes."""
    groups = _encoded(arrays, code)
    layers = []
    for number, layer in enumerate(meta_of(arrays)["layers"], start=1):
        found = [
            _node(arrays, number, node, groups, layer["activation"])
            for node in range(layer["nodes"])
        ]
        layers.append(found)
        groups = [[Fraction(h)] for h in found]
    return layers


def y_norm(arrays: Arrays, code: Sequence[int], p0: Sequence[float] | None = None) -> Exact:
    """The outputs in normalised units, exactly; `p0` where the mechanism is external."""
    x = _x_q(arrays, code)
    nodes = [h for layer in hidden(arrays, code) for h in layer]
    mechanism = _mechanism(arrays, x) if p0 is None else [Fraction(float(v)) for v in p0]
    totals = []
    for number, intercept in enumerate(arrays["intercept"]):
        readout = _dot(nodes, arrays["readout"][:, number])
        linear = _dot(x, arrays["linear"][:, number])
        totals.append(mechanism[number] + linear + Fraction(float(intercept)) + readout)
    return totals


def _dot(values: Sequence[Fraction | int], weights: NDArray[Any]) -> Fraction:
    pairs = zip(values, weights, strict=True)
    return sum((v * Fraction(float(w)) for v, w in pairs), Fraction(0))


def _x_q(arrays: Arrays, code: Sequence[int]) -> Exact:
    return [Fraction(2 * c + 1, 2 ** (meta_of(arrays)["input_bits"] + 1)) for c in code]


def _encoded(arrays: Arrays, code: Sequence[int]) -> list[Exact]:
    """H_0, one list for each feature."""
    meta = meta_of(arrays)
    kind = meta["encoder"]["kind"]
    if kind == "none":
        return [[x] for x in _x_q(arrays, code)]
    coded, start = [], 0
    for value, count in zip(code, arrays["encoder_bits"], strict=True):
        if kind == "thermometer":
            bits = [value >= t for t in arrays["thresholds"][start : start + count]]
            start += count
        else:
            top = value >> (meta["input_bits"] - int(count))
            word = top ^ (top >> 1) if kind == "gray" else top
            bits = [word >> j & 1 == 1 for j in range(count)]
        coded.append([Fraction(1 if bit else -1) for bit in bits])
    return coded


def _node(arrays: Arrays, number: int, node: int, groups: list[Exact], activation: str) -> int:
    packed = arrays[f"layer{number}_weights"][node]
    mask = arrays.get(f"layer{number}_mask")
    total, position = Fraction(float(arrays[f"layer{number}_bias"][node])), 0
    for group, inputs in enumerate(groups):
        for h in inputs:
            if mask is None or _bit(mask[node], group):
                total += h if _bit(packed, position) else -h
            position += 1
    if activation == "sign":
        return 1 if total > 0 else -1
    return 1 if total >= 0 else 0


def _bit(packed: NDArray[np.uint8], position: int) -> bool:
    return bool(packed[position // 8] >> (position % 8) & 1)


def _mechanism(arrays: Arrays, x: Exact) -> Exact:
    kind = meta_of(arrays)["mechanism"]["kind"]
    if kind == "polynomial":
        return _polynomial(arrays, x)
    if kind == "table":
        return _table(arrays, x)
    assert kind == "none"
    return [Fraction(0)] * len(arrays["intercept"])


def _polynomial(arrays: Arrays, x: Exact) -> Exact:
    terms = [
        math.prod((v ** int(e) for v, e in zip(x, powers, strict=True)), start=Fraction(1))
        for powers in arrays["mechanism_exponents"]
    ]
    return [_dot(terms, column) for column in arrays["mechanism_coefficients"].T]


def _table(arrays: Arrays, x: Exact) -> Exact:
    """Multilinear between grid points, by the shares of the corners of a cell."""
    grid = arrays["mechanism_grid"]
    sides = zip(arrays["mechanism_inputs"], grid.shape[:-1], strict=True)
    places = [x[i] * (side - 1) for i, side in sides]
    total = [Fraction(0)] * grid.shape[-1]
    for corner in product((0, 1), repeat=len(places)):
        inside = [place - math.floor(place) for place in places]
        share = math.prod(f if c else 1 - f for f, c in zip(inside, corner, strict=True))
        point = tuple(math.floor(p) + c for p, c in zip(places, corner, strict=True))
        total = [t + share * Fraction(float(v)) for t, v in zip(total, grid[point], strict=True)]
    return total
