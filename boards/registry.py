"""The boards that a design can be built for."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from amaranth.build import ResourceError, TemplatedPlatform

from scm_hw.boards import by_name
from scm_hw.boards.platforms import (
    ArtyA735,
    ArtyA7100,
    CmodA735,
    IceBreaker,
    NexysA7,
    TangNano9k,
    TangNano20k,
    Ulx3s85,
)
from scm_hw.boards.pll import Pll, pll_for
from scm_hw.errors import OptionError
from scm_hw.target.devices import DEVICES, Device, parse_part
from scm_hw.target.other_devices import other_part
from scm_hw.target.part_numbers import parse_any_part

# Default clock of a part without a board.
DEFAULT_CLOCK_MHZ = 100.0
# What the top that answers over the serial port takes besides the core, as Yosys counts it for
# LUT4s; on the large parts of the 7 series it doesn't matter.
UART_LUTS, UART_FFS, UART_BLOCKS = 1_500, 650, {"ecp5": 2, "ice40": 5, "gowin": 2, "lut4": 2}

Light = tuple[str, int, str | None]
"""A resource, its number, and its subsignal where it has any."""
Lights = tuple[Light | None, Light | None, Light | None]


@dataclass(frozen=True)
class Board:
    """A board, or a bare part: then `platform` is None and there is no board top.

    `lights` are the alive, pass (or busy) and fail lamps of the board top, as far as it has any.
    `grade` names the delay model of a part that is not of the 7 series. `pll` is what makes
    `clock_mhz` where the board's oscillator has another frequency. `board_files` is a pattern of
    Vivado's board files, on a board whose processors give the clock: its top is a block design.
    """

    name: str
    description: str
    part: str
    device: Device
    clock_mhz: float
    platform: type[TemplatedPlatform] | None = None
    lights: Lights | None = None
    has_uart: bool = False
    grade: str | None = None
    pll: Pll | None = None
    board_files: str | None = None

    @property
    def has_processors(self) -> bool:
        """Whether the core is to be reached from a Zynq's processors."""
        return self.board_files is not None

    @property
    def family(self) -> str:
        return self.device.family

    @property
    def room(self) -> Device:
        """What the core may fill: on a small device the rest of the board top counts."""
        if self.family == "xc7" or self.platform is None:
            return self.device
        device = self.device
        return replace(
            device,
            lut=max(device.lut - UART_LUTS, 0),
            ff=max(device.ff - UART_FFS, 0),
            bram=max(device.bram - UART_BLOCKS[self.family], 0),
        )

    def at_clock(self, clock_mhz: float) -> Board:
        """The board at another clock; without a board top where it can't be made of its own."""
        if clock_mhz == self.clock_mhz:
            return self
        if self.has_processors:
            return replace(self, clock_mhz=clock_mhz)
        pll = pll_for(self.clock_mhz, clock_mhz) if self.family == "xc7" else None
        platform = None if pll is None else self.platform
        return replace(self, clock_mhz=clock_mhz, platform=platform, pll=pll)


_LEDS: Lights = (("led", 0, None), ("led", 1, None), ("led", 2, None))


def _board(
    name: str,
    description: str,
    platform: type[TemplatedPlatform],
    lights: Lights = _LEDS,
) -> Board:
    """A board whose part, clock and resources are what its platform says."""
    board = platform()
    part, device, grade = _part_of(name, board)
    return Board(
        name=name,
        description=description,
        part=part,
        device=device,
        clock_mhz=float(board.default_clk_frequency) / 1e6,
        platform=platform,
        lights=lights,
        has_uart=("uart", 0) in board.resources,
        grade=grade,
    )


def _part_of(name: str, platform: TemplatedPlatform) -> tuple[str, Device, str | None]:
    """Part, device and, for other families than the 7 series, delay model."""
    # xc7a35ti and xc7a35tl are the die of an xc7a35t, sorted by temperature or voltage.
    if getattr(platform, "device", "").lower().rstrip("il") in DEVICES:
        part = parse_part(f"{platform.device}{platform.package}-{platform.speed}")
        return part.name, part.device, None
    other = other_part(platform)
    if other is None:
        raise OptionError(
            f"board must have a part of known size, not {name!r} with {platform.device!r}; choose "
            "another, or name a 7-series part with --part"
        )
    return other.name, other.device, other.grade


def _zynq(name: str, description: str, part: str, board_files: str) -> Board:
    """A board whose core is behind the processors of its Zynq, which make the clock."""
    board = by_part(part)
    return replace(board, name=name, description=description, board_files=board_files)


def by_part(part: str, clock_mhz: float = DEFAULT_CLOCK_MHZ) -> Board:
    """A bare part of any maker, for a design without a board top."""
    parsed = parse_any_part(part)
    speed = f", speed grade {parsed.speed}" if parsed.speed else ""
    return Board(
        name=parsed.name,
        description=f"{parsed.device.name} in {parsed.package}{speed}",
        part=parsed.name,
        device=parsed.device,
        clock_mhz=clock_mhz,
        grade=parsed.grade,
    )


