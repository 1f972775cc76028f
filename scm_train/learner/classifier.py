"""The learner of classes."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from scm_model import Model, classes_of
from scm_model.flags import margins, unsure_rows
from scm_train.cluster.run import is_distributed
from scm_train.data.eval_set import check_pair
from scm_train.errors import DataError, ParameterError
from scm_train.estimator_rows import TrainingRows, further_rows
from scm_train.evaluation.scores import class_indices
from scm_train.families.losses import probabilities
from scm_train.learner.base import Learner
from scm_train.learner.weights import check_no_weights, row_weights
from scm_train.training.refit import refit
from scm_train.training.run import TrainingTask

#: Log-odds for each unit of an output that was fitted to indicators.
INDICATOR_SLOPE = 4.0


class Classifier(ClassifierMixin, Learner):
    """Learns one target per class, 1 for its rows and 0 for others; the largest output wins."""

    _task = "classification"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on ``X`` (n, d) and labels ``y`` (n,) of any type.

        ``eval_set``: rows to validate on, ``(X, y)``, instead of some of the training rows.
        ``sample_weight``: what each row counts, for growth by families.
        """
        check_pair(eval_set)
        if self.interval is not None:
            raise ParameterError(
                f"interval must be None for classes, not {self.interval!r}; it is for targets"
            )
        if self.loss != "squared_error":
            raise ParameterError(
                f"loss must be 'squared_error' for classes, not {self.loss!r}; 'huber' is for "
                "targets"
            )
        if is_distributed(X):
            check_no_weights(sample_weight, self.class_weight)
            self._fit_distributed(X, y, eval_set)
            self.classes_ = self.machine_.labels
            return self
        rows = self._training_rows(X, y, labels=True)
        X, y = rows.x, rows.y
        check_classification_targets(y)
        self.classes_, indices = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"labels must be of at least two classes, not of one class {self.classes_[0]!r}"
            )
        count = len(self.classes_)
        task = TrainingTask(
            x=X,
            # Indicators are in [0, 1] as they are, and the range below leaves them so.
            y=_indicators(indices, count),
            target_min=np.zeros(count),
            target_max=np.ones(count),
            feature_names=rows.names or self._feature_names(),
            target_names=tuple(map(str, self.classes_.tolist())),
            classes=tuple(self.classes_.tolist()),
            weights=row_weights(X, sample_weight, self._class_weights(indices)),
            columns=rows.columns,
            input_range=rows.input_range,
            input_bits=rows.bits,
        )
        return self._fit(task, self._evaluation(eval_set, rows))

    def _class_weights(self, indices: NDArray) -> NDArray[np.float64] | None:
        """What each row counts for its class."""
        if self.class_weight is None:
            return None
        weights = compute_sample_weight(self.class_weight, self.classes_[indices])
        return np.asarray(weights, dtype=np.float64)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs (n, classes); for two classes the second less the first, (n,)."""
        outputs = self._decision(X)
        if outputs.shape[1] == 1:
            return outputs[:, 0]
        return outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs

    def margin(self, X: ArrayLike) -> NDArray[np.float64]:
        """By how much the answer leads the next best one, (n,)."""
        return margins(self._decision(X))

    def is_unsure(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which answers (n,) are unsure; of a classifier that has ``unsure``."""
        check_is_fitted(self)
        flags = self.machine_.flags
        if flags is None or flags.unsure is None:
            raise ParameterError("unsure must be set before fit for that, such as unsure=0.05")
        return unsure_rows(flags.unsure, self._decision(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities (n, classes).

        Families are fitted to logarithmic loss, and their outputs are log-odds. Single nodes are
        fitted to indicators, 1 for the class and 0 for the others, unless ``readout`` is
        "logistic": their probabilities, by a fixed slope, have the order of the outputs, no more.
        """
        # First, as it refuses an estimator that has not been fitted, which has no slope.
        outputs = self._decision(X)
        return probabilities(self.probability_slope * outputs.T).T

    @property
    def probability_slope(self) -> float:
        """What ``predict_proba`` multiplies the outputs by, to have log-odds."""
        settings = self.machine_.info.get("settings", {})
        log_odds = self.machine_.families is not None or settings.get("readout") == "logistic"
        return 1.0 if log_odds else INDICATOR_SLOPE

    def predict(self, X: ArrayLike) -> NDArray:
        """Labels (n,)."""
        winners = classes_of(self._decision(X))
        return self.classes_[winners]

    def _evaluation(
        self, eval_set: tuple[ArrayLike, ArrayLike] | None, rows: TrainingRows
    ) -> tuple[NDArray, NDArray] | None:
        if eval_set is None:
            return None
        X, y = further_rows(self, *eval_set, rows)
        unknown = set(np.unique(y)) - set(self.classes_)
        if unknown:
            raise DataError(
                f"labels of eval_set must be among those of training, not {sorted(unknown)[0]!r}"
            )
        return X, _indicators(np.searchsorted(self.classes_, y), len(self.classes_))

    def refit(self, X: ArrayLike, y: ArrayLike, ridge: float | str = "auto") -> Self:
        """Fit the readout again on other rows and labels of the classes there are; the nodes stay.

        ``ridge`` holds it to the one that is there, for each row; "auto" chooses it by rows that
        are held back.
        """
        check_is_fitted(self)
        self.machine_ = refit(self.machine_, X, class_indices(self.machine_, np.asarray(y)), ridge)
        return self

    def _adopt(self, machine: Model) -> None:
        super()._adopt(machine)
        self.classes_ = machine.labels


def _indicators(indices: NDArray, count: int) -> NDArray[np.float64]:
    indicators = np.zeros((len(indices), count))
    indicators[np.arange(len(indices)), indices] = 1.0
    return indicators
