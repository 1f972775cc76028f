"""What the columns of training rows become: numbers, categories, and values that may be missing.

A category of few values has one bit for each. One of many has its codes in the order of the target,
so that one threshold tells values with low targets from values with high ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Column, Columns, Feature
from scm_model.columns import column_names
from scm_model.raw_columns import (
    IS_MISSING,
    MISSING_KINDS,
    OTHER,
    VALUE,
    labels_of,
    numbers_of,
    raw_arrays,
)
from scm_model.suggestions import did_you_mean
from scm_train.errors import DataError, ParameterError

__all__ = ["ColumnRules", "fit_columns", "needs_columns"]

#: A category of more values than this has ordered codes.
MOST_BITS = 8
#: Values with fewer rows than this are one with all that were never seen.
FEWEST_ROWS = 5
#: Of fewer rows than this a value may be of two.
FEW_ROWS = 200
#: Rows that the mean target counts as, where the targets of a value are averaged.
PRIOR_ROWS = 10.0
#: More values than this are no category.
MOST_VALUES = 4096
BOOLEANS = ("False", "True")


@dataclass(frozen=True)
class ColumnRules:
    """What was asked for: numbers that are categories, and what a missing value becomes."""

    categories: Sequence[str | int] = ()
    missing: str = "code"

    def check(self) -> None:
        if self.missing not in MISSING_KINDS:
            raise ParameterError(
                f"missing must be one of {', '.join(map(repr, MISSING_KINDS))}, "
                f"not {self.missing!r}"
            )
        if isinstance(self.categories, str) or not isinstance(self.categories, Iterable):
            raise ParameterError(
                f"categories must be a list of columns, not {self.categories!r}; "
                f"write [{self.categories!r}]"
            )


def needs_columns(X: Any, rules: ColumnRules) -> bool:
    """Whether rows have categories or missing values, or may have; plain numbers do not."""
    rules.check()
    if rules.categories:
        return True
    if column_names(X) is not None or hasattr(X, "iloc"):
        return any(_more_than_numbers(values) for values in _frame_arrays(X))
    if hasattr(X, "toarray") or hasattr(X, "dask"):
        return False
    with suppress(ValueError):
        values = np.asarray(X)
        return values.ndim == 2 and values.dtype.kind != "b" and _more_than_numbers(values)
    return False


def _frame_arrays(X: Any) -> list[NDArray[Any]]:
    return raw_arrays(X, [f"x{i}" for i in range(X.shape[1])])


def _more_than_numbers(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "f":
        # Of finite numbers the sum may overflow, but is never NaN without one or two infinities.
        with np.errstate(all="ignore"):
            return bool(np.isnan(values.sum())) and bool(np.isnan(values).any())
    return values.dtype.kind not in "iu"


def fit_columns(
    X: Any, y: NDArray[Any], names: Sequence[str], rules: ColumnRules
) -> tuple[Columns, NDArray[np.float64]]:
    """The columns of training rows, and the rows as :meth:`scm_model.Columns.read` has them.

    ``y`` (n, m) orders the codes of categories with many values.
    """
    arrays = raw_arrays(X, names)
    chosen = _chosen(names, rules.categories)
    order = _direction(y)
    columns: list[Column] = []
    features: list[Feature] = []
    read = np.empty((len(arrays[0]), len(names)))
    for place, (name, values) in enumerate(zip(names, arrays, strict=True)):
        column, seen = _column(name, values, place in chosen, order, rules)
        columns.append(column)
        features += [Feature(place, what) for what in seen]
        read[:, place] = column.read(name, values)
    return Columns(tuple(names), tuple(columns), tuple(features)), read


def _chosen(names: Sequence[str], categories: Sequence[str | int]) -> set[int]:
    found = set()
    for name in categories:
        if isinstance(name, str) and name in names:
            found.add(list(names).index(name))
        elif isinstance(name, int) and 0 <= name < len(names):
            found.add(name)
        else:
            hint = did_you_mean(str(name), names)
            raise ParameterError(f"categories must be columns of the rows, not {name!r}; {hint}")
    return found


def _column(
    name: str, values: NDArray[Any], chosen: bool, order: NDArray[Any], rules: ColumnRules
) -> tuple[Column, list[int]]:
    """A column, and what of it the features are."""
    if not chosen and values.dtype.kind != "b":
        numbers = _as_numbers(name, values)
        if numbers is not None:
            return _numbers(name, numbers, rules)
    _check_labels(name, values)
    labels, place = labels_of(values)
    return _category(name, labels, place, order)


def _as_numbers(name: str, values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Values that are numbers or missing; None where any is something else."""
    if values.dtype.kind not in "fiu":
        known = [value for value in values.tolist() if isinstance(value, bool)]
        if known:
            return None
    try:
        return numbers_of(name, values)
    except DataError:
        return None


