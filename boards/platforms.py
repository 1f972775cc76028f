"""amaranth-boards' platforms, with what their files lack for our boards."""

from __future__ import annotations

from amaranth_boards.arty_a7 import ArtyA7_35Platform, ArtyA7_100Platform
from amaranth_boards.cmod_a7 import CmodA7_35Platform
from amaranth_boards.icebreaker import ICEBreakerPlatform
from amaranth_boards.nexys4ddr import Nexys4DDRPlatform
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
