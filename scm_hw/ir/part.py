"""What an operation belongs to: structure, for modules and reports; names are for people only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kinds of parts, by the words in which reports name them."""

    # Inputs of the core, and what codes them for whatever reads them.
    INTERFACE = "encoder"
    NODE = "layer"
    LINEAR = "linear"
    MECHANISM = "mechanism"
    READOUT = "output"
    ARGMAX = "argmax"
    # What many nodes have in common.
    PARITY = "parity"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Part:
    """One node of a layer (from 1), or all that there is of another kind."""

    kind: Kind
    layer: int = 0
    node: int = 0

    @property
    def title(self) -> str:
        """As reports call it: nodes by their layer."""
        return f"layer {self.layer}" if self.kind is Kind.NODE else self.kind.value

    @property
    def prefix(self) -> str:
        """What names of its operations begin with; empty where they have names of their own."""
        if self.kind is Kind.NODE:
            return f"layer{self.layer}.node{self.node}"
        return self.kind.value if self.kind in (Kind.READOUT, Kind.MECHANISM) else ""


INTERFACE, LINEAR, MECHANISM = Part(Kind.INTERFACE), Part(Kind.LINEAR), Part(Kind.MECHANISM)
READOUT, ARGMAX = Part(Kind.READOUT), Part(Kind.ARGMAX)
PARITY, SHARED = Part(Kind.PARITY), Part(Kind.SHARED)


def node_part(layer: int, node: int) -> Part:
    """The part of a node, layers counted from 1."""
    return Part(Kind.NODE, layer, node)
