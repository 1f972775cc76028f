"""How many weights there are and what they take, as in the paper's table for the FPGA."""

from __future__ import annotations

from typing import Any

import numpy as np

from scm_hw.load import Model

REAL_BITS = 64


def weights(model: Model) -> dict[str, Any]:
    """Weights of the same machine with real numbers, and the signs that hardware keeps instead.

    A feature coded in `b` bits has `b` signs for each node where the real machine has one weight.
    Connections that selective nodes leave out have no sign; the real machine has them all.
    """
    real = hardware = 0
    bits = np.array(model.encoder.bits or (1,) * len(model.features))
    for number, layer in enumerate(model.layers):
        groups = bits if number == 0 else np.ones(model.layers[number - 1].nodes, dtype=np.int64)
        real += layer.nodes * len(groups)
        present = groups.sum() * layer.nodes if layer.mask is None else (layer.mask * groups).sum()
        hardware += int(present)
    return {
        "real": {"count": real, "bits": REAL_BITS * real},
        "hardware": {"count": hardware, "bits": hardware},
        "reduction": 1 - hardware / (REAL_BITS * real) if real else 0.0,
    }
