"""A core as blocks and wires: any shape, with its history, its ports and a loadable readout."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scm_hw.design import Design
from scm_hw.ir import ranges
from scm_hw.report._html_elements import count
from scm_hw.report.blocks.folded import folded
from scm_hw.report.blocks.parts import Block, Span, Wire, less, total_cost, width_of
from scm_hw.report.blocks.processor import processed
from scm_hw.report.blocks.unrolled import unrolled
from scm_hw.schedule import Cost, Schedule, estimate

__all__ = ["Block", "Diagram", "Span", "Wire", "diagram"]


@dataclass(frozen=True)
class Diagram:
    """Blocks in the order of the data; the cells of all add up to the estimate of the core."""

    blocks: tuple[Block, ...]
    wires: tuple[Wire, ...]
    latency: int

    @property
    def drawn(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.kind != "rest")

    @property
    def lut(self) -> int:
        return sum(block.cost.lut for block in self.blocks)


def diagram(design: Design) -> Diagram:
    """The blocks of a core, with the cells of the compiler's estimate."""
    if design.fold is not None:
        blocks, wires = folded(design.fold)
    elif design.processor is not None:
        blocks, wires = processed(design.processor)
    else:
        # A history has a register rank of its own in front of the pipeline.
        blocks, wires = unrolled(design, first=int(design.records is not None))
    if design.loadable is not None or design.adaptive is not None:
        readout = len(blocks)
        blocks = [*blocks, _changing_readout(design)]
        wires = [*wires, Wire(readout, readout + 1, 0)]
        if design.adaptive is not None:
            # Targets and what controls the learning go past the hidden layers.
            beside = sum(design.ports.in_widths) - _bits_in_front(design)
            wires.append(Wire(0, readout, beside))
    if design.records is not None:
        blocks, wires = _with_history(design, blocks, wires)
    return _with_ports(design, blocks, wires)


def _bits_in_front(design: Design) -> int:
    """Bits that the pipeline in front of a readout of its own reads."""
    known = ranges(design.program)
    return width_of(known[ref] for ref in design.program.inputs)


def _changing_readout(design: Design) -> Block:
    """Behind the pipeline: a readout that is loaded, or learns, and what does that to it."""
    assert isinstance(design.schedule, Schedule)
    own = estimate(design.program, design.schedule)
    start = design.schedule.latency
    if design.loadable is not None:
        title = "readout"
        what = f"{count(len(design.loadable.plan.tables), 'table')} of two banks, loadable"
    else:
        # The readout of training is a part of the program, and stays as it is.
        title, what = "learning readout", "follows targets"
    spans = ((start, design.latency - start),)
    return Block(title, "output", what, less(design.estimate, own), spans)


def _with_history(
    design: Design, blocks: list[Block], wires: list[Wire]
) -> tuple[list[Block], list[Wire]]:
    """The history in the place of the inputs, which it gives, and the samples before it."""
    records = design.records
    assert records is not None
    history = replace(
        blocks[0],
        title="history",
        kind="encoder",
        what=f"{count(len(records.taps), 'tap')}, {count(records.depth, 'sample')} back",
        cost=blocks[0].cost + Cost(ff=records.flip_flops),
        spans=((0, 1),),
    )
    moved = [Wire(w.source + 1, w.target + 1, w.bits) for w in wires]
    taken = Wire(0, 1, sum(design.ports.in_widths))
    return [Block("in_data", "port"), history, *blocks[1:]], [taken, *moved]


def _with_ports(design: Design, blocks: list[Block], wires: list[Wire]) -> Diagram:
    ports = design.ports
    taken, given = sum(ports.in_widths), sum(ports.out_widths)
    blocks[0] = replace(blocks[0], what=f"{count(len(ports.in_widths), 'field')}, {taken:,} bits")
    end = len(blocks)
    wires = [Wire(w.source, end, given) if w.target == end else w for w in wires]
    out = Block("out_data", "port", f"{count(len(ports.out_widths), 'field')}, {given:,} bits")
    rest = less(design.estimate, total_cost(block.cost for block in blocks))
    control = Block("control", what="valid, ready, enables", cost=rest)
    return Diagram((*blocks, out, control), tuple(wires), design.latency)
