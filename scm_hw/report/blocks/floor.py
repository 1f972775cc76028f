"""A floor of LUTs: every block an area, cut into its nodes or cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scm_hw.report import plots
from scm_hw.report._html_elements import Html, el
from scm_hw.report.blocks.diagram import Block, Diagram

HEIGHT = 300
# The width at which the areas are nearest to squares, and the most cells of a page.
NOMINAL = 720.0
MAX_CELLS = 1500
# A drawing on a phone is this share of the nominal width; letters are as wide everywhere.
NARROWEST = 0.42
LETTER = 8


class Area(NamedTuple):
    """A rectangle in the nominal size."""

    x: float
    y: float
    width: float
    height: float


def floor_drawing(found: Diagram, slug: str, title: str) -> Html:
    """Areas in proportion to LUTs; a block's name where it has room."""
    blocks = floor_blocks(found)
    areas = squarified([block.cost.lut for block in blocks], Area(0, 0, NOMINAL, HEIGHT))
    cells = sum(len(block.cells) for block in blocks)
    parts = [
        part
        for block, area in zip(blocks, areas, strict=True)
        for part in _block(block, area, fine=cells <= MAX_CELLS)
    ]
    words = "; ".join(f"{block.title}: {block.cost.lut:,} LUT" for block in blocks)
    return plots.drawing(slug, title, words, HEIGHT, parts, "floor")


def floor_blocks(found: Diagram) -> list[Block]:
    """Blocks that have LUTs, the largest first."""
    blocks = [block for block in found.blocks if block.cost.lut > 0]
    return sorted(blocks, key=lambda block: -block.cost.lut)


def _block(block: Block, area: Area, *, fine: bool) -> Iterator[Html]:
    cells = sorted((lut for lut in block.cells if lut > 0), reverse=True) if fine else []
    for cell in squarified(cells, area) if len(cells) > 1 else [area]:
        yield el("rect", class_=f"tile {block.kind}", **_place(cell))
    yield el("rect", class_="part", **_place(area))
    lines = (block.title, f"{block.cost.lut:,} LUT")
    plate = LETTER * max(map(len, lines)) + 16
    if area.width * NARROWEST >= plate + 8 and area.height >= 46:
        x, y = f"{100 * area.x / NOMINAL:.2f}%", round(area.y)
        place: dict[str, str | int] = {"x": x, "y": y + 5, "width": plate, "height": 36, "rx": 3}
        yield el("rect", class_="plate", transform="translate(5)", **place)
        yield el("text", lines[0], class_="strong", x=x, dx=10, y=y + 20)
        yield el("text", lines[1], x=x, dx=10, y=y + 35)


def _place(area: Area) -> dict[str, str]:
    return {
        "x": f"{100 * area.x / NOMINAL:.2f}%",
        "y": f"{area.y:.1f}",
        "width": f"{100 * area.width / NOMINAL:.2f}%",
        "height": f"{area.height:.1f}",
    }


def squarified(sizes: Sequence[float], whole: Area) -> list[Area]:
    """The whole divided in proportion to sizes in falling order, into rectangles near squares.

    Rows are laid along the shorter side, and each takes as many sizes as make its worst rectangle
    better (Bruls, Huizing and van Wijk, 2000).
    """
    # Sizes become areas, so that sides can be compared with them.
    total = float(sum(sizes))
    scaled = [size * whole.width * whole.height / total for size in sizes]
    found: list[Area] = []
    left, start = whole, 0
    while start < len(scaled):
        side = min(left.width, left.height)
        end = start + 1
        while end < len(scaled) and _worst(scaled[start : end + 1], side) <= _worst(
            scaled[start:end], side
        ):
            end += 1
        row = scaled[start:end]
        found += _row(row, left)
        left = _beyond(sum(row), left)
        start = end
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of sides in a row."""
    depth = sum(row) / side
    return max(max(depth * depth / size, size / (depth * depth)) for size in row)


def _row(row: Sequence[float], left: Area) -> Iterator[Area]:
    across = left.width < left.height
    depth = sum(row) / min(left.width, left.height)
    at = 0.0
    for size in row:
        length = size / depth
        if across:
            yield Area(left.x + at, left.y, length, depth)
        else:
            yield Area(left.x, left.y + at, depth, length)
        at += length


def _beyond(size: float, left: Area) -> Area:
    depth = size / min(left.width, left.height)
    if left.width < left.height:
        return Area(left.x, left.y + depth, left.width, left.height - depth)
    return Area(left.x + depth, left.y, left.width - depth, left.height)
