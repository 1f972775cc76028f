"""Cells that a design needs, and whether a device has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Protocol

from scm_hw.errors import FitError
from scm_hw.target.devices import Device

# Left for placement and routing, which do poorly in a full device.
USABLE_SHARE = 0.8
# Estimates of LUTs have been found off by 12 to 85 %; most are within a third.
LUT_ERROR = 0.35

# Beside the cells of a netlist, by Yosys' names: what `scm_hw.tools.lut_sites` finds in it.
ROUTE_THROUGHS, LUT_PAIRS = "$route_throughs", "$lut_pairs"

_LUT_SITES_OF_RAM = {
    "RAM16X1D": 2,
    "RAM32X1D": 2,
    "RAM32X1S": 1,
    "RAM64X1D": 2,
    "RAM64X1S": 1,
    "RAM128X1D": 4,
    "RAM128X1S": 2,
    "RAM256X1D": 8,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "TRELLIS_DPR16X4": 6,
    **{f"RAM16S{kind}{bits}": bits for kind in ("", "DP") for bits in (1, 2, 4)},
    "MISTRAL_MLAB": 1,
}
_FLIP_FLOP = re.compile(r"FD[RSCP]E(_1)?|LD[CP]E|TRELLIS_FF|SB_DFF\w*|DFF[A-Z]*|MISTRAL_FF")
# Yosys has a cell of its own for an inverter of the 7 series, where the device has a LUT.
# ALU is a bit of Gowin's carry chains, MISTRAL_... half an ALM of Cyclone V.
_LUT = re.compile(r"LUT[1-6]|SB_LUT4|INV|ALU|MISTRAL_(ALUT[2-5]|ALUT_ARITH|NOT)")
# Blocks of 18 Kbit count half a block of 36, or one where that is what the device counts.
_BLOCKS = {"RAMB36E1": 1.0, "RAMB18E1": 0.5, "DP16KD": 1.0, "PDPW16KD": 1.0}
_BLOCKS |= dict.fromkeys(("SP", "SPX9", "SDPB", "SDPX9B", "DPB", "DPX9B", "pROM", "pROMX9"), 1.0)
_BLOCKS["MISTRAL_M10K"] = 1.0
_BLOCK_4K = re.compile(r"SB_RAM40_4K\w*")
_MULTIPLIER = re.compile(r"DSP48E1|MULT18X18D|SB_MAC16|MISTRAL_MUL\d+X\d+")
_SHIFT_REGISTER = re.compile(r"SRL(16|C32)E")


@dataclass(frozen=True)
class Resources:
    """Cells of a netlist, or an estimate of them.

    `lut` counts LUTs used as logic, inverters included; `route_throughs` those that a packer adds
    as wires into carry chains, `lut_pairs` how many share a site with another (see
    `scm_hw.tools.lut_sites`). `lutram` and `srl` count the LUT sites that memories and shift
    registers take besides. `bram` counts in the device's own blocks, half of a large one as 0.5.
    """

    lut: int
    ff: int
    carry4: int = 0
    dsp: int = 0
    bram: float = 0.0
    lutram: int = 0
    srl: int = 0
    route_throughs: int = 0
    lut_pairs: int = 0
    by_cell: Mapping[str, int] = field(default_factory=dict)

    @property
    def lut_sites(self) -> int:
        """All LUTs that the design occupies."""
        return self.lut + self.route_throughs - self.lut_pairs + self.lutram + self.srl

    def __add__(self, other: Resources) -> Resources:
        cells = Counter(self.by_cell) + Counter(other.by_cell)
        counts = {
            f.name: getattr(self, f.name) + getattr(other, f.name)
            for f in fields(self)
            if f.name != "by_cell"
        }
        return Resources(**counts, by_cell=dict(sorted(cells.items())))

    @classmethod
    def from_cells(cls, cells: Mapping[str, int]) -> Resources:
        """From a count of cells by type; a name that begins with $ says something of them."""

        def count(pattern: re.Pattern[str]) -> int:
            return sum(number for cell, number in cells.items() if pattern.fullmatch(cell))

        return cls(
            # Two LUTs of ECP5 are in each of its carry cells, two halves of an ALM in a large LUT.
            lut=count(_LUT) + 2 * (cells.get("CCU2C", 0) + cells.get("MISTRAL_ALUT6", 0)),
            ff=count(_FLIP_FLOP),
            carry4=cells.get("CARRY4", 0),
            dsp=count(_MULTIPLIER),
            bram=sum(_BLOCKS.get(cell, 0.0) * number for cell, number in cells.items())
            + count(_BLOCK_4K),
            lutram=sum(_LUT_SITES_OF_RAM.get(cell, 0) * number for cell, number in cells.items()),
            srl=count(_SHIFT_REGISTER),
            route_throughs=cells.get(ROUTE_THROUGHS, 0),
            lut_pairs=cells.get(LUT_PAIRS, 0),
            by_cell={cell: n for cell, n in sorted(cells.items()) if not cell.startswith("$")},
        )


class Needs(Protocol):
    """Cells that a design takes, counted or estimated."""

    @property
    def lut_sites(self) -> int: ...
    @property
    def ff(self) -> int: ...
    @property
    def dsp(self) -> int: ...
    @property
    def bram(self) -> float: ...


def _over(needs: Needs, device: Device, limit: float) -> list[tuple[str, float, int]]:
    """Name, need and what the device has, of each kind that needs more than the share `limit`."""
    kinds: list[tuple[str, float, int]] = [
        ("LUT", needs.lut_sites, device.lut),
        ("FF", needs.ff, device.ff),
        ("DSP", needs.dsp, device.dsp),
        (device.block, needs.bram, device.bram),
    ]
    return [(name, need, have) for name, need, have in kinds if need > limit * have]


def within(needs: Needs, device: Device, limit: float = USABLE_SHARE) -> bool:
    """Whether a core leaves the device room to route."""
    return not _over(needs, device, limit)


def near_limit(needs: Needs, device: Device) -> bool:
    """Whether an estimate is too close to the limit to say if the core leaves room to route."""
    lowest, highest = USABLE_SHARE / (1 + LUT_ERROR), USABLE_SHARE * (1 + LUT_ERROR)
    return within(needs, device, highest) and not within(needs, device, lowest)


def fits(needs: Needs, device: Device, limit: float = 1.0) -> None:
    """Raise FitError where the design needs more than the share `limit` of any resource."""
    over = [
        f"{need:,g} {name} of {have:,} ({need / have:.0%})" if have else f"{need:,g} {name} of 0"
        for name, need, have in _over(needs, device, limit)
    ]
    if over:
        share = "" if limit == 1 else f" within {limit:.0%}"
        raise FitError(
            f"design must fit {device.name}{share}, not need {', '.join(over)}; take a larger "
            "device, or a model with fewer nodes or bits"
        )
