"""Power of a device with a design in it, estimated as a range.

Nothing here was measured on a board. The static part and the energies of clocks and block RAMs are
set so that they hold the published reports of Vivado that docs/hardware.md lists; the energies of
a transition, of a multiplier, of a clock manager and of all other families are assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scm_hw.target.devices import Device

Span = tuple[float, float]
"""The lowest and the highest value of an estimate."""

# Xilinx Power Estimator (UG440) takes 12.5 % for logic of which nothing is known.
ASSUMED_ACTIVITY: Span = (0.05, 0.25)
IDLE_ACTIVITY: Span = (0.0, 0.125)
NOTHING: Span = (0.0, 0.0)


@dataclass(frozen=True)
class Static:
    """Watts of a device that does nothing: typical silicon, near 25 degrees C."""

    base: float
    per_lut: float
    spread: Span

    def of(self, device: Device) -> Span:
        typical = self.base + self.per_lut * device.lut
        return self.spread[0] * typical, self.spread[1] * typical


@dataclass(frozen=True)
class Energies:
    """Joules: of a transition of a cell's output with its net, of a register's clock in a cycle,
    of a multiplier and a block RAM in a cycle, and of a transition of a pin."""

    toggle: Span
    clock: Span
    dsp: Span
    block: Span
    pin: Span
    clock_manager: Span
    """Watts."""


@dataclass(frozen=True)
class Cells:
    """What of a design takes power."""

    lut: float = 0
    ff: float = 0
    dsp: float = 0
    block: float = 0


# Half of C V^2 of 5 to 25 pF at 3.3 V.
_PIN: Span = (27e-12, 136e-12)

# Those of the 7 series hold the reports of Vivado that docs/hardware.md lists; the others are
# assumed.
_STATIC = {
    "xc7": Static(0.05, 0.75e-6, (0.7, 1.4)),
    "ecp5": Static(0.05, 2e-6, (0.7, 1.8)),
    "ice40": Static(0.0002, 0.1e-6, (0.5, 4.0)),
}
# Toggles are assumed: half of C V^2 of 0.2 to 1 pF, and up to three transitions for each that is
# recorded, since the record has no glitches. Register clocks and block RAMs of the 7 series hold
# the reports; multipliers, clock managers and other families are assumed.
_ENERGIES = {
    "xc7": Energies(
        toggle=(0.1e-12, 1.5e-12),
        clock=(0.01e-12, 0.07e-12),
        dsp=(5e-12, 25e-12),
        block=(10e-12, 25e-12),
        pin=_PIN,
        clock_manager=(0.08, 0.13),
    ),
    # 40 nm where the 7 series has 28 nm, and blocks of 18 and of 4 Kbit.
    "ecp5": Energies(
        toggle=(0.1e-12, 3e-12),
        clock=(0.01e-12, 0.15e-12),
        dsp=(5e-12, 50e-12),
        block=(5e-12, 25e-12),
        pin=_PIN,
        clock_manager=(0.0, 0.0),
    ),
    "ice40": Energies(
        toggle=(0.1e-12, 3e-12),
        clock=(0.01e-12, 0.15e-12),
        dsp=(5e-12, 50e-12),
        block=(2e-12, 10e-12),
        pin=_PIN,
        clock_manager=(0.0, 0.0),
    ),
}


def is_known(device: Device) -> bool:
    """Whether there are figures for its family at all."""
    return device.family in _STATIC


def static_power(device: Device) -> Span:
    """Watts."""
    return _STATIC[device.family].of(device)


def dynamic_power(
    device: Device,
    core: Cells,
    around: Cells,
    *,
    clock_hz: float,
    activity: Span,
    pin_toggles: Span = NOTHING,
    clock_manager: bool = False,
) -> dict[str, Span]:
    """Watts by what takes them; `activity` are transitions of an output of the core in a cycle.

    What is `around` the core waits most of the time. `pin_toggles` are transitions of all
    pins in a second.
    """
    joules = _ENERGIES[device.family]
    registers = core.ff + around.ff
    return {
        "core_logic": _times(joules.toggle, core.lut * clock_hz, activity),
        "core_registers": _times(joules.toggle, core.ff * clock_hz, activity),
        "clock": _times(joules.clock, registers * clock_hz),
        "dsp": _times(joules.dsp, (core.dsp + around.dsp) * clock_hz),
        "bram": _times(joules.block, (core.block + around.block) * clock_hz),
        "around": _times(joules.toggle, (around.lut + around.ff) * clock_hz, IDLE_ACTIVITY),
        "io": _times(joules.pin, 1.0, pin_toggles),
        "clock_manager": joules.clock_manager if clock_manager else NOTHING,
    }


def total(parts: Mapping[str, Span]) -> Span:
    """All parts at their lowest, and all at their highest."""
    return sum(low for low, _ in parts.values()), sum(high for _, high in parts.values())


def _times(joules: Span, count: float, share: Span = (1.0, 1.0)) -> Span:
    return joules[0] * count * share[0], joules[1] * count * share[1]
