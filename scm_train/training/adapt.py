"""What a core that was built with ``--adapt`` does on a stream, without the core."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import Model, codes, evaluate
from scm_model.adaptation import (
    AdaptiveReadout,
    AdaptSettings,
    adaptation_for,
    check_adaptable,
    controls_of,
    evaluation_errors,
    hidden_terms,
)
from scm_model.fixed_point import FixedPoint, fixed_output
from scm_model.precision import choose_fixed_point, choose_output_bits
from scm_train.errors import DataError

__all__ = ["Adapter"]


class Adapter:
    """A machine whose readout learns as hardware does, integer by integer.

    Its formats are those that ``build --adapt`` chooses for the same model file. ``error`` and
    ``drift`` (n,) belong to the rows that were predicted last: the running mean of the absolute
    error, in parts of the targets' ranges, and the drift flag.
    """

    def __init__(self, machine: Model, settings: AdaptSettings) -> None:
        check_adaptable(machine)
        self.machine, self.settings = machine, settings
        self.fixed: FixedPoint = choose_output_bits(machine, choose_fixed_point(machine))
        errors = evaluation_errors(machine, self.fixed)
        self.adaptation = adaptation_for(machine, self.fixed, settings, errors)
        self.readout = AdaptiveReadout(self.adaptation)
        self.error: NDArray[np.float64] = np.empty(0)
        self.drift: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)

    def run(
        self,
        X: ArrayLike,
        targets: NDArray[np.float64] | None,
        *,
        age: int = 0,
        freeze: bool = False,
        restart: bool = False,
    ) -> NDArray[np.float64]:
        """Predictions (n, m) in target units, each before its target (n, m) is learned from."""
        machine, own = self.machine, self.adaptation
        activity = evaluate(machine, X)
        count = len(activity.output)
        if not 0 <= age <= own.most_age:
            raise DataError(f"age must be in [0, {own.most_age}], not {age}; raise delay")
        words = None
        if targets is not None:
            if targets.shape != (count, machine.outputs) or not np.isfinite(targets).all():
                raise DataError(
                    f"targets must be {count} rows of {machine.outputs} finite numbers, "
                    f"not {targets.shape}"
                )
            span = machine.target_max - machine.target_min
            words = own.target_words((targets - machine.target_min) / span)
        controls = controls_of(own, count, words, age=age, freeze=freeze, restart=restart)
        trained = fixed_output(machine, self.fixed, activity, codes(machine, X))
        answers = self.readout.run(hidden_terms(machine, activity), trained, controls)
        unit = 2.0**-own.grid_bits
        self.error, self.drift = answers.error * unit, answers.drift == 1
        return machine.target_min + (machine.target_max - machine.target_min) * (
            answers.outputs * unit
        )
