"""What the 7-series devices hold, and how their part numbers read."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from scm_hw.errors import OptionError


@dataclass(frozen=True)
class Device:
    """The resources of one die as sold; `block` says what kind of block RAM `bram` counts."""

    name: str
    lut: int
    ff: int
    dsp: int
    bram: int
    family: str = "xc7"
    block: str = "BRAM36"


@dataclass(frozen=True)
class Part:
    """A device in a package and a speed grade; `name` is what Vivado calls it."""

    name: str
    device: Device
    package: str
    speed: str


# LUT6, DSP48E1 and 36 Kbit block RAMs, from the product tables of DS180 and DS190. A slice has four
# LUTs and eight flip-flops throughout the series.
_RESOURCES = {
    # Spartan-7
    "xc7s6": (3_750, 10, 5),
    "xc7s15": (8_000, 20, 10),
    "xc7s25": (14_600, 80, 45),
    "xc7s50": (32_600, 120, 75),
    "xc7s75": (48_000, 140, 90),
    "xc7s100": (64_000, 160, 120),
    # Artix-7
    "xc7a12t": (8_000, 40, 20),
    "xc7a15t": (10_400, 45, 25),
    "xc7a25t": (14_600, 80, 45),
    "xc7a35t": (20_800, 90, 50),
    "xc7a50t": (32_600, 120, 75),
    "xc7a75t": (47_200, 180, 105),
    "xc7a100t": (63_400, 240, 135),
    "xc7a200t": (134_600, 740, 365),
    # Kintex-7
    "xc7k70t": (41_000, 240, 135),
    "xc7k160t": (101_400, 600, 325),
    "xc7k325t": (203_800, 840, 445),
    "xc7k355t": (222_600, 1_440, 715),
    "xc7k410t": (254_200, 1_540, 795),
    "xc7k420t": (260_600, 1_680, 835),
    "xc7k480t": (298_600, 1_920, 955),
    # Virtex-7
    "xc7v585t": (364_200, 1_260, 795),
    "xc7v2000t": (1_221_600, 2_160, 1_292),
    "xc7vx330t": (204_000, 1_120, 750),
    "xc7vx415t": (257_600, 2_160, 880),
    "xc7vx485t": (303_600, 2_800, 1_030),
    "xc7vx550t": (346_400, 2_880, 1_180),
    "xc7vx690t": (433_200, 3_600, 1_470),
    "xc7vx980t": (612_000, 3_600, 1_500),
    "xc7vx1140t": (712_000, 3_360, 1_880),
    "xc7vh580t": (362_800, 1_680, 940),
    "xc7vh870t": (547_600, 2_520, 1_410),
    # Zynq-7000, programmable logic
    "xc7z007s": (14_400, 66, 50),
    "xc7z012s": (34_400, 120, 72),
    "xc7z014s": (40_600, 170, 107),
    "xc7z010": (17_600, 80, 60),
    "xc7z015": (46_200, 160, 95),
    "xc7z020": (53_200, 220, 140),
    "xc7z030": (78_600, 400, 265),
    "xc7z035": (171_900, 900, 500),
    "xc7z045": (218_600, 900, 545),
    "xc7z100": (277_400, 2_020, 755),
}

DEVICES = {
    name: Device(name, lut=lut, ff=2 * lut, dsp=dsp, bram=bram)
    for name, (lut, dsp, bram) in _RESOURCES.items()
}

_DEVICE = f"(?P<device>{'|'.join(sorted(DEVICES, key=len, reverse=True))})"
_PACKAGE = r"(?P<package>[a-z]{2,4}\d+)"
# Vivado's names, such as xc7a100tcsg324-1, may have a letter for a low-power or industrial die.
_VIVADO = re.compile(rf"{_DEVICE}(?P<die>[il]?){_PACKAGE}-(?P<speed>[123][a-z]{{0,2}})")
# Ordering codes, such as XC7A100T-1CSG324C, end with a letter for the temperature grade.
_ORDERING = re.compile(rf"{_DEVICE}(?P<die>)-(?P<speed>[123]l?){_PACKAGE}[ceiq]")


def parse_part(text: str) -> Part:
    """The part named by Vivado's name (xc7a100tcsg324-1) or ordering code (XC7A100T-1CSG324C)."""
    lowered = text.strip().lower()
    match = _VIVADO.fullmatch(lowered) or _ORDERING.fullmatch(lowered)
    if match is None:
        raise OptionError(
            "part must be a 7-series device with package and speed grade, such as "
            f"'xc7a100tcsg324-1', not {text!r}; {_advice(lowered)}"
        )
    device, package, speed = match["device"], match["package"], match["speed"].upper()
    return Part(f"{device}{match['die']}{package}-{speed}", DEVICES[device], package, speed)


def _advice(text: str) -> str:
    longest_first = sorted(DEVICES, key=len, reverse=True)
    known = next((name for name in longest_first if text.startswith(name)), None)
    if known:
        return f"give {known!r} a package and a speed grade"
    # Package and speed grade, which have no close match, begin about here.
    close = difflib.get_close_matches(text[:9], DEVICES, n=3, cutoff=0.6)
    return f"did you mean {', '.join(close)}?" if close else "see the name in Vivado's part list"
