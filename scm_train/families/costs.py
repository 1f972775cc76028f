"""What families cost in LUTs of the 7 series, so that a machine can grow to a budget.

A table of up to five bits is absorbed by the carry chain that adds it, a LUT for each bit of its
entries; a comparison of a code looks at the bits above the threshold's trailing zeros, and is
shared by all who use the same threshold. The figures are fitted to what Yosys makes of two dozen
machines of 300 to 3,000 LUTs, so that none takes more than the sum, in LUTs or in their sites.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_train.families.signals import SignalPool

__all__ = ["HANDSHAKE_LUTS", "LINEAR_LUTS", "Prices", "threshold_luts"]

Floats = NDArray[np.float64]

LUT_INPUTS = 6
#: Valid, ready and the offset of the output.
HANDSHAKE_LUTS = 20.0
#: An output more, of a classifier: its share of finding the largest.
OUTPUT_LUTS = 12.0
#: An input of the linear part, for each bit of its code: three shifted additions, and one more to
#: join the sums of families.
LINEAR_LUTS = 5.0
#: What adding a family takes beyond the bits of its entries: carries, and sums of chains.
ADDING_LUTS = 2.5
#: What is left of a comparator's LUTs where others compare the same code.
SHARED = 0.8
#: A comparison of a sum relative to that of a code: it is left to a carry chain and shares nothing.
SUM_COMPARED = 5 / 3
#: What a sum of two features takes beyond a LUT for each bit of their codes.
SUM_LUTS = 3.0
#: Expected cost of a family while its support is still being chosen.
FAMILY_LUTS = 6.0


def threshold_luts(thresholds: NDArray[np.int64], input_bits: int) -> Floats:
    """LUTs of ``code >= threshold``, by the bits of the code that it depends on."""
    # t & -t is the lowest bit of t that is set; the code's bits below it decide nothing.
    trailing = np.log2(np.maximum(thresholds & -thresholds, 1)).astype(np.int64)
    bits = np.maximum(input_bits - trailing, 1)
    # Of six bits and fewer one LUT; each more LUT takes the one before and five bits.
    luts = 1.0 + np.ceil(np.maximum(bits - LUT_INPUTS, 0) / (LUT_INPUTS - 1))
    # A comparison with half the range is the code's top bit itself.
    return np.where(bits == 1, 0.0, SHARED * luts)


class Prices:
    """What the next threshold costs, and what all that is chosen costs so far (``total``)."""

    def __init__(self, pool: SignalPool, input_bits: int, fixed: float):
        self.total = fixed
        self.overhead, self.family = ADDING_LUTS, FAMILY_LUTS
        # A sum of two features is built once, for all thresholds on it.
        self._unbuilt = np.array(
            [input_bits + SUM_LUTS if len(s.features) > 1 else 0.0 for s in pool.signals]
        )
        self.new = np.zeros((len(pool.signals), int(pool.counts.max(initial=0))))
        for row, (signal, thresholds) in enumerate(zip(pool.signals, pool.thresholds, strict=True)):
            summed = len(signal.features) > 1
            luts = threshold_luts(thresholds, input_bits + summed) * (SUM_COMPARED if summed else 1)
            self.new[row, : len(thresholds)] = luts + self._unbuilt[row]

    def of(self, signals: NDArray, thresholds: NDArray, bits: int) -> float:
        """What a family with entries of ``bits`` bits adds to the total."""
        new = self.new[signals, thresholds].sum()
        # What a signal takes to be built is in the price of each of its thresholds.
        repeated = self._unbuilt[signals].sum() - self._unbuilt[np.unique(signals)].sum()
        return float(bits + self.overhead + new - repeated)

    def add(self, signals: NDArray, thresholds: NDArray, bits: int) -> None:
        """Count a family with entries of ``bits`` bits; its thresholds are free from now on."""
        self.total += self.of(signals, thresholds, bits)
        # The sum of two features is built now: its other thresholds no longer pay for it.
        for signal, threshold in zip(signals, thresholds, strict=True):
            self.new[signal] -= self._unbuilt[signal]
            self._unbuilt[signal] = 0.0
            self.new[signal, threshold] = 0.0
