"""The boards that a design can be built for."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from amaranth.vendor import XilinxPlatform

from scm_hw.boards.devices import Device, parse_part
from scm_hw.boards.platforms import ArtyA735, ArtyA7100, CmodA735, NexysA7
from scm_hw.errors import OptionError

# What a part without a board is taken to run at, unless told otherwise.
DEFAULT_CLOCK_MHZ = 100.0

Light = tuple[str, int, str | None]
"""A resource, its number, and its subsignal where it has any."""


@dataclass(frozen=True)
class Board:
    """A board, or a bare part: then `platform` is None and there is no board top.

    `lights` are the alive, pass and fail lamps of the board top.
    """

    name: str
    description: str
    part: str
    device: Device
    clock_mhz: float
    platform: type[XilinxPlatform] | None = None
    lights: tuple[Light, Light, Light] | None = None
    has_uart: bool = False


_LEDS: tuple[Light, Light, Light] = (("led", 0, None), ("led", 1, None), ("led", 2, None))


def _board(
    name: str,
    description: str,
    platform: type[XilinxPlatform],
    lights: tuple[Light, Light, Light] = _LEDS,
) -> Board:
    """A board whose part, clock and resources are what its platform says."""
    part = parse_part(f"{platform.device}{platform.package}-{platform.speed}")
    board = platform()
    return Board(
        name=name,
        description=description,
        part=part.name,
        device=part.device,
        clock_mhz=float(board.default_clk_frequency) / 1e6,
        platform=platform,
        lights=lights,
        has_uart=("uart", 0) in board.resources,
    )


_BOARDS = {
    board.name: board
    for board in (
        _board("arty-a7", "Digilent Arty A7-100T", ArtyA7100),
        _board("arty-a7-35", "Digilent Arty A7-35T", ArtyA735),
        _board("nexys-a7", "Digilent Nexys A7-100T (Nexys 4 DDR), the paper's part", NexysA7),
        _board(
            "cmod-a7-35",
            "Digilent Cmod A7-35T",
            CmodA735,
            lights=(("led", 0, None), ("led", 1, None), ("rgb_led", 0, "r")),
        ),
    )
}


def names() -> tuple[str, ...]:
    """All board names, in the order in which to list them."""
    return tuple(_BOARDS)


def get(name: str) -> Board:
    """The board of that name."""
    board = _BOARDS.get(name.lower())
    if board is None:
        close = difflib.get_close_matches(name.lower(), _BOARDS, n=1, cutoff=0.5)
        advice = f"did you mean {close[0]!r}?" if close else "or name a part with --part"
        raise OptionError(f"board must be one of {', '.join(_BOARDS)}, not {name!r}; {advice}")
    return board


def by_part(part: str, clock_mhz: float = DEFAULT_CLOCK_MHZ) -> Board:
    """A bare 7-series part, for a design without a board top."""
    parsed = parse_part(part)
    return Board(
        name=parsed.name,
        description=f"{parsed.device.name} in {parsed.package}, speed grade {parsed.speed}",
        part=parsed.name,
        device=parsed.device,
        clock_mhz=clock_mhz,
    )
