"""Cores that learn, and streams of samples with targets for them."""

from __future__ import annotations

import numpy as np

from scm_hw import boards
from scm_hw.common.packing import pack
from scm_hw.design import Design, Options, compile_model
from scm_hw.load import Model
from scm_hw.load.adaptive import learning_stream
from scm_hw.sim.vectors import Vectors
from scm_model.adaptation import AdaptSettings

BOARD = boards.get("arty-a7")


def learns(model: Model, settings: AdaptSettings | None = None, **options: object) -> Design:
    return compile_model(model, BOARD, Options(adapt=settings or AdaptSettings(), **options))


def samples(design: Design, count: int, seed: int = 0) -> np.ndarray:
    """Random inputs of the machine itself, (n, d)."""
    rng = np.random.default_rng(seed)
    reach = design.adaptive.samples
    return np.stack([rng.integers(r.low, r.high, count, endpoint=True) for r in reach], axis=1)


def stream(design: Design, count: int, seed: int = 0) -> np.ndarray:
    return learning_stream(design.adaptive, samples(design, count, seed), seed)


def vectors_of(design: Design, rows: np.ndarray, outputs: np.ndarray | None = None) -> Vectors:
    """The rows with what must answer them."""
    if outputs is None:
        outputs = design.interpret(rows)
    widths, out_widths = design.ports.in_widths, design.ports.out_widths
    return Vectors(
        tuple(pack(rows, list(widths))),
        tuple(pack(outputs, list(out_widths))),
        sum(widths),
        sum(out_widths),
        records=True,
    )
