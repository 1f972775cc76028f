"""A lowered model: the literal Program, and what each of its references is for.

Unrolled hardware is made from the Program alone. Folded hardware keeps weights and thresholds in
memories, so it needs them as arrays; these are the integers that the Program was written from.
Nothing after this stage rounds, compares with a real bound or knows an encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import Program, Ref

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LoweredLayer:
    """Nodes that are 1 where `weights @ inputs >= threshold`, a row of weights for each.

    A weight is +1, -1, or 0 where the node doesn't see the input.
    """

    inputs: tuple[Ref, ...]
    weights: NDArray[np.int8]
    thresholds: tuple[int, ...]
    nodes: tuple[Ref, ...]


@dataclass(frozen=True, eq=False)
class Terms:
    """What references add to every output: `weights[i, j] * refs[i]` to output `j`."""

    refs: tuple[Ref, ...]
    weights: Integers

    def of_output(self, number: int) -> list[tuple[Ref, int]]:
        """The references that one output adds up, with their weights."""
        pairs = zip(self.refs, self.weights[:, number].tolist(), strict=True)
        return [(ref, weight) for ref, weight in pairs if weight]


@dataclass(frozen=True, eq=False)
class Lowered:
    """Each score is its constant and its terms of all kinds, added up.

    `scores` are the program's outputs, or what its class is read off. `families` are tables.
    `external` holds the words of a mechanism outside the core, `mechanism` what the core computes
    itself.
    """

    program: Program
    layers: tuple[LoweredLayer, ...]
    scores: tuple[Ref, ...]
    constants: tuple[int, ...]
    readout: Terms
    families: Terms
    linear: Terms
    external: Terms
    mechanism: Terms
