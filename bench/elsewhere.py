"""The same nodes through da4ml, a general compiler of constant matrices (extra `bench`)."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.design import Design
from scm_hw.ir import AtLeast, Program, Ref, Sum
from scm_hw.ir.interp import interpret, trace
from scm_hw.tools.synthesis import synthesise

# Delay of a pipeline stage in da4ml's own units: its default.
STAGE = 5
TOP = "da4ml_nodes"


def at_hand() -> bool:
    return importlib.util.find_spec("da4ml") is not None


def through_da4ml(design: Design, rows: int = 2000, seed: int = 0) -> dict[str, Any]:
    """LUTs and stages of a model of one coded layer, on the vectors of our own interpreter.

    da4ml is given the coded bits, as its users would; our own core has its encoder inside.
    """
    from da4ml.codegen import VerilogModel

    program = design.meaning
    coded = sorted({ref for _, _, source in _nodes(program) for ref in source.operands})
    logic = _traced(program, coded)
    codes = _random_codes(design, rows, seed)
    bits = trace(program, codes, coded)
    theirs = logic.predict(np.stack([bits[ref] for ref in coded], axis=1).astype(np.float64))
    ours = interpret(design.program, codes)
    if not np.array_equal(theirs.astype(np.int64), ours):
        raise AssertionError("da4ml and the interpreter must give equal integers")
    with tempfile.TemporaryDirectory() as folder:
        VerilogModel(logic, TOP, folder, latency_cutoff=STAGE, print_latency=False).write()
        texts = {path.name: path.read_text() for path in sorted(Path(folder).rglob("src/**/*.v"))}
    # A template for tables, with a file that is not there; nothing here uses it.
    texts.pop("lookup_table.v", None)
    found = synthesise(texts, TOP)
    stages = sum("stage" in name for name in texts)
    return {
        "lut": found.lut,
        "lut_sites": found.lut_sites,
        "ff": found.ff,
        "stages": stages,
        "vectors": rows,
    }


def _nodes(program: Program) -> list[tuple[Ref, AtLeast, Sum]]:
    return [
        (ref, op, source)
        for ref, op in program
        if isinstance(op, AtLeast) and isinstance(source := program.ops[op.value], Sum)
    ]


def _traced(program: Program, coded: list[Ref]) -> Any:
    """The nodes as a matrix of signs with a bound each, and the readout of their bits."""
    from da4ml.trace import FixedVariableArray, FixedVariableArrayInput, comb_trace

    inputs = FixedVariableArrayInput(len(coded)).quantize(0, 1, 0)
    nodes = _nodes(program)
    signs = _matrix([source for _, _, source in nodes], coded)
    bounds = np.array([op.bound - source.constant for _, op, source in nodes], dtype=np.float64)
    margins = inputs @ signs - bounds
    hidden = FixedVariableArray(np.array([margin.is_negative() for margin in margins]))
    outputs = [program.ops[ref] for ref in program.outputs]
    readout = _matrix(outputs, [ref for ref, _, _ in nodes])
    constants = np.array([op.constant for op in outputs], dtype=np.float64)
    # A node is set where its sum is not below the bound.
    return comb_trace(inputs, hidden @ -readout + (constants + readout.sum(axis=0)))


def _matrix(sums: list[Any], terms: list[Ref]) -> NDArray[np.float64]:
    place = {ref: i for i, ref in enumerate(terms)}
    matrix = np.zeros((len(terms), len(sums)))
    for j, op in enumerate(sums):
        for ref, weight in zip(op.operands, op.weights, strict=True):
            matrix[place[ref], j] += weight
    return matrix


def _random_codes(design: Design, rows: int, seed: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    spans = design.input_ranges
    return np.stack([rng.integers(r.low, r.high, rows, endpoint=True) for r in spans], axis=1)
