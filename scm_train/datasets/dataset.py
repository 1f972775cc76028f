"""The one type that every loader returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numpy.typing import NDArray

__all__ = ["Dataset", "Mechanism", "TaskName"]

TaskName = Literal["regression", "classification"]
Mechanism = Callable[[NDArray], NDArray]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows to learn from, in raw units.

    `X` is (n, d), float64 unless asked otherwise, uint8 for images. `y` is (n,), or (n, m) for
    several targets; class labels for a classification. Where the source defines a split, the first
    `train_rows` rows are for training and the rest for testing; else `train_rows` is None.
    `mechanism` maps raw `X` to targets in their own units, where there is physics to go by.
    `simulated` data never came from a real plant. `files` are what
    the rows were read from.
    """

    name: str
    X: NDArray
    y: NDArray
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    task: TaskName
    description: str
    simulated: bool = False
    train_rows: int | None = None
    mechanism: Mechanism | None = None
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        assert self.X.shape == (len(self.y), len(self.feature_names)), self.name
        assert len(self.target_names) == (1 if self.y.ndim == 1 else self.y.shape[1]), self.name
        assert self.train_rows is None or 0 < self.train_rows < len(self.y), self.name
