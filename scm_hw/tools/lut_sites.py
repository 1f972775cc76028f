"""LUT sites that a packer needs for a netlist, beyond or below the number of its LUT cells.

In a 7 series slice the select input of a carry cell comes from the LUT beside it and nothing else:
where a register, a port, a multiplier or another carry drives it, that LUT is spent as a wire (a
route-through). The other way round, a LUT6 is two LUT5s with common inputs, so that a packer puts
two small functions in one site. A LUT that drives a carry is paired only with the one that drives
the data input of the same place; any other pair must have two inputs in common, since packers
leave unrelated logic apart while there is room.

A logic cell of iCE40 has a LUT and a carry with common inputs: a carry whose inputs no LUT beside
it shares takes a cell of its own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scm_hw.target.resources import LUT_PAIRS, ROUTE_THROUGHS

Net = int | str
Cells = Mapping[str, Mapping[str, Any]]

_LUT = re.compile(r"LUT([1-6])|INV")
_CONSTANTS = ("0", "1", "x", "z")
# Inputs of a LUT5, two of which share a LUT6.
_SHARED_INPUTS = 5
# Inputs that two LUTs must have in common to be put together.
_COMMON_INPUTS = 2
_CARRY_PLACES = 4


def extra_sites(netlist: Mapping[str, Any], top: str) -> dict[str, int]:
    """Route-throughs and pairs of the top of a flat netlist, in the JSON of Yosys."""
    cells: Cells = netlist["modules"][top]["cells"]
    kinds = {cell["type"] for cell in cells.values()}
    if "SB_CARRY" in kinds:
        return {ROUTE_THROUGHS: _lone_carries(cells)}
    # The LUTs of ECP5 have other ports, and its carry cells have LUTs of their own.
    luts = {
        name: _lut(cell)
        for name, cell in cells.items()
        if _LUT.fullmatch(cell["type"]) and "O" in cell["connections"]
    }
    return _Slices(cells, luts).counts()


@dataclass(frozen=True)
class _Lut:
    inputs: frozenset[Net]
    output: Net


def _lut(cell: Mapping[str, Any]) -> _Lut:
    nets = cell["connections"]
    output = nets["O"][0]
    inputs = (bits[0] for port, bits in nets.items() if port != "O")
    return _Lut(frozenset(net for net in inputs if net not in _CONSTANTS), output)


class _Slices:
    """LUTs and carries of the 7 series."""

    def __init__(self, cells: Cells, luts: Mapping[str, _Lut]) -> None:
        self.luts = luts
        self.by_output = {lut.output: name for name, lut in luts.items()}
        self.carries = [c["connections"] for c in cells.values() if c["type"] == "CARRY4"]
        # LUTs that have their place: they feed carries or the multiplexers of wide LUTs.
        self.placed = {
            self.by_output[net]
            for cell in cells.values()
            if cell["type"] in ("MUXF7", "MUXF8")
            for net in (*cell["connections"]["I0"], *cell["connections"]["I1"])
            if net in self.by_output
        }

    def counts(self) -> dict[str, int]:
        throughs = carried = 0
        for select, data in self._places():
            if select in _CONSTANTS:
                continue
            name = self.by_output.get(select)
            if name is None or name in self.placed:
                # Also a LUT that selects in two places: it stands beside one of them.
                throughs += 1
                continue
            self.placed.add(name)
            beside = self.by_output.get(data)
            if beside is not None and beside not in self.placed and self._fit(name, beside):
                self.placed.add(beside)
                carried += 1
        return {ROUTE_THROUGHS: throughs, LUT_PAIRS: carried + self._pairs()}

    def _places(self) -> Iterator[tuple[Net, Net]]:
        """Select and data input of every place of a carry, those with a LUT for both first."""
        places = [
            (nets["S"][i], nets["DI"][i]) for nets in self.carries for i in range(_CARRY_PLACES)
        ]
        yield from sorted(places, key=lambda place: place[1] not in self.by_output)

    def _fit(self, a: str, b: str) -> bool:
        return len(self.luts[a].inputs | self.luts[b].inputs) <= _SHARED_INPUTS

    def _pairs(self) -> int:
        """Pairs among the other LUTs, those with most inputs in common first."""
        free = {
            name: lut
            for name, lut in self.luts.items()
            if name not in self.placed and _COMMON_INPUTS <= len(lut.inputs) <= _SHARED_INPUTS
        }
        readers: defaultdict[Net, list[str]] = defaultdict(list)
        for name, lut in free.items():
            for net in lut.inputs:
                readers[net].append(name)
        paired: set[str] = set()
        for name in sorted(free, key=lambda name: -len(free[name].inputs)):
            if name in paired:
                continue
            common = Counter(
                other for net in free[name].inputs for other in readers[net] if other not in paired
            )
            del common[name]
            best = max(
                (o for o, n in common.items() if n >= _COMMON_INPUTS and self._fit(name, o)),
                key=lambda other: (common[other], other),
                default=None,
            )
            if best is not None:
                paired |= {name, best}
        return len(paired) // 2


def _lone_carries(cells: Cells) -> int:
    """Carries of iCE40 beside which no LUT adds the same inputs."""
    beside = Counter(
        (nets["I1"][0], nets["I2"][0], nets["I3"][0])
        for cell in cells.values()
        if cell["type"] == "SB_LUT4" and (nets := cell["connections"])
    )
    lone = 0
    for cell in cells.values():
        if cell["type"] == "SB_CARRY":
            nets = cell["connections"]
            key = (nets["I0"][0], nets["I1"][0], nets["CI"][0])
            lone += not beside[key]
            beside[key] -= bool(beside[key])
    return lone
