"""Draws of candidates ahead of need.

What is drawn does not depend on the residual, so that many draws can be made and tabulated in one
go; they are those that would have been made one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scm_train.search.candidates import CandidateDraw, Candidates
from scm_train.search.layer_inputs import LayerInputs

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
        self._ready: Candidates | None = None
        self._used = 0
        #: The generator's state after each draw that is ready.
        self._states: list[dict[str, Any]] = []
        self._state = rng.bit_generator.state
        self._made = 1

    def __call__(self, inputs: LayerInputs, rows: int, count: int) -> Candidates:
        """The next ``count`` candidates on ``inputs``, which has ``rows`` rows."""
        candidates = self.ahead(inputs, rows, count, 1)
        self.use()
        return candidates

    def ahead(self, inputs: LayerInputs, rows: int, count: int, most: int) -> Candidates:
        """The candidates of the next draws in a row, ``most`` draws or as many as are ready."""
        if self._for != (inputs, rows, count):
            self._for = (inputs, rows, count)
            self._states.clear()
            self._used, self._made = 0, 1
        if self._used == len(self._states):
            self._refill(inputs, rows, count)
        assert self._ready is not None
        stop = min(self._used + most, len(self._states))
        return self._ready.part(slice(self._used * count, stop * count))

    def use(self, draws: int = 1) -> None:
        """Be done with the next draws."""
        self._used += draws
        self._state = self._states[self._used - 1]

    def _refill(self, inputs: LayerInputs, rows: int, count: int) -> None:
        # Draws that went unused are made again, for other inputs. So how many are made ahead, which
        # depends on rows and caches, changes no machine: the generator is where it would be had
        # they been made one at a time.
        self.rng.bit_generator.state = self._state
        self._states.clear()
        self._used = 0
        self._ready = self.draw.several(self._each(self._made), inputs, rows, count)
        most = MOST_WEIGHTS // (count * len(inputs.groups))
        self._made = max(1, min(2 * self._made, MOST_AHEAD, most))

    def _each(self, draws: int) -> Iterator[np.random.Generator]:
        """The generator once for every draw; its state after each is kept."""
        for _ in range(draws):
            yield self.rng
            self._states.append(self.rng.bit_generator.state)
