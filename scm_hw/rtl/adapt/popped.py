"""The error of an earlier sample, as it comes back to change the readout."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Value


@dataclass(frozen=True)
class Popped:
    """An error at rank 2: a step for each output, and the hidden bits of its sample.

    `counts` says that there is an error, `changes` that the readout learns from it. `size` is the
    absolute error of all outputs together.
    """

    steps: list[Value]
    size: Value
    hidden: Value
    counts: Value
    changes: Value
