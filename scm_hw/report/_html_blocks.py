"""The core on the page: its block diagram, and the floor of its LUTs."""

from __future__ import annotations

from scm_hw.design import Design
from scm_hw.report._html_elements import (
    NOTHING,
    Child,
    Html,
    Section,
    el,
    legend,
    numbers,
    plot,
    section,
    table,
)
from scm_hw.report.blocks import Block, Diagram, block_drawing, diagram, floor_drawing
from scm_hw.report.blocks.drawing import in_cycles
from scm_hw.report.blocks.floor import floor_blocks
from scm_hw.rtl.records import MACHINE


def blocks_section(design: Design) -> Section:
    """What the core is made of, and what each part takes."""
    found = diagram(design)
    words = (
        "Data go from the top to the bottom. The blue bar is a block's share of the LUTs, the "
        "other one the cycles of a sample in which it works. A title leads to the block's first "
        "Verilog module. Figures are the compiler's estimate."
    )
    drawing = block_drawing(
        found,
        "blocks-plot",
        "Blocks of the core",
        lambda block: _address(design, block.modules[0] if block.modules else ""),
    )
    rows = [_row(design, block) for block in found.blocks]
    columns = ("Block", "What", "Cycles", "LUT", "Registers", "DSP", "BRAM", "ns", "Verilog")
    shown = table("Blocks of the core", columns, rows, text_columns=(1, 2, 8))
    figure = plot(drawing, "From the inputs to the output", numbers("Numbers", shown))
    return section("blocks", "Blocks", el("p", words), figure, *_floor(found))


def _floor(found: Diagram) -> tuple[Html, ...]:
    if not found.lut:
        return ()
    entries = [(f"tile {block.kind}", _share(block, found)) for block in floor_blocks(found)]
    words = (
        "Areas are in proportion to LUTs; lines inside them divide a layer into its nodes, other "
        "blocks into their cycles. The numbers are those of the figure above."
    )
    drawing = floor_drawing(found, "floor-plot", "LUTs by block")
    return (plot(drawing, "LUTs by block", legend(entries), el("p", words, class_="note")),)


def _share(block: Block, found: Diagram) -> str:
    return f"{block.title}: {block.cost.lut:,} LUT, {block.cost.lut / found.lut:.0%}"


def _row(design: Design, block: Block) -> tuple[Child, ...]:
    cost = block.cost
    return (
        block.title,
        block.what,
        in_cycles(block) if block.spans else NOTHING,
        f"{cost.lut:,}",
        f"{cost.ff:,}",
        f"{cost.dsp:,}",
        f"{cost.bram:g}",
        f"{block.ns:.3f}" if block.ns else NOTHING,
        _verilog(design, block),
    )


def _verilog(design: Design, block: Block) -> Html:
    modules = block.modules
    name = _module(design, modules[0] if modules else "")
    more = f" and {len(modules) - 1:,} more" if len(modules) > 1 else ""
    link = el("a", name, href=_address(design, modules[0] if modules else ""))
    return el("span", link, more)


def _module(design: Design, part: str) -> str:
    """A module as the Verilog calls it: a core behind a history has a name of its own."""
    names = [design.names.core, *([MACHINE] if design.records is not None and part else []), part]
    return "_".join(filter(None, names))


def _address(design: Design, part: str) -> str:
    """The core's file, where browsers look for the module's first line."""
    return f"{design.names.core}.v#:~:text=module%20{_module(design, part)}"
