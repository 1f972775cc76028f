"""Where the wires of a diagram run: down the middle to the next block, or along its sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scm_hw.report.blocks.parts import Wire


@dataclass(frozen=True)
class Rail:
    """A vertical line beside the blocks: what one block gives to many, or many give to one.

    `hub` is that one block, `ends` are the others. `lane` counts outwards from the blocks.
    """

    hub: int
    ends: tuple[int, ...]
    lane: int
    bits: int

    @property
    def reach(self) -> tuple[int, int]:
        """The first and the last block that it passes."""
        places = (self.hub, *self.ends)
        return min(places), max(places)


class Routes(NamedTuple):
    """`middle` wires go to the next block; `left` rails give, `right` rails collect."""

    middle: list[Wire]
    left: list[Rail]
    right: list[Rail]


def routes(wires: Sequence[Wire], givers: int) -> Routes:
    """The first blocks, `givers` of them, give along the left side what goes past the next block.

    What other blocks give to far ones is collected on the right side, one rail for each reader:
    every layer is read by the readout, and would need a rail of its own otherwise.
    """
    middle = [wire for wire in wires if wire.target == wire.source + 1]
    far = [wire for wire in wires if wire.target != wire.source + 1]
    given, taken = defaultdict(list), defaultdict(list)
    for wire in far:
        if wire.source < givers:
            given[wire.source].append((wire.target, wire.bits))
        else:
            taken[wire.target].append((wire.source, wire.bits))
    # What is given is one bundle, which its readers take parts of; what is taken adds up.
    left = _in_lanes({hub: (ends, max(bits for _, bits in ends)) for hub, ends in given.items()})
    right = _in_lanes({hub: (ends, sum(bits for _, bits in ends)) for hub, ends in taken.items()})
    return Routes(middle, left, right)


def _in_lanes(hubs: dict[int, tuple[list[tuple[int, int]], int]]) -> list[Rail]:
    """Short rails near the blocks, and none on another."""
    rails = [
        Rail(hub, tuple(place for place, _ in ends), 0, bits) for hub, (ends, bits) in hubs.items()
    ]
    rails.sort(key=lambda rail: (rail.reach[1] - rail.reach[0], rail.hub))
    found: list[Rail] = []
    for rail in rails:
        taken = {other.lane for other in found if _meet(rail.reach, other.reach)}
        lane = next(n for n in range(len(rails)) if n not in taken)
        found.append(Rail(rail.hub, rail.ends, lane, rail.bits))
    return found


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
