"""The core as blocks and wires, and their drawings."""

from scm_hw.report.blocks.diagram import Block, Diagram, Span, Wire, diagram
from scm_hw.report.blocks.drawing import block_drawing
from scm_hw.report.blocks.floor import floor_drawing

__all__ = ["Block", "Diagram", "Span", "Wire", "block_drawing", "diagram", "floor_drawing"]
