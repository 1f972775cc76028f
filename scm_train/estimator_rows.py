"""Rows as estimators are given them, checked, and as numbers where they are more than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_X_y, validate_data

from scm_model import Columns, Model
from scm_model.columns import column_names
from scm_model.scaling import to_unit
from scm_train import model_file
from scm_train.data.fit_columns import ColumnRules, fit_columns, needs_columns
from scm_train.encode.resolution import LEAST_BITS, SAMPLE_ROWS, sufficient_bits
from scm_train.errors import DataError, ParameterError
from scm_train.evaluation.scores import class_indices

__all__ = ["TrainingRows", "further_rows", "target_names", "training_rows", "with_test_rows"]

_FLOATS = [np.float64, np.float32]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features (n, d) and targets as training takes them; what the features are made of."""

    x: NDArray
    y: NDArray
    names: tuple[str, ...] | None = None
    columns: Columns | None = None
    input_range: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    #: Bits of a code; None without quantisation.
    bits: int | None = None


def training_rows(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    rules: ColumnRules,
    bits: int | str | None,
    *,
    labels: bool = False,
    **how: Any,
) -> TrainingRows:
    """The rows of ``fit``; the estimator learns names and number of its columns.

    ``bits`` are those of a code, "auto" as many as tell the rows apart; ``labels`` says that
    targets are classes, and ``how`` is what scikit-learn checks of them.
    """
    if not needs_columns(X, rules):
        x, y = validate_data(estimator, X, y, dtype=_FLOATS, ensure_min_samples=2, **how)
        return TrainingRows(x, y)
    check_consistent_length(X, y)
    # The targets alone: inputs may have labels and gaps, which scikit-learn would refuse.
    _, y = check_X_y(np.zeros((len(X), 1)), y, ensure_min_samples=2, **how)
    named = column_names(X)
    width = X.shape[1] if hasattr(X, "shape") else np.asarray(X).shape[1]
    names = tuple(f"x{i}" for i in range(width)) if named is None else named
    estimator._keep_names(named)
    estimator.n_features_in_ = width
    columns, read = fit_columns(X, _targets_of(y, labels), names, rules)
    if bits == "auto":
        bits = _sufficient_bits(columns, read)
    low, high = columns.ranges(read, bits)
    x = columns.expand(read, low, high, bits)
    return TrainingRows(x, y, columns.feature_names, columns, (low, high), bits)


def _sufficient_bits(columns: Columns, read: NDArray[np.float64]) -> int:
    some = read[:: -(-len(read) // SAMPLE_ROWS)]
    low, high = columns.ranges(read, LEAST_BITS)
    return sufficient_bits(to_unit(columns.expand(some, low, high, LEAST_BITS), low, high))


def further_rows(
    estimator: Any, X: Any, y: ArrayLike, rows: TrainingRows, **how: Any
) -> tuple[NDArray, NDArray]:
    """Rows of the same columns as those of training, beside them."""
    if rows.columns is None or rows.input_range is None:
        return validate_data(estimator, X, y, reset=False, dtype=_FLOATS, **how)
    check_consistent_length(X, y)
    _, y = check_X_y(np.zeros((len(X), 1)), y, **how)
    return rows.columns.expand(rows.columns.read(X), *rows.input_range, rows.bits), y


def _targets_of(y: NDArray[Any], labels: bool) -> NDArray[np.float64]:
    """Targets (n, m) by which values can be ordered; of labels, 1 for each class's own rows."""
    if not labels:
        return y.reshape(len(y), -1).astype(np.float64)
    classes, indices = np.unique(y, return_inverse=True)
    found = np.zeros((len(y), len(classes)))
    found[np.arange(len(y)), indices] = 1.0
    return found


def with_test_rows(machine: Model, X_test: ArrayLike | None, y_test: ArrayLike | None) -> Model:
    """The machine carrying test rows and their scores' origin."""
    if (X_test is None) != (y_test is None):
        raise ParameterError("X_test and y_test must be given both, or neither")
    if X_test is None or y_test is None:
        return machine
    y = np.asarray(y_test)
    if len(y) != len(np.asarray(X_test)):
        raise DataError(f"y_test must have a target for each row of X_test, not {len(y)}")
    targets = (
        class_indices(machine, y) if machine.is_classifier else y.reshape(len(y), -1).astype(float)
    )
    if not machine.is_classifier and targets.shape[1] != machine.points:
        raise DataError(f"y_test must have {machine.points} targets, not {targets.shape[1]}")
    some = slice(None, None, max(1, -(-len(y) // model_file.MAX_EVALUATION_ROWS)))
    rows = X_test.iloc[some] if hasattr(X_test, "iloc") else _rows(X_test, some)
    return machine.with_evaluation(rows, targets[some])


def _rows(X: Any, some: slice) -> Any:
    return X[some] if hasattr(X, "shape") else np.asarray(X)[some]


def target_names(y: Any, count: int) -> tuple[str, ...]:
    """The names that targets have in a frame or series; y, or y0, y1, ... without."""
    named = column_names(y)
    if named is None and isinstance(getattr(y, "name", None), str):
        named = (y.name,)
    if named is not None and len(named) == count and all(named) and len(set(named)) == count:
        return named
    return ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))
