"""Rows of inputs to run a Program on: corners, random codes, and close calls of a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import Argmax, Program, Range
from scm_hw.ir.interp import trace

RANDOM_ROWS = 200
MAX_CORNER_ROWS = 40

Rows = NDArray[np.int64]


def corner_rows(inputs: Sequence[Range]) -> Rows:
    """All lowest, all highest, and each input alone at either end."""
    low = np.array([r.low for r in inputs], dtype=np.int64)
    high = np.array([r.high for r in inputs], dtype=np.int64)
    rows = [low, high]
    for i in range(min(len(low), (MAX_CORNER_ROWS - 2) // 2)):
        rows += [np.where(np.arange(len(low)) == i, high, low)]
        rows += [np.where(np.arange(len(low)) == i, low, high)]
    return np.stack(rows)


def random_rows(program: Program, candidates: int) -> Rows:
    """Random codes, equal ones for equal programs.

    Of a classifier half of them are close calls, where a score that is off by one shows: those of
    `candidates` random codes at which the best score is least ahead of the next.
    """
    rng = np.random.default_rng(0)
    classifier = any(isinstance(program.ops[r], Argmax) for r in program.outputs)
    count = candidates if classifier else RANDOM_ROWS
    reach = [Range(op.low, op.high) for op in program.input_ops()]
    rows = np.stack([rng.integers(r.low, r.high, count, endpoint=True) for r in reach], axis=1)
    if not classifier:
        return rows
    half = RANDOM_ROWS // 2
    # Few inputs have few rows, which the candidates hold many times over.
    distinct = np.unique(rows, axis=0)
    close = np.argsort(_margins(program, distinct), kind="stable")
    chosen = np.concatenate([distinct[close[: RANDOM_ROWS - half]], rows])
    return chosen[:RANDOM_ROWS]


def _margins(program: Program, rows: Rows) -> Rows:
    """How far the best score is ahead of the next."""
    winner = next(op for op in program.ops if isinstance(op, Argmax))
    values = trace(program, rows, set(winner.operands))
    scores = np.sort(np.stack([values[ref] for ref in winner.operands], axis=1), axis=1)
    if scores.shape[1] < 2:
        return np.zeros(len(rows), dtype=np.int64)
    margins: Rows = scores[:, -1] - scores[:, -2]
    return margins
