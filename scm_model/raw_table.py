"""A few columns with names: what readers make of files, where rows are not all numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RawTable"]


class RawTable:
    """Columns (n,) by name, numbers or labels, of which rows and columns can be taken."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = dict(arrays)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.arrays)

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values()), ()))

    def __getitem__(self, key: Any) -> Any:
        """A column by its name, columns by a list of names, or rows by their numbers."""
        if isinstance(key, str):
            return self.arrays[key]
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return RawTable({name: self.arrays[name] for name in key})
        return RawTable({name: values[key] for name, values in self.arrays.items()})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        arrays = list(self.arrays.values())
        numbers = all(values.dtype.kind in "fiu" for values in arrays)
        found = np.empty(self.shape, dtype=np.float64 if numbers else object)
        for i, values in enumerate(arrays):
            found[:, i] = values
        return found if dtype is None else found.astype(dtype)

    def tobytes(self) -> bytes:
        """All that it holds, by which two tables are told apart."""
        return repr([(name, values.tolist()) for name, values in self.arrays.items()]).encode()
