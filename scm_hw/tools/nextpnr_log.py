"""What nextpnr says of a design: the clocks it reaches, and the cells it takes."""

from __future__ import annotations

import re

_CLOCK = re.compile(r"Max frequency for clock\s+'(.+?)':\s*([\d.]+) MHz")
_CELLS = re.compile(r"^Info:\s+([A-Za-z]\w*):\s*(\d+)/\s*(\d+)\s+\d+%", re.M)
_FIRST_UTILISATION = re.compile(r"Device utilisation:(.*?)(?:\n\s*\n|\Z)", re.S)


def routed_mhz(log: str) -> float | None:
    """The slowest clock as routed; nextpnr tells it after placement too, and later is better."""
    last = {clock: float(mhz) for clock, mhz in _CLOCK.findall(log)}
    return min(last.values(), default=None)


def utilisation(log: str) -> dict[str, tuple[int, int]]:
    """Cells used and available, those that are used, by nextpnr's names."""
    found = _FIRST_UTILISATION.search(log)
    rows = _CELLS.findall(found[1]) if found else []
    return {cell: (int(used), int(have)) for cell, used, have in rows if int(used)}
