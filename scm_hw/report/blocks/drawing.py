"""The block diagram as SVG: blocks below each other, wires between and beside them.

Blocks are as wide as the page gives room; wires beside them are drawn in pixels from either edge,
so that the drawing is readable on a phone as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scm_hw.report import plots
from scm_hw.report._html_elements import Html, count, el
from scm_hw.report.blocks.diagram import Block, Diagram, Span
from scm_hw.report.blocks.routes import Rail, routes

# Pixels: a gap has room for a line of text beside an arrow.
HEIGHT, PORT_HEIGHT, GAP = 100, 34, 38
LANE, NEAREST = 12, 16
TIP = 6
FEW_CYCLES = 24
# Below the top of a block, where rails enter and leave it.
ENTRY, EXIT = 26, 62

Link = Callable[[Block], str | None]


def block_drawing(found: Diagram, slug: str, title: str, link: Link = lambda block: None) -> Html:
    """The drawing; `link` gives the address that a block leads to, if any."""
    drawn = found.drawn
    tops, top = [], 0
    for block in drawn:
        tops.append(top)
        top += _height(block) + GAP
    ports = next((i for i, b in enumerate(drawn) if b.kind in ("layer", "output")), 1)
    paths = routes(found.wires, givers=max(ports, 1))
    sides = [_side(rails) for rails in (paths.left, paths.right)]
    parts = [_box(block, tops[i], found, link) for i, block in enumerate(drawn)]
    for wire in paths.middle:
        start = tops[wire.source] + _height(drawn[wire.source])
        parts += _arrow_down(start, tops[wire.target], wire.bits)
    parts += [part for rail in paths.left for part in _rail(rail, drawn, tops, left=True)]
    right = [part for rail in paths.right for part in _rail(rail, drawn, tops, left=False)]
    parts.append(el("g", *right, class_="at-end"))
    return plots.drawing(
        slug,
        title,
        "; ".join(_in_words(block) for block in drawn),
        top - GAP + 2,
        parts,
        "blocks",
        f"padding:0 {sides[1]}px 0 {sides[0]}px",
    )


def _height(block: Block) -> int:
    return PORT_HEIGHT if block.kind == "port" else HEIGHT


def _side(rails: list[Rail]) -> int:
    """Pixels for the rails of one side."""
    return NEAREST + LANE * max((rail.lane for rail in rails), default=0) + 2 if rails else 2


def in_cycles(block: Block) -> str:
    """`cycle 1`, `cycles 1 to 3`: the first and the last one with logic of it."""
    if not block.spans:
        return "wires only"
    first, last = block.spans[0][0] + 1, max(map(sum, block.spans))
    return f"cycle {first:,}" if first == last else f"cycles {first:,} to {last:,}"


def _cells(block: Block) -> str:
    cost = block.cost
    counted = [count(cost.ff, "register") if cost.ff else "no registers"]
    counted += [f"{cost.dsp:,} DSP"] if cost.dsp else []
    counted += [f"{cost.bram:g} BRAM"] if cost.bram else []
    return ", ".join(counted)


def _in_words(block: Block) -> str:
    if block.kind == "port":
        return f"{block.title}: {block.what}"
    cells = f"{block.cost.lut:,} LUT, {_cells(block)}"
    return f"{block.title}: {block.what}, {cells}, {in_cycles(block)}"


def _box(block: Block, top: int, found: Diagram, link: Link) -> Html:
    title = el("tspan", block.title, class_="strong")
    about = f" · {block.what}" if block.what else ""
    height = _height(block)
    rect = el("rect", class_=f"box {block.kind}", y=top + 1, width="100%", height=height, rx=6)
    if block.kind == "port":
        return el("g", rect, el("text", title, about, x="3%", y=top + 23))
    address = link(block)
    shown = el("text", title, about, x="3%", y=top + 22)
    longest = f", {block.ns:.2f} ns" if block.ns else ""
    parts = [
        rect,
        shown if address is None else el("a", shown, href=address),
        el("text", _cells(block) + longest, x="3%", y=top + 42),
        el("text", f"{block.cost.lut:,} LUT", x="3%", y=top + 70),
        *plots.meter(3, top + 79, 42, block.cost.lut / max(found.lut, 1)),
        el("text", in_cycles(block), x="50%", y=top + 70),
        *_timeline(block, top + 79, found.latency),
    ]
    return el("g", *parts)


def _timeline(block: Block, top: int, latency: int) -> Iterator[Html]:
    """The cycles of a sample from left to right, those with logic of this block filled."""
    yield el("rect", class_="groove", x="50%", y=top, width="47%", height=8, rx=2)
    each = 47 / max(latency, 1)
    for start, cycles in _pieces(block.spans, latency):
        gap = 0.4 if latency <= FEW_CYCLES else 0.0
        yield el(
            "rect",
            class_="fill-pc",
            x=f"{50 + each * start:.2f}%",
            y=top,
            width=f"{max(each * cycles - gap, 0.3):.2f}%",
            height=8,
        )


def _pieces(spans: tuple[Span, ...], latency: int) -> Iterator[Span]:
    """Few cycles are drawn one by one, with a gap for the registers between them."""
    for start, cycles in spans:
        if latency <= FEW_CYCLES:
            yield from ((cycle, 1) for cycle in range(start, start + cycles))
        else:
            yield start, cycles


def _arrow_down(start: int, end: int, bits: int) -> list[Html]:
    tip = el("g", _tip(0, end, 0, 1), class_="at-middle")
    return [
        el("line", class_="wire", x1="50%", x2="50%", y1=start + 1, y2=end - TIP),
        tip,
        el("text", count(bits, "bit"), x="50%", dx=8, y=(start + end) // 2 + 4),
    ]


def _tip(x: int, y: int, right: int, down: int) -> Html:
    """An arrow's tip at a point, in the direction of one of the axes."""
    if down:
        points = f"M{x - 4} {y - TIP}L{x} {y}L{x + 4} {y - TIP}Z"
    else:
        points = f"M{x - right * TIP} {y - 4}L{x} {y}L{x - right * TIP} {y + 4}Z"
    return el("path", d=points, class_="tip")


def _rail(rail: Rail, drawn: tuple[Block, ...], tops: list[int], *, left: bool) -> Iterator[Html]:
    """The line, its branches, a tip where it enters a block, and its bits beside its hub."""
    way = -1 if left else 1
    x = way * (NEAREST + LANE * rail.lane)
    leaves = [(rail.hub, left), *((end, not left) for end in rail.ends)]
    at = {place: tops[place] + _port_at(drawn[place], out) for place, out in leaves}
    branches = "".join(f"M0 {y}H{x}" for y in at.values())
    # One path: where branches meet the line there would be gaps between single lines.
    yield el("path", class_="wire", d=f"M{x} {min(at.values())}V{max(at.values())}{branches}")
    for place, leaving in leaves:
        if not leaving:
            yield _tip(0, at[place], -way, 0)
    above = -GAP // 2 + 4 if not left else _height(drawn[rail.hub]) + GAP // 2 + 4
    anchor = None if left else "end"
    yield el("text", count(rail.bits, "bit"), x=0, y=tops[rail.hub] + above, text_anchor=anchor)


def _port_at(block: Block, leaving: bool) -> int:
    if block.kind == "port":
        return PORT_HEIGHT // 2
    return EXIT if leaving else ENTRY
