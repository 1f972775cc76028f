"""The innermost loops of the search by fresh draws, compiled by numba.

NumPy takes the same steps one array at a time; here a row's sums never leave the registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_TABLES", "Loops", "loops"]

#: Tables that one call adds up.
MOST_TABLES = 4


def _fired_dots(
    tables: tuple[NDArray, ...],
    first: int,
    levels: tuple[NDArray[np.uint16], ...],
    needed: NDArray,
    probes: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add to ``out`` (probes, T) the sums of ``probes`` over the rows on which a candidate fires.

    It fires where the entries of its four ``tables`` (levels, columns) at the row's ``levels`` come
    to ``needed`` (T,) or more, in the tables' own type. The candidates are T of the columns, from
    ``first`` on. Eight rows at a time, a candidate's pattern of firing has all their sums at once.
    """
    table0, table1, table2, table3 = tables
    level0, level1, level2, level3 = levels
    rows = probes.shape[1]
    pattern, sums = np.zeros(len(needed), dtype=np.uint8), np.empty(256)
    for start in range(0, rows, 8):
        for row in range(start, start + 8, 2):
            # Beyond the end, the last row stands in for one that adds nothing.
            i, j = min(row, rows - 1), min(row + 1, rows - 1)
            a, b = table0[level0[i]][first:], table1[level1[i]][first:]
            c, d = table2[level2[i]][first:], table3[level3[i]][first:]
            e, f = table0[level0[j]][first:], table1[level1[j]][first:]
            g, h = table2[level2[j]][first:], table3[level3[j]][first:]
            for k in range(len(needed)):
                one = needed.dtype.type(a[k] + b[k] + c[k] + d[k]) >= needed[k]
                two = needed.dtype.type(e[k] + f[k] + g[k] + h[k]) >= needed[k]
                # What eight rows before left behind is shifted out.
                pattern[k] = np.uint8(4 * pattern[k] + 2 * one + two)
        for probe in range(len(probes)):
            sums[0] = 0
            for bit in range(8):
                row, known = start + 7 - bit, 1 << bit
                value = probes[probe, row] if row < rows else 0.0
                for i in range(known):
                    sums[known + i] = sums[i] + value
            for k in range(len(needed)):
                out[probe, k] += sums[pattern[k]]


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


#: tanh(x) = x P(x^2) / Q(x^2), within 2.1e-8 of itself for |x| <= 9, beyond which float32 has 1.
#: The coefficients keep the greatest relative error least, by reweighted least squares; as none
#: is negative, no sum loses digits, and in float32 it is within 4e-7.
MOST_TANH = np.float32(9)
P0, P1, P2, P3, P4 = np.array(
    (0.99999997965, 0.13380975242, 3.4955271759e-3, 2.0608051085e-5, 1.3353207293e-8), np.float32
)
Q0, Q1, Q2, Q3, Q4 = np.array(
    (1, 0.46714290911, 2.5876752965e-2, 3.2855337249e-4, 7.7759670993e-7), np.float32
)


def _tanh(z: NDArray[np.float32]) -> None:
    """Put tanh in the place of the numbers in ``z`` (n,)."""
    for i in range(len(z)):
        x = min(max(z[i], -MOST_TANH), MOST_TANH)
        u = x * x
        p = P0 + u * (P1 + u * (P2 + u * (P3 + u * P4)))
        q = Q0 + u * (Q1 + u * (Q2 + u * (Q3 + u * Q4)))
        z[i] = x * p / q


@dataclass(frozen=True)
class Loops:
    """The loops of this module, compiled."""

    fired_dots: Callable[..., None]
    fired: Callable[..., None]
    outputs: Callable[..., None]
    matches: Callable[..., None]
    sums: Callable[..., None]
    tanh: Callable[[NDArray[np.float32]], None]


def _compile() -> Loops:
    # A quotient that may raise keeps a loop from taking several numbers at a time.
    compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")
    return Loops(*map(compiled, (_fired_dots, _fired, _outputs, _matches, _sums, _tanh)))


#: None makes the search take the steps of NumPy, for comparison.
loops: Loops | None = _compile()
