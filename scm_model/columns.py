"""Frames of columns with names: matched by name, never by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from scm_model.errors import DataError
from scm_model.suggestions import did_you_mean

__all__ = ["column_names", "has_default_names", "in_memory", "in_order"]


class _Named(Protocol):
    @property
    def signals(self) -> tuple[str, ...]: ...


def column_names(x: Any) -> tuple[str, ...] | None:
    """The names of a frame's columns; None for what has no names, or numbers for names."""
    columns = getattr(x, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(columns)


def has_default_names(machine: _Named) -> bool:
    """Whether the columns have the names x0, x1, ... that columns without names are given."""
    names = machine.signals
    return names == tuple(f"x{i}" for i in range(len(names)))


def in_order(x: Any, names: Sequence[str] | None) -> Any:
    """A frame's columns of these names, in this order; what has no names stays as it is."""
    own = column_names(x)
    if own is None or names is None:
        return x
    for name in names:
        if own.count(name) != 1:
            raise DataError(
                f"column {name!r} must be in the data frame once, not {own.count(name)} times; "
                f"{did_you_mean(name, own)}"
            )
    return x[list(names)]


def in_memory(x: Any) -> Any:
    """The rows of a Dask frame as a frame in memory, with its names; anything else as it is."""
    return x.compute() if column_names(x) is not None and hasattr(x, "compute") else x
