"""Columns of rows that come from outside: by name where they have names, and within their range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import OptionError

# More columns than these are counted, not listed.
SHOWN = 5


def by_name(rows: Any, names: Sequence[str], what: str = "rows") -> NDArray[np.float64]:
    """The columns called `names`, in that order, of a data frame or a structured array.

    Other columns of it are left out. An array without names is taken as it is.
    """
    found = _names_of(rows)
    try:
        if found is None:
            return np.asarray(rows, dtype=np.float64)
        _check_names(found, names, what)
        columns = [np.asarray(rows[name], dtype=np.float64) for name in names]
    except (TypeError, ValueError) as error:
        raise OptionError(f"{what} must be numbers ({error})") from None
    return np.stack(columns, axis=1)


def _names_of(rows: Any) -> list[str] | None:
    """Names of columns, where there are any: the numbers that pandas gives by itself are none."""
    columns = getattr(rows, "columns", None)
    if columns is None:
        columns = getattr(getattr(rows, "dtype", None), "names", None)
    named = None if columns is None else list(columns)
    if named is None or not any(isinstance(name, str) for name in named):
        return None
    return [str(name) for name in named]


def _check_names(found: Sequence[str], names: Sequence[str], what: str) -> None:
    for name in names:
        if found.count(name) != 1:
            there = ", ".join(map(repr, found[:20]))
            times = "not have several of it" if name in found else f"not only {there}"
            raise OptionError(f"{what} must have a column {name!r}, {times}")


def outside_range(
    names: Sequence[str],
    rows: NDArray[np.float64],
    low: Sequence[float] | NDArray[np.float64],
    high: Sequence[float] | NDArray[np.float64],
) -> str | None:
    """One line on the values that hardware limits to the range of their column; None for none."""
    outside = (rows < np.asarray(low)) | (rows > np.asarray(high))
    shares = outside.mean(axis=0) if len(rows) else np.zeros(len(names))
    worst = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    if not worst:
        return None
    parts = [f"{names[i]!r} in {shares[i]:.2%} of rows ({low[i]:g} to {high[i]:g})" for i in worst]
    more = f" and {len(worst) - SHOWN} more columns" if len(worst) > SHOWN else ""
    return f"values outside of their range are clipped to it: {', '.join(parts[:SHOWN])}{more}"
