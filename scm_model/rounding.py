"""Coefficients as integers: each to its nearest, or all of them jointly.

Joint rounding looks at what the coefficients do together on some rows: one is rounded, and those
that are still real take up its error as well as they can, before the next is rounded (Babai's
nearest plane). Nodes that often agree make up for each other's errors, so fewer fraction bits do.
Only inputs of the rows are looked at, no targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_model.model import Model
from scm_model.reference import Activity
from scm_model.scaling import Floats

# Of each coefficient's own square, so that none drifts far off where the rows say little of it.
RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Rounded:
    """Integers in units of 2**-frac_bits, and the constant that goes with them, still real."""

    readout: NDArray[np.int64]
    linear: NDArray[np.int64]
    constant: Floats


def bit_values(model: Model) -> tuple[Floats, Floats]:
    """What each hidden node outputs with its bit set, and with its bit clear."""
    low = [-1.0 if layer.activation == "sign" else 0.0 for layer in model.layers]
    off = np.repeat(low, [layer.nodes for layer in model.layers]) if low else np.empty(0)
    return np.ones(len(off)), off


def nearest(model: Model, frac_bits: int) -> Rounded:
    """Every coefficient to its nearest integer."""
    on, off = bit_values(model)
    scale = 2.0**frac_bits
    return Rounded(
        np.rint((on - off)[:, None] * model.readout * scale).astype(np.int64),
        np.rint(model.linear * scale).astype(np.int64),
        model.intercept + off @ model.readout,
    )


class JointRounding:
    """Rounds the coefficients of a model for what they do together on some rows."""

    def __init__(self, model: Model, activity: Activity) -> None:
        self.model = model
        on, off = bit_values(model)
        self.real = np.vstack(
            [
                (model.intercept + off @ model.readout)[None],
                model.linear,
                (on - off)[:, None] * model.readout,
            ]
        )
        bits = (activity.hidden > 0).astype(np.float64)
        does = np.hstack([np.ones((len(bits), 1)), activity.x, bits])
        # The mean square of what errors of the coefficients do on the rows is error^T products
        # error.
        self.products = does.T @ does / len(does)
        self.products[np.diag_indices_from(self.products)] += RIDGE
        self._factors: dict[bytes, NDArray[np.floating]] = {}

    def rounded(self, frac_bits: int) -> Rounded:
        outputs = [self._output(column, 2.0**frac_bits) for column in self.real.T]
        constant, chosen = np.array([o[0] for o in outputs]), np.array([o[1:] for o in outputs]).T
        features = len(self.model.linear)
        integers = np.rint(chosen * 2.0**frac_bits).astype(np.int64)
        return Rounded(integers[features:], integers[:features], constant)

    def _factor(self, kept: NDArray[np.intp]) -> NDArray[np.floating]:
        """The triangular factor of some coefficients' products; most outputs keep the same."""
        key = kept.tobytes()
        if key not in self._factors:
            self._factors[key] = np.linalg.cholesky(self.products[np.ix_(kept, kept)]).T
        return self._factors[key]

    def _output(self, real: Floats, scale: float) -> Floats:
        """The coefficients of one output on their grid, all but the constant, which comes first.

        What is zero stays zero: there is no hardware for it.
        """
        kept = np.flatnonzero(real)
        kept = kept if kept[:1] == [0] else np.concatenate([[0], kept])
        factor = self._factor(kept)
        error = np.zeros(len(kept))
        # From the last to the first, as the factor is upper triangular: the errors of those rounded
        # already are known, and the next one is moved by what it can make up for.
        for place in range(len(kept) - 1, -1, -1):
            wanted = (
                real[kept[place]]
                + factor[place, place + 1 :] @ error[place + 1 :] / factor[place, place]
            )
            # The constant comes last and stays real: it is on a finer grid, and takes up what is
            # left.
            chosen = np.rint(wanted * scale) / scale if place else wanted
            error[place] = real[kept[place]] - chosen
        result = np.zeros(len(real))
        result[kept] = real[kept] - error
        return result
