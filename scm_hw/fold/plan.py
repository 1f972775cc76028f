"""How far a machine is folded, and the cycles that follow.

A core takes a sample, goes through its phases one after the other, and shows the result:

    latency = interval = 1 + sum over phases of (steps + drain)

    linear    one step for each feature with a weight                          drain 3
    layer k   ceil(nodes / PE) * ceil(inputs / SIMD) steps                     drain 4
    readout   ceil(all nodes / readout lanes) steps                            drain 3
    argmax    one step for each class after the first                          drain 1

The drain is the pipeline behind the last step. Layers folded alike share their lanes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from scm_hw.errors import OptionError
from scm_hw.fold.machine import FoldedLayer, Machine, coefficient_bits
from scm_hw.schedule.schedule import USABLE
from scm_hw.target import GRADE_SCALE, REGISTER, SETUP, addition

LINEAR_DRAIN, LAYER_DRAIN, READOUT_DRAIN, ARGMAX_DRAIN = 3, 4, 3, 1
MAX_LANES = 1 << 16
MULTIPLIER = 3.9
# A LUT and the net behind it.
LEVEL = 0.124 + 0.55
# Deeper memories are worth a block RAM; shallower ones are a few LUTs for each bit.
BLOCK_DEPTH = 64
# Three bits are counted in one level of logic, with their signs.
COUNTED_BITS = 3


@dataclass(frozen=True)
class Fold:
    """Lanes of a layer: `pe` nodes at a time, `simd` inputs of each."""

    pe: int
    simd: int

    def __str__(self) -> str:
        return f"{self.pe}x{self.simd}"


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which one part of the core works."""

    name: str
    steps: int
    drain: int
    ns: float

    @property
    def cycles(self) -> int:
        return self.steps + self.drain


