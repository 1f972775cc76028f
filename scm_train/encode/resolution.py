"""How many bits the codes of the inputs need.

Codes are even steps of an input's range. Where a few rows reach far beyond all others, nearly all
rows lie within a few steps of twelve bits, and no threshold can tell them apart. More bits cost
hardly anything: a comparator looks at those above its threshold's trailing zeros alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Encoder
from scm_model.encoder import MAX_INPUT_BITS, quantise
from scm_model.scaling import to_unit
from scm_train.encode.encoders import fit_encoder

__all__ = ["plain_codes", "sufficient_bits"]

Floats = NDArray[np.float64]

LEAST_BITS = 12
#: Rows that decide, evenly spread.
SAMPLE_ROWS = 20_000
#: Quantiles of an input that codes should tell apart.
QUANTILES = 64
#: The share that must stay apart of those neighbouring quantiles that the most bits tell apart.
SHARE = 0.9


def plain_codes(parameters: dict[str, Any], x: Any, low: Floats, high: Floats) -> Encoder:
    """Codes as families see them, of inputs (rows, inputs) in memory or on a cluster."""
    bits = parameters["input_bits"]
    if isinstance(bits, str) and bits == "auto":
        rows = np.asarray(x[:: -(-len(x) // SAMPLE_ROWS)])
        bits = sufficient_bits(to_unit(rows, low, high))
    return fit_encoder("none", np.empty((0, x.shape[1])), input_bits=bits)


def sufficient_bits(x: Floats) -> int:
    """The fewest bits, from 12 to 24, that tell the quantiles of inputs in [0, 1] apart.

    ``x`` is (rows, inputs).
    """
    levels = np.linspace(0, 1, QUANTILES + 1)
    # Values that occur: a mean of two neighbours could lie in a gap where there are no rows.
    quantiles = np.quantile(x, levels, axis=0, method="nearest")
    most = _apart(quantiles, MAX_INPUT_BITS)
    for bits in range(LEAST_BITS, MAX_INPUT_BITS):
        if (_apart(quantiles, bits) >= SHARE * most).all():
            return bits
    return MAX_INPUT_BITS


def _apart(quantiles: Floats, bits: int) -> NDArray[np.intp]:
    return np.count_nonzero(np.diff(quantise(quantiles, bits), axis=0), axis=0)
