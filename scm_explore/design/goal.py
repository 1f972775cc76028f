"""What a user asks of a design, and how far a design is from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scm_explore.design.candidate import Candidate
from scm_hw.errors import OptionError


@dataclass(frozen=True)
class Goal:
    """Limits, each of which may be absent; `rmse` is in the targets' units, one for each."""

    luts: int | None = None
    latency_ns: float | None = None
    rmse: tuple[float, ...] | None = None
    accuracy: float | None = None

    @property
    def wants_score(self) -> bool:
        return self.rmse is not None or self.accuracy is not None

    def fits(self, one: Candidate) -> bool:
        """Whether a design can be built within LUTs and latency."""
        return (
            one.fault is None
            and (self.luts is None or one.lut <= self.luts)
            and (self.latency_ns is None or one.latency_ns <= self.latency_ns + 1e-9)
        )

    def reached(self, one: Candidate) -> bool:
        """Whether a design's error on the rows that it carries is as low as was asked for."""
        if self.accuracy is not None:
            return one.accuracy is not None and one.accuracy >= self.accuracy
        if self.rmse is None:
            return True
        return all(have <= want for have, want in zip(one.rmse, self.rmse, strict=True))

    def met(self, one: Candidate) -> bool:
        return self.fits(one) and self.reached(one)

    def in_words(self) -> str:
        """The limits as a person would name them."""
        room = []
        if self.luts is not None:
            room.append(f"{self.luts:,} LUT")
        if self.latency_ns is not None:
            room.append(f"{self.latency_ns:,g} ns")
        score = ""
        if self.rmse is not None:
            score = f"RMSE {', '.join(f'{one:g}' for one in self.rmse)}"
        elif self.accuracy is not None:
            score = f"accuracy {self.accuracy:.2%}"
        within = f"within {' and '.join(room)}" if room else ""
        return " ".join(filter(None, (score, within)))


def cycles_of(latency_ns: float | None, clock_mhz: float) -> int | None:
    """Whole cycles in a latency at a clock."""
    if latency_ns is None:
        return None
    # 30 ns at 100 MHz is 3 cycles, whatever the product rounds to.
    cycles = math.floor(latency_ns * clock_mhz / 1e3 + 1e-9)
    if cycles < 1:
        raise OptionError(
            f"--latency must be at least one cycle, {1e3 / clock_mhz:g} ns at {clock_mhz:g} MHz, "
            f"not {latency_ns:g} ns; allow more, or raise --clock"
        )
    return cycles


def for_targets(rmse: tuple[float, ...] | None, targets: int) -> tuple[float, ...] | None:
    """A limit for each target."""
    if rmse is None or len(rmse) == targets:
        return rmse
    if len(rmse) > 1:
        raise OptionError(
            f"--rmse must be one number, or one for each of the {targets} targets, not {len(rmse)}"
        )
    return rmse * targets