_BOARDS = {
    board.name: board
    for board in (
        _board("arty-a7", "Digilent Arty A7-100T", ArtyA7100),
        _board("arty-a7-35", "Digilent Arty A7-35T", ArtyA735),
        _board("nexys-a7", "Digilent Nexys A7-100T (4 DDR), the paper's part", NexysA7),
        _board(
            "cmod-a7-35",
            "Digilent Cmod A7-35T",
            CmodA735,
            lights=(("led", 0, None), ("led", 1, None), ("rgb_led", 0, "r")),
        ),
        _board("ulx3s-85f", "Radiona ULX3S with 85F, open tools", Ulx3s85),
        _board(
            "icebreaker",
            "1BitSquared iCEBreaker, open tools",
            IceBreaker,
            lights=(("led_g", 0, None), None, ("led_r", 0, None)),
        ),
        _board("tang-nano-9k", "Sipeed Tang Nano 9K, open tools", TangNano9k),
        _board("tang-nano-20k", "Sipeed Tang Nano 20K, open tools", TangNano20k),
        _zynq("pynq-z2", "TUL PYNQ-Z2, Zynq-7020", "xc7z020clg400-1", "*:pynq-z2:part0:*"),
        _zynq(
            "arty-z7-20",
            "Digilent Arty Z7-20, Zynq-7020",
            "xc7z020clg400-1",
            "*:arty-z7-20:part0:*",
        ),
        # Avnet and Digilent call it zed and zedboard.
        _zynq("zedboard", "ZedBoard, Zynq-7020", "xc7z020clg484-1", "*:zed*:part0:*"),
    )
}


def names() -> tuple[str, ...]:
    """All board names, in the order in which to list them."""
    return tuple(_BOARDS)


def get(name: str) -> Board:
    """The board of that name, or any board with a UART of amaranth-boards."""
    wanted = by_name.plain(name)
    listed = next((b for b in _BOARDS.values() if by_name.plain(b.name) == wanted), None)
    if listed is not None:
        return listed
    found = by_name.matching(name)
    if not found:
        raise OptionError(
            f"board must be one of {', '.join(_BOARDS)} or a board of amaranth-boards with a UART, "
            f"not {name!r}; {_advice(name)}"
        )
    usable = [platform for platform in found if by_name.has_uart(platform)]
    if not usable:
        raise OptionError(
            f"board must have a UART and a clock in amaranth-boards, not {name!r}, which has none; "
            f"{_advice(name)}"
        )
    if len(usable) > 1:
        choice = ", ".join(by_name.name_of(platform) for platform in usable)
        raise OptionError(f"board must be one of {choice}, not just {name!r}; name one of them")
    return _from_platform(usable[0])


def _advice(name: str) -> str:
    """The name of our list that is near that one, or up to three of the others."""
    wanted = name.lower()
    close = difflib.get_close_matches(wanted, _BOARDS, n=1, cutoff=0.7)
    if not close and wanted:
        classes = [p for found in by_name.platforms().values() for p in found]
        others = [by_name.name_of(p) for p in classes if by_name.has_uart(p)]
        close = [other for other in others if other.startswith(wanted)]
        close += difflib.get_close_matches(wanted, others, n=3, cutoff=0.6)
    if not close:
        return "or name a part with --part"
    return f"did you mean {' or '.join(map(repr, dict.fromkeys(close[:3])))}?"


def _from_platform(platform: type[TemplatedPlatform]) -> Board:
    """A board as its file has it; one that we list stands for the file it is made from."""
    for board in _BOARDS.values():
        # Our platforms are subclasses of those of amaranth-boards, and correct them.
        if board.platform is not None and issubclass(board.platform, platform):
            return board
    name = by_name.name_of(platform)
    return _board(name, f"{platform.__name__} of amaranth-boards", platform, _lights(platform))


def _lights(platform: type[TemplatedPlatform]) -> Lights:
    """Plain lamps, or the colours of one; with two lamps, alive and fail."""
    board = platform()
    # A lamp may hang on a wire of the serial port.
    board.request("uart", 0, dir="-")
    leds: list[Light] = [("led", n, None) for n in range(3) if _is_free(board, "led", n)]
    if len(leds) == 3:
        return leds[0], leds[1], leds[2]
    if leds:
        return leds[0], None, leds[1] if len(leds) > 1 else None
    if _is_free(board, "rgb_led", 0):
        return ("rgb_led", 0, "g"), ("rgb_led", 0, "b"), ("rgb_led", 0, "r")
    return None, None, None


def _is_free(board: TemplatedPlatform, resource: str, number: int) -> bool:
    try:
        board.request(resource, number, dir="-")
    except ResourceError:
        return False
    return True
