"""The linear part beside families: few inputs, and weights of few signed binary digits.

A weight of three such digits is three shifted additions in gates. Inputs join in the order in which
they explain the targets (orthogonal forward selection), as long as each takes a share of what is
left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["few_digits", "fit_few_inputs"]

Floats = NDArray[np.float64]

#: Of each input's variance, so that inputs that nearly repeat others get no huge weights.
RIDGE = 1e-3
#: Share of the variance that is left which an input has to take away.
LEAST_GAIN = 0.003
DIGITS = 3


def fit_few_inputs(x: Floats, target: Floats, weights: Floats, most: int) -> tuple[Floats, float]:
    """Weights (inputs,), most of them 0, and the intercept, for one target (rows,)."""
    share = weights / weights.sum()
    middle = share @ x
    centred = x - middle
    gram = (centred * share[:, None]).T @ centred
    cross = (centred * share[:, None]).T @ (target - share @ target)
    left = float(share @ (target - share @ target) ** 2)
    chosen = _chosen(gram, cross, left, most)
    found = np.zeros(x.shape[1])
    if chosen:
        found[chosen] = _solved(gram, chosen, cross)
    found = np.array([few_digits(weight) for weight in found])
    # The intercept belongs to the rounded weights, so that the mean error is still 0.
    return found, float(share @ target - middle @ found)


def _chosen(gram: Floats, cross: Floats, left: float, most: int) -> list[int]:
    variances = np.diag(gram).copy()
    chosen: list[int] = []
    while len(chosen) < most:
        rest_cross, rest_variance = cross, variances
        if chosen:
            # What the inputs chosen so far leave of every other input, and of the target.
            taken = _solved(gram, chosen, np.column_stack([cross, gram]))
            rest_cross = cross - gram[:, chosen] @ taken[:, 0]
            rest_variance = variances - np.einsum("ij,ji->i", gram[:, chosen], taken[:, 1:])
        # An input that is constant, or nearly a sum of those chosen, has only rounding left to
        # divide by.
        usable = rest_variance > 1e-4 * variances + 1e-12
        # What an input takes off the variance: the squared covariance with what is left of the
        # target by its own variance, both outside the span of those chosen.
        gain = np.where(usable, rest_cross**2 / np.maximum(rest_variance, 1e-12), 0.0)
        gain[chosen] = 0.0
        best = int(np.argmax(gain))
        if gain[best] <= 0 or gain[best] < LEAST_GAIN * left:
            break
        chosen.append(best)
        left -= float(gain[best])
    return chosen


def _solved(gram: Floats, chosen: list[int], right: Floats) -> Floats:
    own = gram[np.ix_(chosen, chosen)]
    return np.linalg.solve(own + RIDGE * np.diag(np.diag(own)), right[chosen])


def few_digits(weight: float, digits: int = DIGITS) -> float:
    """The nearest sum of a few signed powers of two, greedily."""
    found = 0.0
    for _ in range(digits):
        rest = weight - found
        if rest == 0:
            break
        # Powers of two change over at 3/4 of the larger, where both are as far away.
        found += float(np.copysign(2.0 ** np.floor(np.log2(abs(rest) * 4 / 3)), rest))
    return found
