"""Models with all that stands before them: scikit-learn's steps folded into columns and ranges.

A pipeline's scalers, imputers and one-hot encoders are functions of single columns. Each scaled
number is its column over another range, each one-hot bit an indicator of its category: so the whole
pipeline is one model of raw rows. What can't be folded is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from scm_model import Column, Columns, Feature, Model
from scm_model.raw_columns import FULL_RANGE, IS_MISSING, VALUE, label_of
from scm_train import model_file
from scm_train.errors import ParameterError
from scm_train.estimator_rows import with_test_rows
from scm_train.learner import Learner

__all__ = ["machine_of", "save"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Seen:
    """A feature of a step: ``scale * raw + offset`` of a column, where raw is its number, or 1 for
    one code of a category or for a missing value."""

    column: int
    scale: float = 1.0
    offset: float = 0.0
    what: int = VALUE
    #: In place of a missing number, in the units of the column.
    fill: float | None = None


def save(
    model: Learner | Pipeline,
    path: str | Path,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
) -> None:
    """Write a trained estimator, or a pipeline that ends in one, to a model file.

    The file takes rows as the pipeline does. ``X_test`` and ``y_test`` travel along, for a build to
    compare hardware with.
    """
    model_file.save(with_test_rows(machine_of(model), X_test, y_test), path)


def machine_of(model: Learner | Pipeline) -> Model:
    """The machine of an estimator, or of a pipeline with its steps folded into it."""
    check_is_fitted(model)
    if isinstance(model, Learner):
        return model.machine_
    if not isinstance(model, Pipeline) or not isinstance(model[-1], Learner):
        raise ParameterError(
            f"model must be an estimator of scm_train or a pipeline that ends in one, "
            f"not {type(model).__name__}"
        )
    machine = model[-1].machine_
    if machine.columns is not None:
        raise ParameterError(
            "pipeline can't be saved whole: its last step has categories or missing values of its "
            "own; leave the steps before it out, which it doesn't need"
        )
    if machine.mechanism.kind == "external":
        raise ParameterError(
            "pipeline can't be saved whole: a mechanism outside of the model takes transformed "
            "inputs; give the estimator raw inputs"
        )
    count = int(model.n_features_in_)
    folding = _Folding(count)
    seen = [_Seen(i) for i in range(count)]
    for name, step in model.steps[:-1]:
        seen = folding.through(name, step, seen)
    names = tuple(map(str, getattr(model, "feature_names_in_", [f"x{i}" for i in range(count)])))
    return folding.folded(machine, names, seen)


class _Folding:
    """Raw columns; one-hot encoders and imputers decide what they are."""

    def __init__(self, count: int) -> None:
        self.columns = [Column() for _ in range(count)]

    def through(self, name: str, step: Any, seen: Sequence[_Seen]) -> list[_Seen]:
        """What comes out of a step."""
        match step:
            case None | "passthrough":
                return list(seen)
            case "drop":
                return []
            case Pipeline():
                for inner, one in step.steps:
                    seen = self.through(f"{name}.{inner}", one, seen)
                return list(seen)
            case ColumnTransformer():
                return self._columns(name, step, seen)
            case SimpleImputer():
                return self._imputed(name, step, seen)
            case OneHotEncoder():
                return self._one_hot(name, step, seen)
        return self._scaled(name, step, seen)

    def _scaled(self, name: str, step: Any, seen: Sequence[_Seen]) -> list[_Seen]:
        ones, zeros = np.ones(len(seen)), np.zeros(len(seen))
        # Subclasses may do more than their base.
        match type(step).__name__, step:
            case "StandardScaler", StandardScaler():
                scale = 1 / (ones if step.scale_ is None else step.scale_)
                offset = -scale * (step.mean_ if step.with_mean else zeros)
            case "RobustScaler", RobustScaler():
                scale = 1 / (step.scale_ if step.with_scaling else ones)
                offset = -scale * (step.center_ if step.with_centering else zeros)
            case "MinMaxScaler", MinMaxScaler() if not step.clip:
                scale, offset = step.scale_, step.min_
            case "MaxAbsScaler", MaxAbsScaler():
                scale, offset = 1 / step.scale_, zeros
            case _:
                raise _refusal(name, step, "it is no scaler, imputer or one-hot encoder")
        return [
            # a (scale x + offset) + b: steps that are linear in one column stay so together.
            replace(one, scale=float(one.scale * a), offset=float(one.offset * a + b))
            for one, a, b in zip(seen, scale, offset, strict=True)
        ]

    def _imputed(self, name: str, step: SimpleImputer, seen: Sequence[_Seen]) -> list[_Seen]:
        if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
            raise _refusal(name, step, "it fills in other values than NaN")
        found = []
        for one, value in zip(seen, step.statistics_, strict=True):
            if isinstance(value, str):
                raise _refusal(name, step, "it fills in text; the estimators take missing labels")
            if one.what != VALUE:
                raise _refusal(name, step, "it comes after a one-hot encoder")
            if one.fill is None:
                one = replace(one, fill=float((value - one.offset) / one.scale))
            # A column without any value is dropped by it.
            if not np.isnan(value):
                found.append(one)
        flagged = [] if step.indicator_ is None else step.indicator_.features_.tolist()
        return found + [_Seen(seen[i].column, what=IS_MISSING) for i in flagged]

    def _one_hot(self, name: str, step: OneHotEncoder, seen: Sequence[_Seen]) -> list[_Seen]:
        if step.handle_unknown == "infrequent_if_exist" or (
            step.min_frequency is not None or step.max_categories is not None
        ):
            raise _refusal(name, step, "it joins rare categories; the estimators do that as well")
        found = []
        dropped = [None] * len(seen) if step.drop_idx_ is None else step.drop_idx_
        for one, labels, left_out in zip(seen, step.categories_, dropped, strict=True):
            if one != _Seen(one.column):
                raise _refusal(name, step, "it comes after a step that changes its columns")
            values = tuple(label_of(label) for label in labels.tolist())
            if len(set(values)) < len(values):
                raise _refusal(name, step, "it has labels that are one as text")
            other = len(values) if step.handle_unknown != "error" else None
            self._tell(name, step, one.column, Column(values=values, other=other))
            found += [_Seen(one.column, what=k) for k in range(len(values)) if k != left_out]
        return found

    def _columns(self, name: str, step: ColumnTransformer, seen: Sequence[_Seen]) -> list[_Seen]:
        found: list[_Seen] = []
        if step.transformer_weights:
            raise _refusal(name, step, "it weighs its parts")
        for inner, one, chosen in step.transformers_:
            # What comes out is in the order of the slices.
            picked = _picked(step, chosen, len(seen))
            found += self.through(f"{name}.{inner}", one, [seen[i] for i in picked])
        return found

    def _tell(self, name: str, step: Any, place: int, column: Column) -> None:
        if self.columns[place] not in (Column(), column):
            raise _refusal(name, step, "one of its columns is transformed in two ways")
        self.columns[place] = column

    def folded(self, machine: Model, names: tuple[str, ...], seen: Sequence[_Seen]) -> Model:
        """The machine of raw columns, in whose units the ranges are."""
        low, high = machine.input_min.copy(), machine.input_max.copy()
        for i, one in enumerate(seen):
            column = self.columns[one.column]
            if one.what != VALUE:
                low[i], high[i] = _indicator(names, one, low[i], high[i])
                continue
            if column.is_category:
                raise _unfoldable(f"column {names[one.column]!r} is encoded and passed on as it is")
            # Scales are positive, so the order of the ends stays.
            low[i], high[i] = (low[i] - one.offset) / one.scale, (high[i] - one.offset) / one.scale
            if one.fill is not None:
                wanted = Column(missing="median", median=one.fill)
                self._tell("imputer", "", one.column, wanted)
        columns = self._complete(names, seen)
        if all(column.plain for column in columns.columns) and len(seen) == len(names):
            return replace(machine, input_min=low, input_max=high, features=names)
        return replace(
            machine,
            input_min=low,
            input_max=high,
            features=columns.feature_names,
            columns=columns,
        )

    def _complete(self, names: tuple[str, ...], seen: Sequence[_Seen]) -> Columns:
        """Only columns that are seen; each feature once."""
        features = [Feature(one.column, one.what) for one in seen]
        if len(set(features)) < len(features):
            raise _unfoldable("a column is passed on twice")
        used = sorted({feature.column for feature in features})
        for place in used:
            column = self.columns[place]
            if not column.is_category and Feature(place, VALUE) not in features:
                raise _unfoldable(f"of column {names[place]!r} only the flag is passed on")
        return Columns(
            tuple(names[place] for place in used),
            tuple(self.columns[place] for place in used),
            tuple(Feature(used.index(place), what) for place, what in features),
        )


def _indicator(names: Sequence[str], one: _Seen, low: float, high: float) -> tuple[float, float]:
    """The range of an indicator: clear at its lower end, and set at its upper end."""
    if np.isclose(one.offset, low) and np.isclose(one.scale + one.offset, high):
        return FULL_RANGE
    raise _unfoldable(f"an indicator of column {names[one.column]!r} was the same in all rows")


def _picked(step: ColumnTransformer, chosen: Any, count: int) -> list[int]:
    places = np.arange(count)
    if isinstance(chosen, str):
        chosen = [chosen]
    if isinstance(chosen, slice):
        return places[chosen].tolist()
    wanted = list(chosen)
    if wanted and all(isinstance(name, str) for name in wanted):
        known = step.feature_names_in_.tolist()
        return [known.index(name) for name in wanted]
    return places[np.asarray(wanted, dtype=bool if _flags(wanted) else int)].tolist()


def _flags(wanted: Sequence[Any]) -> bool:
    return bool(wanted) and all(isinstance(one, bool | np.bool_) for one in wanted)


def _refusal(name: str, step: Any, reason: str) -> ParameterError:
    kind = f" ({type(step).__name__})" if step else ""
    return _unfoldable(f"step {name!r}{kind} can't be folded into it, for {reason}")


def _unfoldable(reason: str) -> ParameterError:
    return ParameterError(
        f"pipeline can't be saved whole: {reason}; give the estimator the raw columns, which takes "
        "categories and missing values as they are"
    )
