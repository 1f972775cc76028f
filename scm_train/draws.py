"""Draws of candidates ahead of need.

What is drawn does not depend on the residual, so that many draws can be made and tabulated in one
go; they are those that would have been made one at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from scm_train.draw import CandidateDraw, Candidates
from scm_train.inputs import LayerInputs

__all__ = ["Draws"]

#: Most draws made ahead.
MOST_AHEAD = 8
#: Most weights of all draws made ahead.
MOST_WEIGHTS = 1 << 20


class Draws:
    """Draws from one generator, one after the other."""

    def __init__(self, draw: CandidateDraw, rng: np.random.Generator):
        self.draw = draw
        self.rng = rng
        self._for: tuple[LayerInputs, int, int] | None = None
        self._ready: deque[tuple[Candidates, dict[str, Any]]] = deque()
        self._state = rng.bit_generator.state
        self._ahead = 1

    def __call__(self, inputs: LayerInputs, rows: int, count: int) -> Candidates:
        """The next ``count`` candidates on ``inputs``, which has ``rows`` rows."""
        if self._for != (inputs, rows, count):
            self._for = (inputs, rows, count)
            self._ready.clear()
            self._ahead = 1
        if not self._ready:
            self._refill(inputs, rows, count)
        candidates, self._state = self._ready.popleft()
        return candidates

    def _refill(self, inputs: LayerInputs, rows: int, count: int) -> None:
        # Draws that went unused are made again, for other inputs.
        self.rng.bit_generator.state = self._state
        states: list[dict[str, Any]] = []
        drawn = self.draw.several(self._each(self._ahead, states), inputs, rows, count)
        self._ready.extend(zip(drawn, states, strict=True))
        most = MOST_WEIGHTS // (count * len(inputs.groups))
        self._ahead = max(1, min(2 * self._ahead, MOST_AHEAD, most))

    def _each(self, draws: int, states: list[dict[str, Any]]) -> Iterator[np.random.Generator]:
        """The generator once for every draw; its state after each goes to ``states``."""
        for _ in range(draws):
            yield self.rng
            states.append(self.rng.bit_generator.state)
