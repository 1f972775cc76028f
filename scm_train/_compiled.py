"""The innermost loops of the search, compiled where numba is installed (the extra ``fast``).

NumPy takes the same steps one array at a time; here a row's sums never leave the registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_TABLES", "Loops", "loops"]

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


def _outputs(
    tables: tuple[NDArray, ...],
    column: int,
    levels: tuple[NDArray[np.uint16], ...],
    needed: int,
    least: float,
    out: NDArray[np.float64],
) -> None:
    """Write to ``out`` (rows,) 1 where the candidate in a column fires, and ``least`` elsewhere."""
    table0, table1, table2, table3 = tables
    level0, level1, level2, level3 = levels
    for row in range(len(out)):
        a, b = table0[level0[row], column], table1[level1[row], column]
        c, d = table2[level2[row], column], table3[level3[row], column]
        out[row] = 1.0 if table0.dtype.type(a + b + c + d) >= needed else least


def _matches(
    weights: NDArray[np.int8],
    first: NDArray[np.int8],
    steps: NDArray[np.uint32],
    signs: NDArray[np.int8],
    out: NDArray,
) -> None:
    """Write to ``out`` (levels, T) how many bits of a feature match ``weights`` (its inputs, T).

    ``first`` has the bits of the lowest level as +-1. Each step from there on makes a row of
    ``out`` from itself or the one before by turning an input to the sign in ``signs``: ``steps``
    has the row before, the row and the input.
    """
    out[0] = 0
    for i in range(len(first)):
        for k in range(out.shape[1]):
            out[0, k] += weights[i, k] == first[i]
    for step in range(len(steps)):
        before, row, own = out[steps[step, 0]], out[steps[step, 1]], weights[steps[step, 2]]
        for k in range(out.shape[1]):
            row[k] = before[k] + signs[step] * own[k]


def _sums(
    first: NDArray,
    second: NDArray,
    first_rows: NDArray[np.integer],
    second_rows: NDArray[np.integer],
    out: NDArray,
) -> None:
    """Write to each row of ``out`` the sum of a row of ``first`` and one of ``second``."""
    for row in range(len(out)):
        a, b, total = first[first_rows[row]], second[second_rows[row]], out[row]
        for k in range(len(total)):
            total[k] = a[k] + b[k]


@dataclass(frozen=True)
class Loops:
    """The loops of this module, compiled."""

    fired_dots: Callable[..., None]
    fired: Callable[..., None]
    outputs: Callable[..., None]
    matches: Callable[..., None]
    sums: Callable[..., None]


def _compile() -> Loops | None:
    try:
        import numba
    except ImportError:
        return None
    compiled: Any = numba.njit(nogil=True, cache=True)
    return Loops(*map(compiled, (_fired_dots, _fired, _outputs, _matches, _sums)))


#: None without numba.
loops = _compile()
