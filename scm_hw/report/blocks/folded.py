"""The blocks of a folded core: what is beside the lanes, and each set of lanes once."""

from __future__ import annotations

from collections.abc import Iterator

from scm_hw.fold import FoldPlan
from scm_hw.fold.costs import cost_by_part
from scm_hw.fold.engines import Engine
from scm_hw.ir import ranges
from scm_hw.report._html_elements import count
from scm_hw.report.blocks.parts import Block, Span, Wire, width_of


def folded(plan: FoldPlan) -> tuple[list[Block], list[Wire]]:
    """Blocks from the inputs on, and wires between them, those to the outputs last."""
    blocks = [Block("in_data", "port"), *_blocks(plan)]
    return blocks, _wires(plan, [block.title for block in blocks])


def _blocks(plan: FoldPlan) -> Iterator[Block]:
    """The encoder works as the sample is taken; phases follow it, others begin beside them."""
    costs, spans = cost_by_part(plan), _spans(plan)
    ns = {phase.name: phase.ns for phase in (*plan.phases, *plan.beside)}
    coded = len(plan.machine.encoder.outputs)
    yield Block("encoder", "encoder", count(coded, "code"), costs["encoder"], ((0, 1),))
    for engine in plan.engines:
        names = [f"layer {layer.number + 1}" for layer in engine.layers]
        yield Block(
            _title(engine),
            "layer",
            f"{engine.fold.pe} nodes x {engine.fold.simd} inputs at a time",
            costs[f"lanes {engine.number + 1}"],
            tuple(spans[name] for name in names),
            max(ns[name] for name in names),
        )
    for phase in plan.beside:
        modules = ("mechanism",) if phase.name == "mechanism" else ()
        cost, span = costs[phase.name], spans[phase.name]
        yield Block(phase.name, phase.name, "beside the layers", cost, (span,), phase.ns, modules)
    ends = [spans[phase] for phase in ("readout", "argmax") if phase in spans]
    lanes = count(plan.readout_lanes, "node") + " at a time"
    longest = max(ns[phase] for phase in ("readout", "argmax") if phase in ns)
    yield Block("readout", "output", lanes, costs["readout"], tuple(ends), longest)


def _title(engine: Engine) -> str:
    numbers = [layer.number + 1 for layer in engine.layers]
    if len(numbers) == 1:
        return f"layer {numbers[0]}"
    return "layers " + ", ".join(map(str, numbers))


def _spans(plan: FoldPlan) -> dict[str, Span]:
    found, start = {}, 1
    for phase in plan.phases:
        found[phase.name] = (start, phase.cycles)
        start += phase.cycles
    return found | {phase.name: (1, phase.cycles) for phase in plan.beside}


def _wires(plan: FoldPlan, titles: list[str]) -> list[Wire]:
    machine = plan.machine
    encoder, readout = titles.index("encoder"), titles.index("readout")
    wires = [Wire(0, encoder, width_of(machine.inputs))]
    lanes = {layer.number: titles.index(_title(e)) for e in plan.engines for layer in e.layers}
    known = ranges(machine.encoder)
    before, bits = encoder, sum(known[ref].width for ref in machine.encoder.outputs)
    for layer in plan.layers:
        # Lanes that layers share read back what they gave.
        if before != lanes[layer.number]:
            wires.append(Wire(before, lanes[layer.number], bits))
        before, bits = lanes[layer.number], layer.layer.nodes
    for place in dict.fromkeys(lanes.values()):
        nodes = sum(one.layer.nodes for one in plan.layers if lanes[one.number] == place)
        wires.append(Wire(place, readout, nodes))
    for phase in plan.beside:
        place = titles.index(phase.name)
        wires.append(Wire(0, place, width_of(machine.inputs)))
        wires.append(Wire(place, readout, width_of(machine.scores)))
    return [*wires, Wire(readout, len(titles), width_of(machine.outputs))]
