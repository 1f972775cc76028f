"""The readout by recursive least squares: better with every block of rows, which is not kept.

Of all rows so far, the newest last and with targets t_i, it is the readout that minimises

    sum_i forgetting**(n - i) |h_i beta - t_i|**2 + prior |beta - beta_trained|**2

What is kept is the triangular factor R of the weighed outputs with R change = z. A block is taken
in by a QR decomposition of R and the block, one above the other. This square-root form never
squares a condition number, as normal equations and updates of an inverse do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from scm_model import Model, evaluate
from scm_train.errors import DataError, ParameterError
from scm_train.training.refit import changed, check_refit, normalised_targets, weighed

__all__ = ["FORGETTING", "PRIOR", "RecursiveReadout"]

FORGETTING = 1.0
#: Weight of a coefficient's squared distance from the trained one; a row's squared error has 1.
PRIOR = 1e-1


class RecursiveReadout:
    """What all rows so far say of the readout of a machine, whose nodes stay.

    Parameters
    ----------
    machine : Model
        Whose readout the prior holds to; without bounds, memory or a mechanism from outside.
    forgetting : float
        The weight of a row when the next comes, in (0, 1]: about `1 / (1 - forgetting)` rows count.
    prior : float
        Above 0: it decides what the rows say nothing of.
    """

    def __init__(self, machine: Model, forgetting: float = FORGETTING, prior: float = PRIOR):
        check_refit(machine)
        for name, value, rule, good in (
            ("forgetting", forgetting, "above 0 and at most 1", 0 < forgetting <= 1),
            ("prior", prior, "a number above 0", np.isfinite(prior) and prior > 0),
        ):
            if not good:
                raise ParameterError(f"{name} must be {rule}, not {value!r}")
        self.machine, self.forgetting, self.prior = machine, forgetting, prior
        families = machine.families
        self._first = len(machine.readout) - families.nodes if families is not None else 0
        unknowns = len(machine.readout) - self._first + 1
        # The intercept follows the rows.
        pull = np.full(unknowns, np.sqrt(prior))
        pull[-1] = 0.0
        self._pull = np.diag(pull)
        self._factor = self._pull.copy()
        self._right = np.zeros((unknowns, machine.outputs))

    def update(self, X: ArrayLike, targets: NDArray[np.float64]) -> Model:
        """The machine with the readout of all rows so far; these have raw targets (n, m)."""
        wanted = normalised_targets(self.machine, targets)
        activity = evaluate(self.machine, X)
        count = len(activity.output)
        if count != len(wanted) or not count:
            raise DataError(f"rows must have a target each, not {count} rows and {len(wanted)}")
        unknowns = len(self._factor) - 1
        outputs = weighed(activity, slice(None), self._first, unknowns)
        # The root of what each row still counts when the block is over, and of all before it.
        weights = np.sqrt(self.forgetting ** np.arange(count - 1, -1, -1))[:, None]
        before = np.sqrt(self.forgetting**count)
        left, right = [before * self._factor], [before * self._right]
        if self.forgetting < 1.0:
            # The prior doesn't fade: what is forgotten of it comes back.
            left.append(np.sqrt(1.0 - self.forgetting**count) * self._pull)
            right.append(np.zeros_like(self._right))
        left.append(weights * outputs)
        right.append(weights * (wanted - activity.output))
        # R of both side by side has the new factor, and beside it the new right-hand side.
        whole = np.linalg.qr(np.hstack([np.vstack(left), np.vstack(right)]), mode="r")
        self._factor = whole[: unknowns + 1, : unknowns + 1]
        self._right = whole[: unknowns + 1, unknowns + 1 :]
        return changed(self.machine, solve_triangular(self._factor, self._right))
