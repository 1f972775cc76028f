"""Backward removal: which nodes of a layer pay least, one after the other.

With ``A = H^T H + ridge I`` and the readout ``b = A^-1 H^T T``, leaving out node j raises the least
value of ``|H b - T|^2 + ridge |b|^2`` by ``|b_j|^2 / (A^-1)_jj``, exactly. Both follow a removal by
an update of rank one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["without_least_useful"]

Floats = NDArray[np.float64]


def without_least_useful(
    factor: Floats, moments: Floats, ridge: float, first: int, count: int
) -> list[int]:
    """The nodes that stay when ``count`` of those from ``first`` on have been removed.

    ``factor^T factor`` is ``H^T H`` and ``factor^T moments`` is ``H^T T``; ``ridge`` is positive.
    """
    assert ridge > 0
    nodes = factor.shape[1]
    inverse = np.linalg.inv(factor.T @ factor + ridge * np.eye(nodes))
    readout = inverse @ (factor.T @ moments)
    stay = list(range(nodes))
    for _ in range(count):
        own = np.array(stay[first:])
        cost = np.square(readout[own]).sum(axis=1) / inverse[own, own]
        worst = int(own[np.argmin(cost)])
        # The inverse of A without row and column j is A^-1 less its column j times its row j by its
        # diagonal entry (block inversion). Row and column j become 0 and are not looked at again.
        share = inverse[:, worst] / inverse[worst, worst]
        readout -= np.outer(share, readout[worst])
        inverse -= np.outer(share, inverse[worst])
        stay.remove(worst)
    return stay
