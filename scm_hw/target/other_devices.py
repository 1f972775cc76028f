"""What devices of other makers hold, by the names that amaranth-boards and data sheets have.

Those that Yosys has a script for have models of their own; of the rest only the size is known, in
LUTs of about four inputs and blocks of about 18 Kbit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from scm_hw.target.devices import Device


@dataclass(frozen=True)
class OtherPart:
    """A device in a package; `grade` is the name of its delay model."""

    name: str
    device: Device
    grade: str


Size = tuple[int, int, int]
"""LUTs, multipliers and memory blocks."""

# LUT4, MULT18X18D and blocks of 18 Kbit (FPGA-DS-02012).
ECP5: dict[str, Size] = {
    "12F": (12_000, 28, 32),
    "25F": (24_288, 28, 56),
    "45F": (43_848, 72, 108),
    "85F": (83_640, 156, 208),
}
# LUT4, SB_MAC16 and blocks of 4 Kbit (FPGA-DS-02029, FPGA-DS-02008).
ICE40: dict[str, Size] = {
    "iCE40LP1K": (1_280, 0, 16),
    "iCE40LP4K": (3_520, 0, 20),
    "iCE40LP8K": (7_680, 0, 32),
    "iCE40HX1K": (1_280, 0, 16),
    "iCE40HX4K": (3_520, 0, 20),
    "iCE40HX8K": (7_680, 0, 32),
    "iCE40UP3K": (2_800, 4, 20),
    "iCE40UP5K": (5_280, 8, 30),
}
# Half ALMs (a LUT of six inputs takes two), DSP blocks and M10K (CV-51001); dots stand for letters
# of pins and transceivers.
CYCLONE_V: dict[str, Size] = {
    "5CE.A2": (18_860, 25, 176),
    "5CE.A4": (36_960, 66, 308),
    "5CE.A5": (58_160, 150, 446),
    "5CE.A7": (112_960, 156, 686),
    "5CE.A9": (227_120, 342, 1_220),
    "5CGX.C3": (26_920, 57, 135),
    "5CGX.C4": (37_720, 70, 250),
    "5CG[XT].[CD]5": (58_160, 150, 446),
    "5CG[XT].[CD]7": (112_960, 156, 686),
    "5CG[XT].[CD]9": (227_120, 342, 1_220),
    "5CS[EX].[AC]2": (18_860, 36, 140),
    "5CS[EX].[AC]4": (31_760, 84, 270),
    "5CS[EXT].[ACD]5": (64_140, 87, 397),
    "5CS[EXT].[ACD]6": (83_820, 112, 553),
}
# Logic elements, multipliers of 18 bits and M9K (M10-OVERVIEW).
MAX10: dict[str, Size] = {
    "10M02": (2_304, 16, 12),
    "10M04": (4_032, 20, 21),
    "10M08": (8_064, 24, 42),
    "10M16": (15_840, 45, 61),
    "10M25": (24_960, 55, 75),
    "10M40": (39_600, 125, 140),
    "10M50": (49_760, 144, 182),
}
# LUT4, multipliers of 18 bits and blocks of 18 Kbit (DS100, DS117, DS821, DS861, DS226); three
# registers to four LUTs.
GOWIN: dict[str, Size] = {
    "GW1N-1": (1_152, 0, 4),
    "GW1NZ-1": (1_152, 0, 4),
    "GW1N-4": (4_608, 16, 10),
    "GW1NR-4": (4_608, 16, 10),
    "GW1NS-4": (4_608, 16, 10),
    "GW1NSR-4": (4_608, 16, 10),
    "GW1N-9": (8_640, 20, 26),
    "GW1NR-9": (8_640, 20, 26),
    "GW2A-18": (20_736, 48, 46),
    "GW2AR-18": (20_736, 48, 46),
}
# Logic cells, multipliers of 18 bits and blocks of 18 Kbit, two smaller ones counted as one.
_BY_SIZE: dict[str, Size] = {
    "xc6slx45": (27_288, 58, 116),
    "EP3C16": (15_408, 56, 28),
    "EP3C25": (24_624, 66, 33),
    "EP4CE6": (6_272, 15, 15),
    "10M50DA": (49_760, 144, 91),
    "5CSEBA6": (83_820, 112, 276),
    "LCMXO2-4000HC": (4_320, 0, 5),
    "LCMXO3L-6900C": (6_864, 0, 13),
    "LCMXO3LF-6900C": (6_864, 0, 13),
}


def other_part(platform: Any) -> OtherPart | None:
    """The part that a platform names; None for one we know nothing of."""
    # Gowin's platforms take the name of a part apart.
    name = getattr(platform, "device", None) or f"{platform.series}-{platform.size}"
    if name.startswith("LFE5U"):
        device = ecp5(name, name.rsplit("-", 1)[-1])
        grade = f"ecp5-{platform.speed}"
        return OtherPart(f"{name}-{platform.speed}{platform.package}", device, grade)
    if name in ICE40:
        return OtherPart(f"{name}-{platform.package}", ice40(name), f"ice40-{name[5:7].lower()}")
    if name in GOWIN and hasattr(platform, "part"):
        return OtherPart(platform.part, gowin(name), gowin_grade(platform.part))
    if name in _BY_SIZE:
        device = _device(name, _BY_SIZE[name], "lut4", "RAM18")
        return OtherPart(f"{name}-{platform.package}", device, "lut4")
    return None


def size_of(device: str, sizes: dict[str, Size]) -> str | None:
    """The entry of a table that a device's name begins with."""
    return next((size for size in sizes if re.match(size, device)), None)


def gowin_grade(part: str) -> str:
    """The delay model of a Gowin part, by series and speed."""
    series, speed = part[:4].lower(), int(part[-4])
    slow = speed < (6 if series == "gw1n" else 8)
    return f"{series}-slow" if slow else series


def ecp5(name: str, size: str) -> Device:
    return _device(name, ECP5[size], "ecp5", "EBR18")


def ice40(name: str) -> Device:
    return _device(name, ICE40[name], "ice40", "EBR4")


def cyclone_v(name: str, size: str) -> Device:
    # Two registers for each half of an ALM.
    return _device(name, CYCLONE_V[size], "cyclonev", "M10K", registers=2.0)


def max10(name: str, size: str) -> Device:
    return _device(name, MAX10[size], "max10", "M9K")


def gowin(name: str) -> Device:
    return _device(name, GOWIN[name], "gowin", "BSRAM18", registers=0.75)


def _device(name: str, size: Size, family: str, block: str, *, registers: float = 1.0) -> Device:
    lut, dsp, bram = size
    ff = int(registers * lut)
    return Device(name, lut=lut, ff=ff, dsp=dsp, bram=bram, family=family, block=block)