def _numbers(
    name: str, values: NDArray[np.float64], rules: ColumnRules
) -> tuple[Column, list[int]]:
    missing = np.isnan(values)
    if not missing.any():
        return Column(), [VALUE]
    if missing.all():
        raise DataError(f"column {name!r} must have a value in some row, not none; drop the column")
    if rules.missing == "code":
        return Column(missing="code"), [VALUE]
    return Column(missing="median", median=float(np.median(values[~missing]))), [VALUE, IS_MISSING]


def _check_labels(name: str, values: NDArray[Any]) -> None:
    for value in values.tolist():
        if not isinstance(value, str | bool | int | float | None | np.generic) and (
            type(value).__name__ not in ("NAType", "NaTType")
        ):
            # As scikit-learn has it.
            raise TypeError(
                f"argument must be a string or a number, not {type(value).__name__!r} as in "
                f"column {name!r}"
            )


def _category(
    name: str, labels: list[str | None], place: NDArray[np.int64], order: NDArray[Any]
) -> tuple[Column, list[int]]:
    counts = np.bincount(place, minlength=len(labels))
    if set(labels) <= set(BOOLEANS):
        # Of one bit; a constant column too.
        return Column(values=BOOLEANS), [VALUE]
    fewest = min(FEWEST_ROWS, max(2, len(place) * FEWEST_ROWS // FEW_ROWS))
    kept = [i for i in range(len(labels)) if counts[i] >= fewest and labels[i] != OTHER]
    if not kept or len(kept) > MOST_VALUES:
        raise DataError(
            f"column {name!r} must have values that occur again, not {len(labels)} different ones "
            f"in {len(place)} rows such as {labels[0]!r}; drop the column"
        )
    if len(kept) <= MOST_BITS:
        kept.sort(key=lambda i: (labels[i] is None, _natural(labels[i])))
        column = Column(values=tuple(labels[i] for i in kept), other=len(kept))
        return column, list(range(len(kept)))
    return _ordered(labels, place, kept, order), [VALUE]


def _natural(label: str | None) -> tuple[bool, float, str]:
    """Numbers by their size, before text by its letters."""
    try:
        return False, float(label or ""), ""
    except ValueError:
        return True, 0.0, label or ""


def _ordered(
    labels: list[str | None], place: NDArray[np.int64], kept: list[int], order: NDArray[Any]
) -> Column:
    """Codes in the order of the mean target, rare and unseen labels among them."""
    groups = np.full(len(labels), len(kept))
    groups[kept] = np.arange(len(kept))
    group = groups[place]
    count = np.bincount(group, minlength=len(kept) + 1)[:, None] + PRIOR_ROWS
    middle = order.mean(axis=0)
    sums = np.stack(
        [np.bincount(group, column, minlength=len(kept) + 1) for column in order.T], axis=1
    )
    # Means shrunk to that of all rows, as if PRIOR_ROWS more rows had it: a label with few rows is
    # not put at an end by chance.
    means = (sums + PRIOR_ROWS * middle) / count - middle
    if means.shape[1] > 1:
        # Of several targets the direction in which their means differ most.
        means = means @ np.linalg.svd(means, full_matrices=False)[2][0][:, None]
    ranks = sorted(range(len(kept) + 1), key=lambda i: (means[i, 0], i))
    values = tuple(labels[kept[i]] for i in ranks if i < len(kept))
    return Column(values=values, other=ranks.index(len(kept)))


def _direction(y: NDArray[Any]) -> NDArray[np.float64]:
    """Targets (n, m) of equal spread."""
    targets = np.asarray(y, dtype=np.float64)
    spread = targets.std(axis=0)
    return targets / np.where(spread > 0, spread, 1.0)
