"""Part numbers of all makers, as they are ordered or as the tools call them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from scm_hw.errors import OptionError
from scm_hw.target.devices import DEVICES, Device, parse_part
from scm_hw.target.other_devices import (
    CYCLONE_V,
    ECP5,
    GOWIN,
    ICE40,
    MAX10,
    cyclone_v,
    ecp5,
    gowin,
    gowin_grade,
    ice40,
    max10,
    size_of,
)

_ECP5 = re.compile(
    r"LFE5(?P<kind>UM5G|UM|U)-(?P<size>12F|25F|45F|85F)-(?P<speed>[678])(?P<package>[BM]G\d{3})[CI]?"
)
_ICE40 = re.compile(r"ICE40(?P<size>(?:LP|HX|UP)\d+K)-(?P<package>[A-Z]{2}\d{2,3})I?(?:TR)?")
# Between device and package stand the transceivers, where there are any.
_CYCLONE_V = re.compile(
    r"(?P<device>5C(?:E[BF]A[24579]|GX[BF]C[34579]|GTFD[579]|SE[BM]A[2456]|SX[BMF]C[2456]|STFD[56]))"
    r"(?:[A-Z]\d)?(?P<package>[FMU]\d{2})(?P<temperature>[ACI])(?P<speed>[678])N?S?"
)
_MAX10 = re.compile(
    r"(?P<device>10M(?:02|04|08|16|25|40|50))(?P<features>[SD][ACDFL])"
    r"(?P<package>[EMUFVW]\d{2,3})(?P<temperature>[ACI])(?P<speed>[678])G?(?:ES)?P?"
)
_GOWIN = re.compile(
    r"(?P<series>GW[12]A?N?[RSZ]*)-(?P<voltage>LV|UV|EV|ZV)(?P<size>1|4|9|18)C?"
    r"(?P<package>[A-Z]{2}\d+P?[A-Z]{0,2})(?P<speed>C\d/I\d)"
)
# A part of each maker, to show how they are written.
EXAMPLES = (
    *("xc7a100tcsg324-1", "LFE5U-25F-6BG256C", "iCE40HX8K-CT256", "5CSEBA6U23I7"),
    *("10M08SAE144C8G", "GW1NR-LV9QN88PC6/I5"),
)


@dataclass(frozen=True)
class NamedPart:
    """A device in a package; `grade` names its delay model, None where the speed grade does."""

    name: str
    device: Device
    package: str
    speed: str
    grade: str | None = None


def parse_any_part(text: str) -> NamedPart:
    """The part of that number; OptionError with the nearest ones where there is none."""
    plain = text.strip().upper()
    if plain.startswith("XC"):
        found = parse_part(text)
        return NamedPart(found.name, found.device, found.package, found.speed)
    part = _lattice(plain) or _intel(plain) or _gowin(plain)
    if part is None:
        raise OptionError(
            "part must be a device with package and speed grade, such as "
            f"{', '.join(map(repr, EXAMPLES[:-1]))} or {EXAMPLES[-1]!r}, not {text!r}; "
            f"{_advice(plain)}"
        )
    return part


def _lattice(text: str) -> NamedPart | None:
    if match := _ECP5.fullmatch(text):
        name = f"LFE5{match['kind']}-{match['size']}"
        # The dies for 5 Gbit/s come in one grade.
        if match["kind"] == "UM5G" and match["speed"] != "8":
            return None
        speed, package = match["speed"], match["package"]
        return NamedPart(
            f"{name}-{speed}{package}", ecp5(name, match["size"]), package, speed, f"ecp5-{speed}"
        )
    if (match := _ICE40.fullmatch(text)) and (name := f"iCE40{match['size']}") in ICE40:
        grade = f"ice40-{match['size'][:2].lower()}"
        package = match["package"]
        return NamedPart(f"{name}-{package}", ice40(name), package, "", grade)
    return None


def _intel(text: str) -> NamedPart | None:
    for pattern, family, sizes, device_of in (
        (_CYCLONE_V, "cyclonev", CYCLONE_V, cyclone_v),
        (_MAX10, "max10", MAX10, max10),
    ):
        match = pattern.fullmatch(text)
        if match and (size := size_of(match["device"], sizes)) is not None:
            grade = f"{family}-{match['speed']}"
            device = device_of(match["device"], size)
            return NamedPart(text, device, match["package"], match["speed"], grade)
    return None


def _gowin(text: str) -> NamedPart | None:
    match = _GOWIN.fullmatch(text)
    if match is None:
        return None
    name = f"{match['series']}-{match['size']}"
    if name not in GOWIN:
        return None
    return NamedPart(text, gowin(name), match["package"], match["speed"], gowin_grade(match[0]))


def _advice(text: str) -> str:
    known = [*(name.upper() for name in DEVICES), *(f"LFE5U-{size}" for size in ECP5)]
    known += [name.upper() for name in ICE40] + [e.upper() for e in EXAMPLES]
    known += [re.sub(r"\[(\w)\w*\]", r"\1", name).replace(".", "B") for name in CYCLONE_V]
    known += [*MAX10, *GOWIN]
    if text in known or any(re.fullmatch(size, text) for size in CYCLONE_V):
        return f"give {text!r} a package and a speed grade"
    close = difflib.get_close_matches(text, known, n=3, cutoff=0.6)
    # Package and speed grade, which have no close match, begin about here.
    close = close or difflib.get_close_matches(text[:9], known, n=3, cutoff=0.6)
    return f"did you mean {', '.join(close)}?" if close else "see the name in the maker's part list"
