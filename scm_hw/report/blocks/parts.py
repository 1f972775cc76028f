"""What a diagram is made of: blocks, and the wires between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scm_hw.ir import Range
from scm_hw.schedule import Cost

Span = tuple[int, int]
"""The first cycle of a stretch of time, counted from 0, and how many cycles it has."""


NOTHING = Cost()


@dataclass(frozen=True)
class Block:
    """A part of the core, with its cells by estimate and the cycles in which its logic works.

    `kind` decides how it is drawn: "port", "layer", "readout", or "rest", which is not drawn.
    `modules` are its Verilog modules; without any it stands in the core's own. `cells` are the LUTs
    of its nodes or cycles, for a finer picture.
    """

    title: str
    kind: str = "rest"
    what: str = ""
    cost: Cost = NOTHING
    spans: tuple[Span, ...] = ()
    ns: float = 0.0
    modules: tuple[str, ...] = ()
    cells: tuple[int, ...] = ()


@dataclass(frozen=True)
class Wire:
    """Bits from one block to another, by their places in the list of blocks."""

    source: int
    target: int
    bits: int


def total_cost(costs: Iterable[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total += cost
    return total


def less(whole: Cost, part: Cost) -> Cost:
    """What is left of a whole without a part."""
    return whole + Cost(-part.lut, -part.ff, -part.dsp, -part.bram, -part.srl)


def width_of(values: Iterable[Range]) -> int:
    return sum(reach.width for reach in values)
