"""amaranth-boards' platforms, with what their files lack for our boards."""

from __future__ import annotations

from amaranth.build import Attrs, Clock, Connector, Pins, Resource
from amaranth.vendor import GowinPlatform
from amaranth_boards.arty_a7 import ArtyA7_35Platform, ArtyA7_100Platform
from amaranth_boards.cmod_a7 import CmodA7_35Platform
from amaranth_boards.icebreaker import ICEBreakerPlatform
from amaranth_boards.nexys4ddr import Nexys4DDRPlatform
from amaranth_boards.resources import ButtonResources, LEDResources, UARTResource
from amaranth_boards.tang_nano_9k import TangNano9kPlatform
from amaranth_boards.ulx3s import ULX3S_85F_Platform


class ArtyA7100(ArtyA7_100Platform):
    """Arty A7-100T. The board carries the plain -1 part; the board file names the -1L one."""

    device = "xc7a100t"
    speed = "1"


class ArtyA735(ArtyA7_35Platform):
    """Arty A7-35T, which carries the -1L part that the board file names."""


class NexysA7(Nexys4DDRPlatform):
    """Nexys A7-100T, the later name of the Nexys 4 DDR."""


class CmodA735(CmodA7_35Platform):
    """Cmod A7-35T. It has no reset button; its first push button serves as one."""

    default_rst = "button"


class Ulx3s85(ULX3S_85F_Platform):
    """ULX3S with the LFE5U-85F."""


class IceBreaker(ICEBreakerPlatform):
    """iCEBreaker."""


class TangNano9k(TangNano9kPlatform):
    """Tang Nano 9K."""


class TangNano20k(GowinPlatform):
    """Tang Nano 20K: what the board top needs of it; amaranth-boards has no file for it."""

    part = "GW2AR-LV18QN88C8/I7"
    family = "GW2AR-18C"
    default_clk = "clk27"
    _attrs = Attrs(IO_TYPE="LVCMOS33")
    resources = [  # noqa: RUF012 - as all platforms have it
        Resource("clk27", 0, Pins("4", dir="i"), Clock(27e6), _attrs),
        *LEDResources(pins="15 16 17 18 19 20", invert=True, attrs=_attrs),
        *ButtonResources(pins="88 87", attrs=_attrs),
        UARTResource(0, rx="70", tx="69", attrs=Attrs(PULL_MODE="UP", IO_TYPE="LVCMOS33")),
    ]
    connectors: list[Connector] = []  # noqa: RUF012
