"""Switching activity for estimates of power: a waveform (VCD) as a SAIF file.

For every bit of every net: how long it was 0 and 1, and how often it changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scm_hw.errors import ToolError

NETS = ("wire", "reg", "logic")
CLOCKS = ("clk",)
_NET_LINE = re.compile(r"^\((\S+) \(T0 \d+\) \(T1 \d+\) \(TX \d+\) \(TC (\d+)\)", re.M)


@dataclass(frozen=True)
class Net:
    """A net by the instances that it lies in, with the number of its lowest bit."""

    path: tuple[str, ...]
    name: str
    width: int
    lowest: int
    vector: bool
    key: str


@dataclass
class Wave:
    """The changes of all nets between `start` and `end`, in units of the file."""

    nets: list[Net] = field(default_factory=list)
    times: dict[str, list[int]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    start: int | None = None
    end: int = 0


@dataclass(frozen=True)
class Toggles:
    """Time that one bit is 0, 1 and neither, and its changes between 0 and 1."""

    low: int
    high: int
    unknown: int
    count: int


def read_vcd(lines: Iterable[str]) -> Wave:
    """A waveform up to where its recording was ended; ToolError where it is none."""
    wave, stream = Wave(), iter(lines)
    _read_header(wave, stream)
    for line in stream:
        mark = line[0]
        if mark == "#":
            wave.end = int(line[1:])
            wave.start = wave.end if wave.start is None else wave.start
        elif mark in "01xz":
            _change(wave, line[1:].strip(), mark)
        elif mark == "b":
            value, key = line[1:].split()
            _change(wave, key, value)
        elif line.startswith("$dumpoff"):
            break
    if wave.start is None or wave.end <= wave.start:
        raise ToolError("waveform must have some time in it, not none; see the test bench's log")
    return wave


def _change(wave: Wave, key: str, value: str) -> None:
    wave.times[key].append(wave.end)
    wave.values[key].append(value)


def _read_header(wave: Wave, stream: Iterator[str]) -> None:
    path: list[str] = []
    for line in stream:
        words = line.split()
        if words[:1] == ["$scope"]:
            path.append(words[2])
        elif words[:1] == ["$upscope"]:
            path.pop()
        elif words[:1] == ["$var"] and words[1] in NETS:
            wave.nets.append(_net(tuple(path), words))
            wave.times.setdefault(words[3], [])
            wave.values.setdefault(words[3], [])
        elif words[:1] == ["$enddefinitions"]:
            return
    raise ToolError("waveform must have nets, not end before them; see the test bench's log")


def _net(path: tuple[str, ...], words: list[str]) -> Net:
    """`$var wire 8 ! data [7:0] $end`."""
    bounds = re.match(r"\[(\d+)(?::(\d+))?\]", words[5])
    lowest = int(bounds[2] or bounds[1]) if bounds else 0
    # Escaped names of Verilog begin with a backslash.
    return Net(path, words[4].lstrip("\\"), int(words[2]), lowest, bounds is not None, words[3])


def toggles(wave: Wave, net: Net) -> list[Toggles]:
    """The toggles of each bit, the lowest first."""
    start, end = wave.start, wave.end
    assert start is not None
    values = wave.values[net.key]
    if not values:
        return [Toggles(0, 0, end - start, 0)] * net.width
    # A vector's text leaves out leading zeros, or repeats of x.
    texts = [v.rjust(net.width, v[0] if v[0] in "xz" else "0") for v in values]
    bits = np.frombuffer("".join(texts).encode(), dtype=np.uint8).reshape(-1, net.width)[:, ::-1]
    lasting = np.diff([*wave.times[net.key], end])[:, None]
    high, low = bits == ord("1"), bits == ord("0")
    # From or to x is no transition: at the start registers are unknown.
    changes = (high[1:] & low[:-1]) | (low[1:] & high[:-1])
    found = zip(
        (low * lasting).sum(axis=0).tolist(),
        (high * lasting).sum(axis=0).tolist(),
        changes.sum(axis=0).tolist(),
        strict=True,
    )
    return [Toggles(zero, one, end - start - zero - one, n) for zero, one, n in found]


def saif_file(wave: Wave, *, top: tuple[str, ...], inside: tuple[str, ...], scale: float) -> str:
    """The nets below the instance `top` of the waveform, as SAIF.

    They stand below `top` and then `inside`: where that instance lies in what is built. Times are
    in ps of the built clock, `scale` of them for each unit of the waveform.
    """
    assert wave.start is not None
    duration = round((wave.end - wave.start) * scale)
    tree: dict[tuple[str, ...], list[Net]] = {}
    for net in wave.nets:
        # Nets that have no name in the source are not found again after synthesis.
        if net.path[: len(top)] == top and not net.name.startswith("$"):
            tree.setdefault((*top, *inside, *net.path[len(top) :]), []).append(net)
    lines = [
        "(SAIFILE",
        '(SAIFVERSION "2.0")',
        '(DIRECTION "backward")',
        '(PROGRAM_NAME "scm_hw")',
        "(DIVIDER / )",
        "(TIMESCALE 1 ps)",
        f"(DURATION {duration})",
        *_instances(wave, tree, (), duration, scale),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _instances(
    wave: Wave,
    tree: dict[tuple[str, ...], list[Net]],
    path: tuple[str, ...],
    duration: int,
    scale: float,
) -> Iterator[str]:
    """What lies directly in an instance, then the instances in it."""
    nets = tree.get(path, [])
    if nets:
        yield "(NET"
        for net in nets:
            yield from _net_lines(wave, net, duration, scale)
        yield ")"
    below = dict.fromkeys(
        p[len(path)] for p in tree if p[: len(path)] == path and len(p) > len(path)
    )
    for name in below:
        yield f"(INSTANCE {_escaped(name)}"
        yield from _instances(wave, tree, (*path, name), duration, scale)
        yield ")"


def _net_lines(wave: Wave, net: Net, duration: int, scale: float) -> Iterator[str]:
    for place, bit in enumerate(toggles(wave, net)):
        name = _escaped(net.name) + (rf"\[{net.lowest + place}\]" if net.vector else "")
        high, unknown = round(bit.high * scale), round(bit.unknown * scale)
        # The rest, so that the three always add up to the duration after rounding.
        low = duration - high - unknown
        yield f"({name} (T0 {low}) (T1 {high}) (TX {unknown}) (TC {bit.count}) (IG 0))"


def _escaped(name: str) -> str:
    return re.sub(r"([^A-Za-z0-9_])", r"\\\1", name)


def recorded_activity(path: Path, period_ns: float) -> float | None:
    """Transitions of a bit in a cycle, over all nets of a SAIF file but clocks; None without one.

    A net that several modules name is counted as often: the mean is of names.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    duration = re.search(r"^\(DURATION (\d+)\)$", text, re.M)
    counts = [int(n) for name, n in _NET_LINE.findall(text) if name not in CLOCKS]
    if duration is None or not counts or not int(duration[1]):
        return None
    cycles = int(duration[1]) / (period_ns * 1e3)
    return sum(counts) / (len(counts) * cycles)
