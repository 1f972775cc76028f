"""What all kinds of data files have in common once they are open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from scm_model.errors import DataError

__all__ = ["Source"]


class Source(ABC):
    """An open data file: its column names are known, its data unread."""

    #: What was guessed of the file, a line each.
    notes: list[str]

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self.names = [name.strip() for name in names]
        self.notes = []
        _check_names(path, self.names)

    @abstractmethod
    def read(
        self, names: Sequence[str], labels: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> dict[str, NDArray[Any]]:
        """Read columns, each (n,): float64, NaN where a value is missing, or objects: text, truth
        values and None.

        ``labels`` are read besides, in the narrowest type that holds all their values; ``texts``
        are columns that are categories whatever they look like.
        """


def _check_names(path: Path, names: list[str]) -> None:
    for position, name in enumerate(names, start=1):
        if name in names[: position - 1]:
            raise DataError(
                f"column names of {path.name} must be distinct, not {name!r} twice; rename one"
            )
