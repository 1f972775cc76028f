"""The innermost loops of the search, compiled where numba is installed (the extra ``fast``).

NumPy takes the same steps one array at a time; here a row's sums never leave the registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_TABLES", "fired", "fired_dots"]

#: Tables that one call adds up.
MOST_TABLES = 4
#: Rows summed in float32 before the sum goes on in float64.
SUMMED = 64


def _fired_dots(
    tables: tuple[NDArray, ...],
    first: int,
    levels: tuple[NDArray[np.uint16], ...],
    needed: NDArray,
    probe: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """Add to ``out`` (T,) the sum of ``probe`` (rows,) over the rows on which a candidate fires.

    It fires where the entries of its four ``tables`` (levels, columns) at the row's ``levels`` come
    to ``needed`` (T,) or more, in the tables' own type. The candidates are T of the columns, from
    ``first`` on.
    """
    table0, table1, table2, table3 = tables
    level0, level1, level2, level3 = levels
    some = np.empty(len(needed), dtype=np.float32)
    for start in range(0, len(probe), SUMMED):
        some[:] = 0
        for row in range(start, min(start + SUMMED, len(probe))):
            a, b = table0[level0[row]][first:], table1[level1[row]][first:]
            c, d = table2[level2[row]][first:], table3[level3[row]][first:]
            value = probe[row]
            for k in range(len(needed)):
                found = needed.dtype.type(a[k] + b[k] + c[k] + d[k])
                some[k] += value if found >= needed[k] else np.float32(0)
        for k in range(len(needed)):
            out[k] += some[k]


def _fired(
    tables: tuple[NDArray, ...],
    first: int,
    levels: tuple[NDArray[np.uint16], ...],
    needed: NDArray,
    out: NDArray[np.bool_],
) -> None:
    """Write to ``out`` (rows, T) whether candidates fire, as in :func:`_fired_dots`."""
    table0, table1, table2, table3 = tables
    level0, level1, level2, level3 = levels
    for row in range(len(out)):
        a, b = table0[level0[row]][first:], table1[level1[row]][first:]
        c, d = table2[level2[row]][first:], table3[level3[row]][first:]
        for k in range(len(needed)):
            out[row, k] = needed.dtype.type(a[k] + b[k] + c[k] + d[k]) >= needed[k]


def _compile(function: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
    except ImportError:
        return None
    return numba.njit(nogil=True, cache=True)(function)


#: The compiled loops, or None without numba.
fired_dots = _compile(_fired_dots)
fired = _compile(_fired)
