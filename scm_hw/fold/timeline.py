"""When what happens in a folded core, from the steps that its parts take.

A core takes a sample, goes through its phases one after the other, and shows the result:

    latency = interval = 1 + sum over phases of their cycles

    layer k   ceil(nodes / PE) * ceil(inputs / SIMD) steps, then its drain
    readout   what of it is left when the last layer ends, then its drain
    argmax    one step for each class after the first, then one cycle

The drain is the pipeline behind the last step. Beside the layers, in cycles of their own, go the
linear part (a step for each feature with a weight), the mechanism, and the readout of groups of
nodes that are done: ceil(PE / readout lanes) steps for each.
"""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.fold.engines import LayerPlan, ReadoutPlan
from scm_hw.fold.machine import Machine
from scm_hw.schedule import Layout
from scm_hw.target import Technology, addition

# Registers of the linear part's memory and codes, before the product enters the addends.
LINEAR_RANKS = 2
# The register of a score before it is compared.
ARGMAX_DRAIN = 1


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which one part of the core works; the longest path there."""

    name: str
    steps: int
    cycles: int
    ns: float


def beside_layers(machine: Machine, mechanism: Layout | None, tech: Technology) -> list[Phase]:
    """What goes on in cycles of its own while the layers work."""
    found = []
    if steps := len(machine.linear):
        ns = (tech.register + tech.dsp) * tech.scale
        found.append(Phase("linear", steps, steps + LINEAR_RANKS, ns))
    if mechanism is not None:
        plan = mechanism.schedule
        found.append(Phase("mechanism", 1, plan.latency, max(plan.stage_ns)))
    return found


def cycles_until_readout(machine: Machine, mechanism: Layout | None) -> int:
    """The cycles before the totals are the readout's alone."""
    steps = len(machine.linear)
    if mechanism is None:
        return steps
    # Its addends come after the last of the linear part's have been taken.
    free = steps + LINEAR_RANKS if steps else 0
    return max(mechanism.schedule.latency, free) + 1


def one_after_another(
    machine: Machine,
    layers: tuple[LayerPlan, ...],
    readout: ReadoutPlan,
    start: int,
    tech: Technology,
) -> list[Phase]:
    """The phases in order; the readout may begin in cycle `start`."""
    found = [
        Phase(f"layer {plan.number + 1}", plan.steps, plan.cycles, plan.tree.ns * tech.scale)
        for plan in layers
    ]
    total = addition(max(machine.score_widths), tech)
    left = _readout_end(layers, readout, start) - sum(plan.cycles for plan in layers)
    ns = max(readout.tree.ns, tech.register + total) * tech.scale
    found.append(Phase("readout", readout.steps, left + readout.drain, ns))
    if machine.is_classifier and len(machine.scores) > 1:
        steps = len(machine.scores) - 1
        ns = (tech.register + total + tech.level) * tech.scale
        found.append(Phase("argmax", steps, steps + ARGMAX_DRAIN, ns))
    return found


def _readout_end(layers: tuple[LayerPlan, ...], readout: ReadoutPlan, start: int) -> int:
    """The cycle after the last step of the readout.

    It takes a step in every cycle but where it has to wait, at first for `start` and later for a
    group of nodes. So it ends as if it had waited but once, where that makes it latest: all steps
    from the group it waits for on, without a gap.
    """
    begin, left = 0, readout.steps
    end = start + left
    for plan in layers:
        slots = readout.slots(plan)
        first = begin + plan.drain + plan.chunks
        # The groups of a layer are evenly apart, so only its first or its last can be the latest.
        last = first + (plan.groups - 1) * (plan.chunks - slots)
        end = max(end, max(first, last) + left)
        left -= plan.groups * slots
        begin += plan.cycles
    return end
