"""When an error has grown: a cumulative sum (CUSUM) of it, and where its alarm is set.

    excess = max(0, excess + error - reference),        alarm where excess >= threshold

Let theta > 0 solve `mean exp(theta (error - reference)) = 1` over errors as they should be. Then
`theta excess` is the CUSUM of a likelihood ratio, and the mean number of independent samples to a
false alarm is at least `exp(theta threshold)` (Lorden 1971). So the threshold for one false alarm
in N samples is `log(N) / theta`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Samples with a target to a false alarm, on average at least, while errors are as on the test
#: rows and independent of each other.
SAMPLES_TO_FALSE_ALARM = 100_000
#: The reference lies this share of the errors' deviation above their mean: a shift of twice as
#: much is what a CUSUM with it finds fastest.
REFERENCE_DEVIATIONS = 0.5


@dataclass(frozen=True)
class Drift:
    """A CUSUM in integers; without a threshold there is no alarm."""

    reference: int
    threshold: int | None

    @property
    def top(self) -> int:
        """Where the excess saturates: it falls below the threshold soon after a drift is over."""
        return 0 if self.threshold is None else (1 << self.threshold.bit_length()) - 1

    def excess(self, before: int, error: int) -> int:
        return min(max(before + error - self.reference, 0), self.top)

    def flag(self, excess: int) -> bool:
        return self.threshold is not None and excess >= self.threshold


def no_drift() -> Drift:
    """Nothing to compare with, and never an alarm."""
    return Drift(0, None)


def watch(errors: NDArray[np.integer]) -> Drift:
    """Calibrated on absolute errors (n,) as they should be."""
    values = errors.astype(np.float64)
    reference = math.ceil(values.mean() + REFERENCE_DEVIATIONS * values.std())
    theta = _exponent(values - reference)
    # At least one error of the greatest size must be no alarm.
    least = max(int(errors.max()) - reference, 0) + 1
    return Drift(reference, max(math.ceil(math.log(SAMPLES_TO_FALSE_ALARM) / theta), least))


def _exponent(steps: NDArray[np.float64]) -> float:
    """The theta above 0 with `mean exp(theta steps) = 1`, rounded down; steps fall on average."""
    if steps.max() <= 0:
        # Not one error is above the reference: any will do.
        return 1.0

    def grows(theta: float) -> bool:
        exponents = theta * steps
        # The greatest exponent is taken out of the sum, as exp of it may overflow.
        most = exponents.max()
        return bool(most + math.log(np.exp(exponents - most).mean()) > 0)

    low, high = 0.0, 1.0 / float(steps.max())
    while not grows(high):
        high *= 2
    # 60 halvings: more than the bits that a double has.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low or high