@dataclass(frozen=True)
class Bank:
    """A memory of constants: `depth` words of `width` bits."""

    name: str
    width: int
    depth: int

    @property
    def bits(self) -> int:
        return self.width * self.depth


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """A machine with its folds; latency and interval are exact."""

    machine: Machine
    folds: tuple[Fold, ...]
    period_ns: float
    grade: str = "1"

    @cached_property
    def engines(self) -> list[list[int]]:
        """The layers that share lanes: equal folds over inputs of equal width."""
        found: dict[tuple[Fold, int], list[int]] = {}
        for number, (layer, fold) in enumerate(zip(self.machine.layers, self.folds, strict=True)):
            found.setdefault((fold, layer.lane_bits), []).append(number)
        return list(found.values())

    @property
    def lanes(self) -> int:
        """Lanes of all engines together."""
        return sum(self.folds[k[0]].pe * self.folds[k[0]].simd for k in self.engines)

    def groups(self, number: int) -> int:
        """How often the PEs take new nodes in a layer."""
        return -(-self.machine.layers[number].nodes // self.folds[number].pe)

    def chunks(self, number: int) -> int:
        """How often the lanes take new inputs for each group of nodes."""
        return -(-self.machine.layers[number].inputs // self.folds[number].simd)

    @cached_property
    def readout_lanes(self) -> int:
        """The fewest, by powers of two, that keep the readout to a quarter of the layers' time.

        No more than the widest layer has, nor than can be added up in a cycle.
        """
        steps = sum(self.groups(k) * self.chunks(k) for k in range(len(self.folds)))
        lanes = 1
        most, budget = max(fold.pe for fold in self.folds), USABLE * self.period_ns - SETUP
        while (
            4 * -(-self.machine.nodes // lanes) > steps
            and 2 * lanes <= most
            and self._readout_ns(2 * lanes) <= budget
        ):
            lanes *= 2
        return lanes

    def _readout_ns(self, lanes: int) -> float:
        """The coefficients of some nodes added up in pairs, or the sum added to the total."""
        levels = lanes.bit_length() - 1
        chosen = levels * addition(coefficient_bits(self.machine.readout) + levels)
        longest = max(LEVEL + chosen, addition(max(self.machine.score_widths)))
        return (REGISTER + longest) * GRADE_SCALE[self.grade]

    @property
    def readout_steps(self) -> int:
        return -(-self.machine.nodes // self.readout_lanes)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """What happens, in order."""
        scale = GRADE_SCALE[self.grade]
        machine = self.machine
        widest = max(machine.score_widths)
        found = []
        if features := len(machine.linear_features):
            found.append(Phase("linear", features, LINEAR_DRAIN, (REGISTER + MULTIPLIER) * scale))
        for k, layer in enumerate(machine.layers):
            ns = _lane_ns(layer, self.folds[k]) * scale
            found.append(Phase(f"layer {k + 1}", self.groups(k) * self.chunks(k), LAYER_DRAIN, ns))
        found.append(
            Phase(
                "readout", self.readout_steps, READOUT_DRAIN, self._readout_ns(self.readout_lanes)
            )
        )
        if machine.model.is_classifier and machine.model.outputs > 1:
            compare = (REGISTER + addition(widest) + LEVEL) * scale
            found.append(Phase("argmax", machine.model.outputs - 1, ARGMAX_DRAIN, compare))
        return tuple(found)

    def __str__(self) -> str:
        """The phases and the memories, a line each."""
        lines = [f"{p.name}: {p.steps:,} steps, {p.cycles:,} cycles" for p in self.phases]
        lines += [f"{b.name}: {b.depth:,} words of {b.width:,} bits" for b in self.banks]
        folds = ", ".join(map(str, self.folds))
        return "\n".join([f"folded {folds}, {self.latency:,} cycles", *lines])

    @property
    def latency(self) -> int:
        return 1 + sum(phase.cycles for phase in self.phases)

    @property
    def initiation_interval(self) -> int:
        return self.latency

    @property
    def stage_ns(self) -> tuple[float, ...]:
        """The longest path of each phase, by the delay model."""
        return tuple(phase.ns for phase in self.phases)

    @property
    def max_clock_mhz(self) -> float:
        return 1000.0 * USABLE / (max(self.stage_ns) + SETUP)

    @cached_property
    def banks(self) -> tuple[Bank, ...]:
        """The memories, in the order of the phases that read them."""
        machine, found = self.machine, []
        outputs = machine.model.outputs
        if features := len(machine.linear_features):
            width = outputs * coefficient_bits(machine.fixed.linear)
            found.append(Bank("linear", width, features))
        for number, layers in enumerate(self.engines):
            fold = self.folds[layers[0]]
            depth = sum(self.groups(k) * self.chunks(k) for k in layers)
            lanes = fold.pe * fold.simd
            found.append(Bank(f"signs{number}", lanes * (1 + self.masked(layers)), depth))
            width = fold.pe * self.sum_bits(layers)
            found.append(Bank(f"thresholds{number}", width, sum(self.groups(k) for k in layers)))
        width = self.readout_lanes * outputs * coefficient_bits(machine.readout)
        return (*found, Bank("readout", width, self.readout_steps))

    def masked(self, layers: list[int]) -> bool:
        """Whether an engine needs to know which connections are absent."""
        return any(self.machine.layers[k].present is not None for k in layers)

    def sum_bits(self, layers: list[int]) -> int:
        """Bits of an engine's accumulators."""
        return max(self.machine.layers[k].sum_bits for k in layers)


def _lane_ns(layer: FoldedLayer, fold: Fold) -> float:
    """From the registers of inputs and signs to the sum of one chunk."""
    terms, ns = fold.simd, REGISTER + LEVEL
    if layer.lane_bits == 1:
        terms = -(-terms // COUNTED_BITS)
    width = layer.lane_bits + 1
    while terms > 1:
        terms, ns, width = -(-terms // 2), ns + addition(width), width + 1
    return ns


def parse_fold(text: str, layers: int) -> tuple[Fold, ...]:
    """`PExSIMD` for all layers, or a comma-separated list with one for each."""
    if not layers:
        raise OptionError(f"fold must be auto or none for a model without layers, not {text!r}")
    found = [_one(part.strip(), text) for part in text.split(",")]
    if len(found) not in (1, layers):
        raise OptionError(
            f"fold must be one PExSIMD or {layers}, one for each layer, not {text!r}; "
            "separate them by commas"
        )
    return tuple(found * layers if len(found) == 1 else found)


def _one(part: str, text: str) -> Fold:
    match = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", part, re.ASCII)
    if match is None or int(match[1]) * int(match[2]) > MAX_LANES:
        raise OptionError(
            f"fold must be auto, none, or PExSIMD such as 8x32 with at most {MAX_LANES:,} lanes, "
            f"not {text!r}"
        )
    return Fold(int(match[1]), int(match[2]))
