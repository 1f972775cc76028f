"""How both tasks train, save and load a machine, and what it decides for rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from scm_model import Model, evaluate
from scm_model.columns import column_names, has_default_names, in_memory, in_order
from scm_model.flags import novel_rows
from scm_train import model_file
from scm_train.algorithms import ALGORITHMS
from scm_train.cluster.run import as_array, train_distributed, train_families_distributed
from scm_train.data.clipping import clipped_columns, clipping_lines
from scm_train.data.fit_columns import ColumnRules
from scm_train.errors import ClippedWarning, DataError, ModelFileError, ParameterError
from scm_train.estimator_rows import TrainingRows, training_rows, with_test_rows
from scm_train.learner.parameters import LearnerParameters, defaults
from scm_train.training.flags import check_flags, flags_trainer
from scm_train.training.intervals import interval_trainer
from scm_train.training.parameters import DEFAULT_NODES, growth_of, input_bits_of
from scm_train.training.robust import check_loss, robust_trainer
from scm_train.training.run import TrainingTask, train_by_families, train_machine

_FLOATS = [np.float64, np.float32]


class Learner(LearnerParameters):
    """What the estimators have in common; for their parameters see :class:`LearnerParameters`.

    Attributes
    ----------
    machine_ : Model
        The trained machine.
    history_ : History
        Errors after every node, time per phase, nodes per layer, selected inputs.
    """

    _algorithm: ClassVar[str]
    _task: ClassVar[str]
    #: Ranges of features that don't follow from the rows, as those of taps.
    _input_range: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    #: Ranges of targets, likewise: of what something else leaves to be learned.
    _target_range: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def save(
        self,
        path: str | Path,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
    ) -> None:
        """Write the trained machine to a model file.

        ``X_test`` and ``y_test`` are test rows that travel along, on which a build compares
        hardware with the model. A pipeline is saved whole by :func:`scm_train.save`.
        """
        check_is_fitted(self)
        model_file.save(with_test_rows(self.machine_, X_test, y_test), path)

    @classmethod
    def load(
        cls, path: str | Path, mechanism: Callable[[NDArray], ArrayLike] | None = None
    ) -> Self:
        """A trained estimator from a model file that this learner wrote."""
        machine = model_file.load(path, mechanism)
        if (machine.algorithm, machine.task) != (cls._algorithm, cls._task):
            raise ModelFileError(
                f"model file must hold a {cls._task} model of {cls._algorithm}, "
                f"not a {machine.task} model of {machine.algorithm}; "
                "load it with scm_train.model_file.load"
            )
        settings = machine.info.get("settings", {})
        own = {k: _untupled(v) for k, v in settings.items() if k in cls._get_param_names()}
        estimator = cls(**own)
        estimator._adopt(machine)
        return estimator

    def _adopt(self, machine: Model) -> None:
        self.machine_ = machine
        self.history_ = machine.history
        self.n_features_in_ = len(machine.signals)
        # Frames are matched with the names of training after loading too.
        self._keep_names(None if has_default_names(machine) else machine.signals)

    def _keep_names(self, names: Sequence[str] | None) -> None:
        """Keep the names of the columns, or forget those of an earlier fit."""
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fit(self, task: TrainingTask, eval_set: tuple[NDArray, NDArray] | None) -> Self:
        parameters, train = self.get_params(deep=False), train_machine
        families = self._growth() == "families"
        if task.weights is not None and not families:
            raise ParameterError(
                "weights of rows and classes must be left out for growth by nodes; "
                "leave out what is asked for of single nodes, and it grows by families"
            )
        if families:
            train = train_by_families
        elif parameters["max_nodes"] == "auto":
            parameters["max_nodes"] = DEFAULT_NODES
        # Each trainer wraps the one before, the outermost holds its rows back first: what
        # calibrates flags is seen by nothing inside, and what calibrates an interval by no fit.
        algorithm, random = ALGORITHMS[self._algorithm], check_random_state(self.random_state)
        if check_loss(self.loss, self.readout == "logistic"):
            train = robust_trainer(train, families)
        if self.interval is not None:
            train = interval_trainer(train)
        if check_flags(parameters, self._task == "classification"):
            train = flags_trainer(train)
        self.machine_, self.history_ = train(algorithm, parameters, task, eval_set, random)
        return self

    def _training_rows(self, X: Any, y: ArrayLike, **how: Any) -> TrainingRows:
        rules = ColumnRules(() if self.categories is None else self.categories, self.missing)
        rows = training_rows(self, X, y, rules, self._code_bits(), **how)
        if self._input_range is not None:
            rows = replace(rows, input_range=self._input_range)
        return rows

    def _code_bits(self) -> int | str | None:
        if self._growth() == "families":
            return self.input_bits
        return input_bits_of(self.get_params(deep=False))

    def _growth(self) -> str:
        parameters = self.get_params(deep=False)
        return growth_of(ALGORITHMS[self._algorithm], parameters, defaults(), self._task)

    def _fit_distributed(self, X: Any, y: Any, eval_set: object) -> Self:
        """Train on Dask arrays or frames, whose rows stay on the workers of their cluster."""
        names, targets = column_names(X), column_names(y)
        if eval_set is not None and isinstance(eval_set, tuple | list) and len(eval_set) == 2:
            eval_set = tuple(
                as_array(in_order(one, own))
                for one, own in zip(eval_set, (names, targets), strict=True)
            )
        if self.interval is not None:
            raise ParameterError("interval must be None for rows on a cluster")
        if check_loss(self.loss, self.readout == "logistic"):
            raise ParameterError("loss must be 'squared_error' for rows on a cluster, not 'huber'")
        if self.unsure is not None or self.flags is not None:
            raise ParameterError("unsure and flags must be None for rows on a cluster")
        X, y = as_array(X), as_array(y)
        self._keep_names(names)
        self.n_features_in_ = X.shape[1]
        parameters, train = self.get_params(deep=False), train_distributed
        if self._growth() == "families":
            train = train_families_distributed
        elif parameters["max_nodes"] == "auto":
            parameters["max_nodes"] = DEFAULT_NODES
        self.machine_, self.history_ = train(
            ALGORITHMS[self._algorithm],
            parameters,
            X,
            y,
            eval_set,
            self._feature_names(),
            self._task == "classification",
            check_random_state(self.random_state),
        )
        return self

    def _decision(self, X: ArrayLike, depth: int = 0) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = in_memory(X)
        # Whatever else an array-like is asked for, scikit-learn's checks may refuse.
        if getattr(rows, "shape", (1,))[:1] == (0,) or (isinstance(rows, list) and not rows):
            raise DataError("rows to predict must be at least one, not none; check what chose them")
        if self.machine_.columns is None:
            rows = validate_data(self, rows, reset=False, dtype=_FLOATS)
        if clipped := clipped_columns(self.machine_, rows):
            # The stack level of the caller of `predict`, `depth` calls further out.
            warnings.warn("; ".join(clipping_lines(clipped)), ClippedWarning, stacklevel=3 + depth)
        return self.machine_.decision(rows)

    def is_novel(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows (n,) are unlike those of training; of a learner that has ``flags``."""
        check_is_fitted(self)
        flags = self.machine_.flags
        if flags is None or flags.novelty is None:
            raise ParameterError("flags must be set before fit for novel rows, such as flags=0.01")
        return novel_rows(flags.novelty, evaluate(self.machine_, in_memory(X)).hidden)

    def _feature_names(self) -> tuple[str, ...]:
        named = getattr(self, "feature_names_in_", None)
        if named is not None:
            return tuple(map(str, named))
        return tuple(f"x{i}" for i in range(self.n_features_in_))


def _untupled(value: Any) -> Any:
    """Undo what JSON does to tuples and to a mapping's whole-number keys."""
    if isinstance(value, list):
        return tuple(map(_untupled, value))
    if isinstance(value, Mapping):
        return {int(k): v for k, v in value.items()}
    return value
