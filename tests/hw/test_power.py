"""Power by hand, and against published reports of Vivado."""

from __future__ import annotations

import pytest

from scm_hw.target.devices import DEVICES, Device
from scm_hw.target.power import (
    NOTHING,
    Cells,
    Span,
    dynamic_power,
    is_known,
    static_power,
    total,
)

ARTIX, NONE = DEVICES["xc7a100t"], Cells()


def parts(core: Cells, around: Cells = NONE, **how: object) -> dict[str, Span]:
    settings: dict = {"clock_hz": 100e6, "activity": (0.2, 0.2)} | how
    found = dynamic_power(ARTIX, core, around, **settings)
    return {name: span for name, span in found.items() if span != NOTHING}


@pytest.mark.parametrize(
    ("core", "expected"),
    [
        # 1,000 outputs, a fifth of them 100 million times a second: 2e10 transitions.
        (Cells(lut=1000), {"core_logic": (0.002, 0.030)}),
        # The same of registers; and 1e11 times a clock of one register.
        (Cells(ff=1000), {"core_registers": (0.002, 0.030), "clock": (0.001, 0.007)}),
        (Cells(dsp=2), {"dsp": (0.001, 0.005)}),
        (Cells(block=0.5), {"bram": (0.0005, 0.00125)}),
        (Cells(), {}),
    ],
)
def test_parts_by_hand(core: Cells, expected: dict[str, Span]) -> None:
    assert parts(core) == {name: pytest.approx(span) for name, span in expected.items()}


def test_what_is_around_the_core_may_be_idle() -> None:
    found = parts(Cells(), Cells(lut=600, ff=200, dsp=1, block=1))
    assert found == {
        "around": pytest.approx((0.0, 800 * 100e6 * 0.125 * 1.5e-12)),
        "clock": pytest.approx((0.0002, 0.0014)),
        "dsp": pytest.approx((0.0005, 0.0025)),
        "bram": pytest.approx((0.001, 0.0025)),
    }


def test_pins_and_the_clock_manager() -> None:
    found = parts(Cells(), pin_toggles=(0.0, 1e6), clock_manager=True)
    assert found == {"io": pytest.approx((0.0, 1.36e-4)), "clock_manager": (0.08, 0.13)}
    assert total(found) == pytest.approx((0.08, 0.130136))


def test_clock_and_activity_are_factors() -> None:
    slow = parts(Cells(lut=1000, ff=500, dsp=1), clock_hz=50e6)
    for name, (low, high) in parts(Cells(lut=1000, ff=500, dsp=1)).items():
        assert slow[name] == pytest.approx((low / 2, high / 2))
    assert parts(Cells(lut=1000), activity=(0.1, 0.4))["core_logic"] == pytest.approx((0.001, 0.06))


# Device static power in published reports of Vivado near 25 degrees C.
PUBLISHED_STATIC = [
    ("xc7a35t", 0.062),
    ("xc7a100t", 0.093),
    ("xc7a100t", 0.099),
    ("xc7z020", 0.113),
    ("xc7z045", 0.219),
]


@pytest.mark.parametrize(("device", "watts"), PUBLISHED_STATIC)
def test_static_power_holds_published_reports(device: str, watts: float) -> None:
    low, high = static_power(DEVICES[device])
    assert low < watts < high < 2.1 * low


# At 100 MHz: device, registers, block RAMs, and the watts of clocks and of block RAMs.
PUBLISHED_DYNAMIC = [
    ("xc7a35t", 6_608, 5.5, 0.043, 0.007),
    ("xc7a100t", 16_591, 32, 0.069, 0.063),
    ("xc7a100t", 24_772, 32, 0.078, 0.065),
]


@pytest.mark.parametrize(("device", "ff", "blocks", "clocks", "brams"), PUBLISHED_DYNAMIC)
def test_clocks_and_blocks_hold_published_reports(
    device: str, ff: int, blocks: float, clocks: float, brams: float
) -> None:
    cells = Cells(ff=ff, block=blocks)
    found = dynamic_power(DEVICES[device], cells, Cells(), clock_hz=100e6, activity=(0.1, 0.1))
    assert found["clock"][0] < clocks < found["clock"][1]
    assert found["bram"][0] < brams < found["bram"][1]


def test_families_without_figures_have_none() -> None:
    assert not is_known(Device("10M50DA", 49_760, 49_760, 144, 91, "lut4"))
    for family, lut, least, most in (("ecp5", 83_640, 0.1, 0.5), ("ice40", 5_280, 1e-4, 5e-3)):
        low, high = static_power(Device("some", lut, lut, 8, 30, family))
        assert least < low < high < most
