"""The blocks of a processor: its program, what makes bits, and what adds rows."""

from __future__ import annotations

from scm_hw.report._html_elements import count
from scm_hw.report.blocks.parts import Block, Wire, width_of
from scm_hw.rtl.reload import ProcessorPlan


def processed(plan: ProcessorPlan) -> tuple[list[Block], list[Wire]]:
    """Blocks from the inputs on, and wires between them, those to the outputs last."""
    capacity, image, parts = plan.capacity, plan.image, plan.costs
    steps, bits, outputs = (max(plan.stage_ns[i : i + 2]) for i in (3, 0, 1))
    span = ((1, len(image.steps) + 1),)
    sections = capacity.upload.sections
    blocks = [
        Block("in_data", "port"),
        Block(
            "program",
            "encoder",
            f"{len(image.steps):,} of {count(sections[0][0], 'step')}, two banks",
            parts["program"],
            span,
            steps,
            ("steps",),
        ),
        Block(
            "bits",
            "layer",
            f"sums, thresholds, and {count(capacity.room.bits, 'stored bit')}",
            parts["bits"],
            span,
            bits,
            ("stored",),
        ),
        Block(
            "rows",
            "output",
            f"{len(image.rows):,} of {count(sections[1][0], 'row')}, two banks",
            parts["rows"],
            span,
            outputs,
            ("rows",),
        ),
    ]
    wires = [
        Wire(0, 2, width_of(capacity.input_ranges())),
        Wire(1, 2, capacity.step_bits),
        Wire(2, 3, 1),
        Wire(3, len(blocks), width_of(capacity.output_ranges())),
    ]
    return blocks, wires
