"""Work over rows in chunks: memory stays bounded, and two cores halve the time.

Chunk boundaries depend on the data alone, and partial sums are added in the order of the rows, so
that a result never depends on the number of threads.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from threadpoolctl import threadpool_limits

__all__ = ["ChunkMap", "Scratch", "chunk_map", "row_chunks"]

Result = TypeVar("Result")


def row_chunks(rows: int, size: int) -> list[slice]:
    """Slices of at most ``size`` rows that cover ``rows`` rows in order."""
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


class ChunkMap:
    """Calls a function on every chunk of the rows and returns the results in the rows' order."""

    def __init__(self, pool: ThreadPoolExecutor | None):
        self.pool = pool

    def __call__(self, function: Callable[[slice], Result], rows: int, size: int) -> list[Result]:
        # Of no rows, sums of the right shape are wanted all the same.
        chunks = row_chunks(rows, size) or [slice(0, 0)]
        if self.pool is None or len(chunks) < 4:
            return [function(chunk) for chunk in chunks]
        return list(self.pool.map(function, chunks))


class Scratch(threading.local):
    """Arrays to work in, one per name and thread, used again and again.

    The system takes large arrays back as they are freed and clears them anew for the next chunk,
    which costs as much as the work on them.
    """

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def __call__(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
        """An array of any content, the caller's until the next call of that name and thread."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self._bytes or len(self._bytes[name]) < size:
            self._bytes[name] = np.empty(size, dtype=np.uint8)
        return self._bytes[name][:size].view(dtype).reshape(shape)


@contextmanager
def chunk_map() -> Iterator[ChunkMap]:
    """A :class:`ChunkMap` on all cores this process may use.

    The threads of the linear algebra library are held at one meanwhile: on chunks this small they
    cost more than they give, and its sums would depend on their number.
    """
    cores = _cores()
    with threadpool_limits(limits=1, user_api="blas"):
        if cores == 1:
            yield ChunkMap(None)
            return
        with ThreadPoolExecutor(cores) as pool:
            yield ChunkMap(pool)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
