"""How many weights there are and what they take, as in the paper's table for the FPGA."""

from __future__ import annotations

from typing import Any

from scm_model import Model, storage_of


def weights(model: Model) -> dict[str, Any]:
    """Weights of the same machine with real numbers, and the signs that hardware keeps instead.

    A feature coded in `b` bits has `b` signs for each node where the real machine has one weight.
    Connections that selective nodes leave out have no sign; the real machine has them all.
    """
    found = storage_of(model)
    signs = found.binary_bits
    return {
        "real": {"count": found.real_weights, "bits": found.real_bits},
        "hardware": {"count": signs, "bits": signs},
        "reduction": found.reduction,
    }
