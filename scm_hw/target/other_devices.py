"""What devices of other makers hold, by the names that amaranth-boards has for them.

Those of Lattice that open tools can place and route have models of their own; of the rest only the
size is known, in LUTs of about four inputs and blocks of about 18 Kbit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scm_hw.target.devices import Device


@dataclass(frozen=True)
class OtherPart:
    """A device in a package; `grade` is the name of its delay model."""

    name: str
    device: Device
    grade: str


# LUT4, MULT18X18D and blocks of 18 Kbit (FPGA-DS-02012).
_ECP5 = {
    "12F": (12_000, 28, 32),
    "25F": (24_288, 28, 56),
    "45F": (43_848, 72, 108),
    "85F": (83_640, 156, 208),
}
# LUT4, SB_MAC16 and blocks of 4 Kbit (FPGA-DS-02029, FPGA-DS-02008).
_ICE40 = {
    "iCE40LP1K": (1_280, 0, 16),
    "iCE40LP8K": (7_680, 0, 32),
    "iCE40HX1K": (1_280, 0, 16),
    "iCE40HX4K": (3_520, 0, 20),
    "iCE40HX8K": (7_680, 0, 32),
    "iCE40UP5K": (5_280, 8, 30),
}
# Logic cells, multipliers of 18 bits and blocks of 18 Kbit, two smaller ones counted as one.
_BY_SIZE = {
    "xc6slx45": (27_288, 58, 116),
    "EP3C16": (15_408, 56, 28),
    "EP3C25": (24_624, 66, 33),
    "EP4CE6": (6_272, 15, 15),
    "10M50DA": (49_760, 144, 91),
    "5CSEBA6": (83_820, 112, 276),
    "LCMXO2-4000HC": (4_320, 0, 5),
    "LCMXO3L-6900C": (6_864, 0, 13),
    "LCMXO3LF-6900C": (6_864, 0, 13),
    "GW1N-1": (1_152, 0, 4),
    "GW1NR-9": (8_640, 20, 26),
    "GW2A-18": (20_736, 48, 46),
}


def other_part(platform: Any) -> OtherPart | None:
    """The part that a platform names; None for one we know nothing of."""
    # Gowin's platforms take the name of a part apart.
    name = getattr(platform, "device", None) or f"{platform.series}-{platform.size}"
    if name.startswith("LFE5U"):
        kind = name.rsplit("-", 1)[-1]
        return OtherPart(
            f"{name}-{platform.speed}{platform.package}",
            _device(name, _ECP5[kind], "ecp5", "EBR18"),
            f"ecp5-{platform.speed}",
        )
    if name in _ICE40:
        device = _device(name, _ICE40[name], "ice40", "EBR4")
        return OtherPart(f"{name}-{platform.package}", device, f"ice40-{name[5:7].lower()}")
    if name in _BY_SIZE:
        device = _device(name, _BY_SIZE[name], "lut4", "RAM18")
        return OtherPart(f"{name}-{platform.package}", device, "lut4")
    return None


def _device(name: str, size: tuple[int, int, int], family: str, block: str) -> Device:
    lut, dsp, bram = size
    return Device(name, lut=lut, ff=lut, dsp=dsp, bram=bram, family=family, block=block)
