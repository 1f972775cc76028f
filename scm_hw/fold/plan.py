"""A machine with a fold for every layer: the parts of the core, its cycles and its memories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from scm_hw.fold import timeline
from scm_hw.fold.engines import Engine, LayerPlan, ReadoutPlan
from scm_hw.fold.folds import Fold
from scm_hw.fold.machine import Machine, coefficient_bits
from scm_hw.fold.memories import Bank
from scm_hw.fold.timeline import Phase
from scm_hw.fold.trees import counting_tree, selecting_tree
from scm_hw.passes import Passes
from scm_hw.schedule import Layout, lay_out
from scm_hw.schedule.schedule import USABLE, fastest_clock_mhz
from scm_hw.target import TECHNOLOGIES, Technology


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """Everything that is decided about a folded core; latency and interval are exact."""

    machine: Machine
    folds: tuple[Fold, ...]
    period_ns: float
    grade: str = "1"
    readout_lanes: int = 1
    handshake: str = "global"

    @property
    def tech(self) -> Technology:
        return TECHNOLOGIES[self.grade]

    # Parts

    @cached_property
    def layers(self) -> tuple[LayerPlan, ...]:
        folded = enumerate(zip(self.machine.layers, self.folds, strict=True))
        return tuple(
            LayerPlan(k, layer, fold, counting_tree(fold.simd, layer.lane_bits, *self._trees))
            for k, (layer, fold) in folded
        )

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """The lanes: layers share them where fold and width of inputs are equal."""
        # Wide lanes add codes, and lanes of one bit count by threes: they can't be the same
        # hardware.
        shared: dict[tuple[Fold, int], list[LayerPlan]] = {}
        for plan in self.layers:
            shared.setdefault((plan.fold, plan.layer.lane_bits), []).append(plan)
        return tuple(Engine(number, tuple(plans)) for number, plans in enumerate(shared.values()))

    @cached_property
    def readout(self) -> ReadoutPlan:
        width = coefficient_bits(self.machine.readout)
        tree = selecting_tree(self.readout_lanes, width, *self._trees)
        outputs = len(self.machine.scores)
        return ReadoutPlan(self.readout_lanes, outputs, width, tree, self.layers)

    @cached_property
    def mechanism(self) -> Layout | None:
        """The mechanism as a pipeline beside the layers."""
        return _mechanism_layout(self.machine, self.period_ns, self.grade)

    @property
    def _trees(self) -> tuple[float, Technology]:
        """The delay that adder trees may have between two registers, at the speed of scale 1."""
        return USABLE * self.period_ns / self.tech.scale - self.tech.setup, self.tech

    @property
    def lanes(self) -> int:
        """Lanes of all engines together."""
        return sum(engine.fold.lanes for engine in self.engines)

    # Time

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """What happens, in order."""
        start = timeline.cycles_until_readout(self.machine, self.mechanism)
        return tuple(
            timeline.one_after_another(self.machine, self.layers, self.readout, start, self.tech)
        )

    @cached_property
    def beside(self) -> tuple[Phase, ...]:
        """What goes on beside the layers."""
        return tuple(timeline.beside_layers(self.machine, self.mechanism, self.tech))

    @cached_property
    def latency(self) -> int:
        # One edge takes the sample.
        return 1 + sum(phase.cycles for phase in self.phases)

    @property
    def initiation_interval(self) -> int:
        # With a registered ready nothing enters in the cycle in which a result leaves.
        return self.latency + (self.handshake == "skid")

    @property
    def stage_ns(self) -> tuple[float, ...]:
        """The longest path of each phase, by the delay model."""
        return tuple(phase.ns for phase in (*self.phases, *self.beside))

    @property
    def max_clock_mhz(self) -> float:
        return fastest_clock_mhz(max(self.stage_ns), self.tech)

    # Memories

    @property
    def linear_bank(self) -> Bank:
        """A word for each feature of the linear part: its weights for all outputs."""
        linear = self.machine.linear
        return Bank("linear", linear.shape[1] * coefficient_bits(linear), len(linear))

    @cached_property
    def banks(self) -> tuple[Bank, ...]:
        """The memories, those beside the layers first."""
        found = [self.linear_bank] if len(self.machine.linear) else []
        for engine in self.engines:
            found += [engine.signs, engine.thresholds]
        return (*found, self.readout.bank)

    def __str__(self) -> str:
        """The phases and the memories, a line each."""
        lines = [f"{p.name}: {p.steps:,} steps, {p.cycles:,} cycles" for p in self.phases]
        lines += [f"{p.name}: {p.steps:,} steps beside the layers" for p in self.beside]
        lines += [f"{b.name}: {b.depth:,} words of {b.width:,} bits" for b in self.banks]
        folds = ", ".join(map(str, self.folds))
        return "\n".join([f"folded {folds}, {self.latency:,} cycles", *lines])


# The search makes hundreds of plans for one machine and clock; its mechanism is laid out once.
@lru_cache(maxsize=8)
def _mechanism_layout(machine: Machine, period_ns: float, grade: str) -> Layout | None:
    if machine.mechanism is None:
        return None
    return lay_out(Passes(machine.mechanism), clock_mhz=1000.0 / period_ns, grade=grade)
