"""How far a machine is folded, and the cycles that follow.

A core takes a sample, goes through its phases one after the other, and shows the result:

    latency = interval = 1 + sum over phases of their cycles

    layer k   ceil(nodes / PE) * ceil(inputs / SIMD) steps, then its drain
    readout   what of it is left when the last layer ends, then its drain
    argmax    one step for each class after the first, then one cycle

The drain is the pipeline behind the last step. Beside the layers, in cycles of their own, go the
linear part (a step for each feature with a weight), the mechanism, and the readout of groups of
nodes that are done: ceil(PE / readout lanes) steps for each. Layers folded alike share their lanes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from scm_hw.errors import OptionError
from scm_hw.fold.machine import Machine, coefficient_bits
from scm_hw.fold.trees import AdderTree, counting_tree, selecting_tree
from scm_hw.passes import Passes
from scm_hw.schedule import Layout, lay_out
from scm_hw.schedule.schedule import USABLE, fastest_clock_mhz
from scm_hw.target import TECHNOLOGIES, Technology, addition

# Ranks of registers around the sum of a chunk, and around that of the readout.
LANE_RANKS, READOUT_RANKS, LINEAR_RANKS, ARGMAX_DRAIN = 3, 2, 2, 1
MAX_LANES = 1 << 16
# Deeper memories are worth a block RAM; shallower ones are a few LUTs for each bit.
BLOCK_DEPTH = 64


@dataclass(frozen=True)
class Fold:
    """Lanes of a layer: `pe` nodes at a time, `simd` inputs of each."""

    pe: int
    simd: int

    @property
    def lanes(self) -> int:
        return self.pe * self.simd

    def __str__(self) -> str:
        return f"{self.pe}x{self.simd}"


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which one part of the core works; the longest path there."""

    name: str
    steps: int
    cycles: int
    ns: float


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
    readout_lanes: int = 1

    @property
    def tech(self) -> Technology:
        return TECHNOLOGIES[self.grade]

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
        return sum(self.folds[layers[0]].lanes for layers in self.engines)

    def groups(self, number: int) -> int:
        """How often the PEs take new nodes in a layer."""
        return -(-self.machine.layers[number].nodes // self.folds[number].pe)

    def chunks(self, number: int) -> int:
        """How often the lanes take new inputs for each group of nodes."""
        return -(-self.machine.layers[number].inputs // self.folds[number].simd)

    def slots(self, number: int) -> int:
        """Steps of the readout for each group of nodes."""
        return -(-self.folds[number].pe // self.readout_lanes)

    @property
    def readout_steps(self) -> int:
        return sum(self.groups(k) * self.slots(k) for k in range(len(self.folds)))

    # Sums that take more than a cycle

    @property
    def budget_ns(self) -> float:
        """What the delay model may find between two registers, at the speed of scale 1."""
        return USABLE * self.period_ns / self.tech.scale - self.tech.setup

    def lane_tree(self, number: int) -> AdderTree:
        """How the lanes of a PE are added up."""
        lane_bits = self.machine.layers[number].lane_bits
        return counting_tree(self.folds[number].simd, lane_bits, self.budget_ns, self.tech)

    @cached_property
    def readout_tree(self) -> AdderTree:
        """How the coefficients of one step are added up."""
        width = coefficient_bits(self.machine.readout)
        return selecting_tree(self.readout_lanes, width, self.budget_ns, self.tech)

    @cached_property
    def mechanism(self) -> Layout | None:
        """The mechanism as a pipeline beside the layers."""
        return _mechanism_layout(self.machine, self.period_ns, self.grade)

    # Time

    def layer_cycles(self, number: int) -> int:
        return self.groups(number) * self.chunks(number) + self.layer_drain(number)

    def layer_drain(self, number: int) -> int:
        return LANE_RANKS + self.lane_tree(number).ranks

    @property
    def side_cycles(self) -> int:
        """The cycles before the totals are the readout's alone."""
        steps = len(self.machine.linear)
        if self.mechanism is None:
            return steps
        # Its addends come after the last of the linear part's have been taken.
        free = steps + LINEAR_RANKS if steps else 0
        return max(self.mechanism.schedule.latency, free) + 1

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The cycles after which all nodes are done, and all steps of the readout."""
        end, left = 0, self.readout_steps
        done = self.side_cycles + left
        for k in range(len(self.folds)):
            groups, chunks, slots = self.groups(k), self.chunks(k), self.slots(k)
            first = end + self.layer_drain(k) + chunks
            # Readout keeps up with the groups, or falls behind from the first of them on.
            last = first + (groups - 1) * chunks - (groups - 1) * slots
            done = max(done, max(first, last) + left)
            left -= groups * slots
            end += self.layer_cycles(k)
        return end, done

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """What happens, in order."""
        machine, tech = self.machine, self.tech
        scale = tech.scale
        found = []
        for k in range(len(self.folds)):
            steps, ns = self.groups(k) * self.chunks(k), self.lane_tree(k).ns * scale
            found.append(Phase(f"layer {k + 1}", steps, self.layer_cycles(k), ns))
        nodes_done, readout_done = self._ends
        rest = readout_done - nodes_done + READOUT_RANKS + self.readout_tree.ranks
        widest = max(machine.score_widths)
        ns = max(self.readout_tree.ns, tech.register + addition(widest, tech)) * scale
        found.append(Phase("readout", self.readout_steps, rest, ns))
        if machine.is_classifier and len(machine.scores) > 1:
            compare = (tech.register + addition(widest, tech) + tech.level) * scale
            steps = len(machine.scores) - 1
            found.append(Phase("argmax", steps, steps + ARGMAX_DRAIN, compare))
        return tuple(found)

    @cached_property
    def beside(self) -> tuple[Phase, ...]:
        """What goes on beside the layers."""
        found = []
        if steps := len(self.machine.linear):
            ns = (self.tech.register + self.tech.dsp) * self.tech.scale
            found.append(Phase("linear", steps, steps + LINEAR_RANKS, ns))
        if self.mechanism is not None:
            plan = self.mechanism.schedule
            found.append(Phase("mechanism", 1, plan.latency, max(plan.stage_ns)))
        return tuple(found)

    def __str__(self) -> str:
        """The phases and the memories, a line each."""
        lines = [f"{p.name}: {p.steps:,} steps, {p.cycles:,} cycles" for p in self.phases]
        lines += [f"{p.name}: {p.steps:,} steps beside the layers" for p in self.beside]
        lines += [f"{b.name}: {b.depth:,} words of {b.width:,} bits" for b in self.banks]
        folds = ", ".join(map(str, self.folds))
        return "\n".join([f"folded {folds}, {self.latency:,} cycles", *lines])

    @cached_property
    def latency(self) -> int:
        return 1 + sum(phase.cycles for phase in self.phases)

    @property
    def initiation_interval(self) -> int:
        return self.latency

    @property
    def stage_ns(self) -> tuple[float, ...]:
        """The longest path of each phase, by the delay model."""
        return tuple(phase.ns for phase in (*self.phases, *self.beside))

    @property
    def max_clock_mhz(self) -> float:
        return fastest_clock_mhz(max(self.stage_ns), self.tech)

    # Memories

    @cached_property
    def banks(self) -> tuple[Bank, ...]:
        """The memories, those beside the layers first."""
        machine, found = self.machine, []
        outputs = len(machine.scores)
        if features := len(machine.linear):
            width = outputs * coefficient_bits(machine.linear)
            found.append(Bank("linear", width, features))
        for number, layers in enumerate(self.engines):
            fold = self.folds[layers[0]]
            depth = sum(self.groups(k) * self.chunks(k) for k in layers)
            found.append(Bank(f"signs{number}", fold.lanes * (1 + self.masked(layers)), depth))
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


@lru_cache(maxsize=8)
def _mechanism_layout(machine: Machine, period_ns: float, grade: str) -> Layout | None:
    if machine.mechanism is None:
        return None
    return lay_out(Passes(machine.mechanism), clock_mhz=1000.0 / period_ns, grade=grade)


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
