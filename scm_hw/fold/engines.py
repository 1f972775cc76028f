"""The parts of a folded core that take steps: layers, the lanes they share, and the readout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scm_hw.fold.folds import Fold
from scm_hw.fold.machine import FoldedLayer
from scm_hw.fold.memories import Bank
from scm_hw.fold.trees import AdderTree

# Registers besides those in the adder tree: of the memory's address and data and of the inputs
# beside them, and of the accumulator.
LANE_RANKS = 3
# The same of the readout's memory; its accumulators are the totals.
READOUT_RANKS = 2


@dataclass(frozen=True, eq=False)
class LayerPlan:
    """A layer on its lanes: nodes by the group, inputs by the chunk. `tree` adds a chunk up."""

    number: int
    layer: FoldedLayer
    fold: Fold
    tree: AdderTree

    @property
    def groups(self) -> int:
        """How often the PEs take new nodes."""
        return -(-self.layer.nodes // self.fold.pe)

    @property
    def chunks(self) -> int:
        """How often the lanes take new inputs for each group of nodes."""
        return -(-self.layer.inputs // self.fold.simd)

    @property
    def steps(self) -> int:
        return self.groups * self.chunks

    @property
    def drain(self) -> int:
        """Cycles from the last step until its nodes are known."""
        return LANE_RANKS + self.tree.ranks

    @property
    def cycles(self) -> int:
        return self.steps + self.drain


@dataclass(frozen=True, eq=False)
class Engine:
    """A set of lanes and the layers that share it, one after the other."""

    number: int
    layers: tuple[LayerPlan, ...]

    @property
    def fold(self) -> Fold:
        # The layers of an engine have equal folds and lanes, so the first stands for all.
        return self.layers[0].fold

    @property
    def lane_bits(self) -> int:
        return self.layers[0].layer.lane_bits

    @property
    def tree(self) -> AdderTree:
        return self.layers[0].tree

    @property
    def drain(self) -> int:
        return self.layers[0].drain

    @cached_property
    def masked(self) -> bool:
        """Whether the lanes need to know which connections are absent."""
        return any(plan.layer.present is not None for plan in self.layers)

    @cached_property
    def sum_bits(self) -> int:
        """Bits of the accumulators."""
        return max(plan.layer.sum_bits for plan in self.layers)

    @cached_property
    def groups(self) -> int:
        return sum(plan.groups for plan in self.layers)

    @cached_property
    def steps(self) -> int:
        return sum(plan.steps for plan in self.layers)

    @property
    def signs(self) -> Bank:
        """A word for each step: the signs of all lanes, and which of them are present."""
        return Bank(f"signs{self.number}", self.fold.lanes * (1 + self.masked), self.steps)

    @property
    def thresholds(self) -> Bank:
        """A word for each group: the thresholds of its nodes."""
        return Bank(f"thresholds{self.number}", self.fold.pe * self.sum_bits, self.groups)


@dataclass(frozen=True, eq=False)
class ReadoutPlan:
    """Some nodes at a time, `lanes` of them; `tree` adds up their coefficients, a word each."""

    lanes: int
    outputs: int
    coefficient_bits: int
    tree: AdderTree
    layers: tuple[LayerPlan, ...]

    def slots(self, layer: LayerPlan) -> int:
        """Steps for each group of a layer's nodes."""
        return -(-layer.fold.pe // self.lanes)

    @cached_property
    def steps(self) -> int:
        return sum(layer.groups * self.slots(layer) for layer in self.layers)

    @property
    def drain(self) -> int:
        """Cycles from the last step until the totals are complete."""
        return READOUT_RANKS + self.tree.ranks

    @property
    def bank(self) -> Bank:
        """A word for each step: the coefficients of its nodes for every output."""
        return Bank("readout", self.lanes * self.outputs * self.coefficient_bits, self.steps)
