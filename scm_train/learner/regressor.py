"""The learner of real targets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from scm_model import Model
from scm_model.adaptation import DEFAULT_STEP, AdaptSettings
from scm_model.columns import column_names, in_order
from scm_train.cluster.run import is_distributed
from scm_train.data.eval_set import check_pair
from scm_train.errors import DataError, ParameterError
from scm_train.estimator_rows import TrainingRows, further_rows, target_names
from scm_train.learner.base import Learner
from scm_train.learner.weights import check_no_weights, row_weights
from scm_train.training.adapt import Adapter
from scm_train.training.recursive import FORGETTING, PRIOR, RecursiveReadout
from scm_train.training.refit import refit
from scm_train.training.robust import find_outliers
from scm_train.training.run import TrainingTask


class Regressor(RegressorMixin, Learner):
    """Learns one real target or several.

    With ``loss="huber"``, ``history_.outliers`` has the rows whose targets lie far off.
    """

    _task = "regression"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on ``X`` (n, d) and ``y`` (n,) or (n, m).

        ``eval_set``: rows to validate on, ``(X, y)``, instead of some of the training rows.
        ``sample_weight``: what each row counts, for growth by families.
        """
        check_pair(eval_set)
        if self.class_weight is not None:
            raise ParameterError(
                f"class_weight must be None for targets, not {self.class_weight!r}"
            )
        if is_distributed(X):
            check_no_weights(sample_weight)
            self._single = y.ndim == 1
            return self._fit_distributed(X, y, eval_set)
        if eval_set is not None:
            eval_set = (eval_set[0], in_order(eval_set[1], column_names(y)))
        given, rows = y, self._training_rows(X, y, multi_output=True, y_numeric=True)
        X, y = rows.x, rows.y
        self._single = y.ndim == 1
        targets = y.reshape(len(y), -1)
        low, high = targets.min(axis=0).astype(float), targets.max(axis=0).astype(float)
        if self._target_range is not None:
            low, high = self._target_range
        task = TrainingTask(
            x=X,
            y=targets,
            target_min=low,
            # A constant target has no range to scale by; any will do.
            target_max=np.where(high > low, high, low + np.maximum(1.0, np.spacing(np.abs(low)))),
            feature_names=rows.names or self._feature_names(),
            target_names=target_names(given, len(low)),
            weights=row_weights(X, sample_weight),
            columns=rows.columns,
            input_range=rows.input_range,
            input_bits=rows.bits,
        )
        self._fit(task, self._evaluation(eval_set, rows, targets.shape[1]))
        if self.loss == "huber":
            self.history_.outliers = find_outliers(self.machine_, X, targets)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Targets in their own units, (n,) or (n, m) as in training."""
        y = self._raw(X)[:, : self.machine_.points]
        return y[:, 0] if self._single else y

    def predict_interval(self, X: ArrayLike) -> NDArray[np.float64]:
        """Lower and upper bounds, (n, 2) or (n, m, 2); for a regressor that has an ``interval``."""
        check_is_fitted(self)
        if self.machine_.level is None:
            raise ParameterError("interval must be set before fit for bounds, such as interval=0.9")
        found = self._raw(X)[:, self.machine_.points :]
        return found if self._single else found.reshape(len(found), -1, 2)

    def _raw(self, X: ArrayLike) -> NDArray[np.float64]:
        """All outputs in the units of the targets."""
        machine_units = self._decision(X, depth=1)
        span = self.machine_.target_max - self.machine_.target_min
        return np.asarray(self.machine_.target_min + span * machine_units)

    def _evaluation(
        self, eval_set: tuple[ArrayLike, ArrayLike] | None, rows: TrainingRows, outputs: int
    ) -> tuple[NDArray, NDArray] | None:
        if eval_set is None:
            return None
        X, y = further_rows(self, *eval_set, rows, multi_output=True, y_numeric=True)
        targets = y.reshape(len(y), -1)
        if targets.shape[1] != outputs:
            raise DataError(
                f"targets of eval_set must be {outputs} per row as in training, "
                f"not {targets.shape[1]}"
            )
        return X, targets

    def refit(self, X: ArrayLike, y: ArrayLike, ridge: float | str = "auto") -> Self:
        """Fit the readout again on other rows, (n, d) and (n,) or (n, m); the nodes stay.

        ``ridge`` holds it to the one that is there, for each row; "auto" chooses it by rows that
        are held back.
        """
        check_is_fitted(self)
        targets = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        self.machine_ = refit(self.machine_, X, targets, ridge)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        forgetting: float = FORGETTING,
        prior: float = PRIOR,
    ) -> Self:
        """Fit the readout by recursive least squares on one more block of rows; the nodes stay.

        The first call on an estimator that has not been fitted is :meth:`fit`. The readout is then
        that of all rows given here so far, of which one counts ``forgetting`` times less with each
        that comes after it; ``prior`` holds it to the readout of :meth:`fit`. Both are those of the
        first call. The result can be saved, and loaded into a board of ``--reload readout``.
        """
        if not hasattr(self, "machine_"):
            return self.fit(X, y)
        if self.machine_.columns is None:
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        known = getattr(self, "_recursive", None)
        # Another machine, by fit or refit, has another readout to start from.
        if known is None or self.machine_ is not known[1]:
            known = RecursiveReadout(self.machine_, forgetting, prior), self.machine_
        targets = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        self.machine_ = known[0].update(X, targets)
        self._recursive = known[0], self.machine_
        return self

    def adapt(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        step: int = DEFAULT_STEP,
        leak: int | None = None,
        delay: int = 0,
        age: int = 0,
        freeze: bool = False,
        restart: bool = False,
    ) -> NDArray[np.float64]:
        """Predict rows in order and learn from their targets, as a core of ``--adapt`` does.

        The integers are those of the core that ``build --adapt`` makes of the same model file with
        the same ``step``, ``leak`` and ``delay`` (``--adapt-step``, ``--adapt-leak``,
        ``--adapt-delay``). Each row is predicted before its target is learned from. What was
        learned stays for the next call, until ``restart`` or other settings; ``machine_`` is not
        changed. With ``age`` the targets are those of the rows ``age`` before; ``freeze`` watches
        the error alone. ``adapter_`` has the running error and the drift flag of each row.
        """
        check_is_fitted(self)
        settings = AdaptSettings(step, leak, delay)
        known = getattr(self, "adapter_", None)
        # What was learned is in the formats of one machine and its settings.
        if known is None or known.settings != settings or known.machine is not self.machine_:
            self.adapter_ = Adapter(self.machine_, settings)
        targets = None if y is None else np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        found = self.adapter_.run(X, targets, age=age, freeze=freeze, restart=restart)
        return found[:, 0] if self._single else found

    def _adopt(self, machine: Model) -> None:
        super()._adopt(machine)
        self._single = machine.points == 1
