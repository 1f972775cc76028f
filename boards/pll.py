"""Another clock than the board's own, from the clock manager of the 7 series (MMCME2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

__all__ = ["Pll", "pll_for", "use_clock"]

# DS181, slowest speed grade, in MHz: phase detector, oscillator, output and global buffer.
DETECTOR = (10, 450)
VCO = (600, 1200)
OUTPUT = (4.69, 464)
# Factors are in eighths; an output divider that is not whole is at least two.
EIGHTHS = 8
FACTORS = range(2 * EIGHTHS, 64 * EIGHTHS + 1)
DIVIDERS = range(1, 107)
LARGEST_OUTPUT_DIVIDER = 128


@dataclass(frozen=True)
class Pll:
    """`clock = oscillator * multiply / divide / output_divide`, in MHz, exactly."""

    oscillator_mhz: Fraction
    multiply: Fraction
    divide: int
    output_divide: Fraction

    @property
    def vco_mhz(self) -> Fraction:
        return self.oscillator_mhz * self.multiply / self.divide

    @property
    def clock_mhz(self) -> Fraction:
        return self.vco_mhz / self.output_divide


def pll_for(oscillator_mhz: float, clock_mhz: float) -> Pll | None:
    """What makes that clock exactly, with whole factors if they do and the least jitter; or None.

    A fast phase detector and a fast oscillator have less of it.
    """
    # Through text, so that 33.3 is 333/10 and not the nearest binary fraction.
    source, wanted = Fraction(str(oscillator_mhz)), Fraction(str(clock_mhz))
    if not OUTPUT[0] <= wanted <= OUTPUT[1]:
        return None
    found = [
        pll
        for divide in DIVIDERS
        if DETECTOR[0] <= source / divide <= DETECTOR[1]
        for factor in FACTORS
        if (pll := _output_divided(source, Fraction(factor, EIGHTHS), divide, wanted)) is not None
    ]
    return min(found, key=_jitter, default=None)


def _output_divided(
    source: Fraction, multiply: Fraction, divide: int, wanted: Fraction
) -> Pll | None:
    vco = source * multiply / divide
    divider = vco / wanted
    whole = divider.denominator == 1
    if not (VCO[0] <= vco <= VCO[1] and 1 <= divider <= LARGEST_OUTPUT_DIVIDER):
        return None
    # A denominator of 2, 4 or 8 is whole eighths; others would miss the clock.
    if not whole and (EIGHTHS % divider.denominator or divider < 2):
        return None
    return Pll(source, multiply, divide, divider)


def _jitter(pll: Pll) -> tuple[bool, int, Fraction]:
    fractional = pll.multiply.denominator > 1 or pll.output_divide.denominator > 1
    # In this order: a small divider keeps the phase detector fast, and then the oscillator counts.
    return fractional, pll.divide, -pll.vco_mhz


def use_clock(m: Module, pll: Pll | None) -> None:
    """The clock of a board top: the oscillator's, as the platform has it, or another."""
    if pll is not None:
        m.domains.sync = ClockDomain()
        m.submodules.clocks = _ClockManager(pll)


class _ClockManager(Elaboratable):
    """Drives the domain `sync`, faster or slower than the board's oscillator.

    It is in reset until the clock is steady, and while the board's reset button is held.
    """

    def __init__(self, pll: Pll) -> None:
        self.pll = pll

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.oscillator = source = io.Buffer(
            "i", platform.request(platform.default_clk, dir="-")
        )
        steady, made, feedback = Signal(), Signal(), Signal()
        m.submodules.mmcm = self._mmcm(source.i, made, feedback, steady)
        m.submodules.clock = Instance("BUFG", i_I=made, o_O=ClockSignal("sync"))
        reset = ~steady
        if platform.default_rst is not None:
            m.submodules.button = button = io.Buffer(
                "i", platform.request(platform.default_rst, dir="-")
            )
            reset |= button.i
        m.submodules.reset = ResetSynchronizer(reset, domain="sync")
        return m

    def _mmcm(self, source: Signal, made: Signal, feedback: Signal, steady: Signal) -> Instance:
        pll = self.pll
        return Instance(
            "MMCME2_BASE",
            p_CLKIN1_PERIOD=float(1000 / pll.oscillator_mhz),
            p_CLKFBOUT_MULT_F=float(pll.multiply),
            p_DIVCLK_DIVIDE=pll.divide,
            p_CLKOUT0_DIVIDE_F=float(pll.output_divide),
            i_CLKIN1=source,
            i_CLKFBIN=feedback,
            i_RST=Const(0),
            i_PWRDWN=Const(0),
            o_CLKFBOUT=feedback,
            o_CLKOUT0=made,
            o_LOCKED=steady,
        )
