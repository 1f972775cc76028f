"""The innermost loops of the search by fresh draws, compiled by numba.

NumPy takes the same steps one array at a time; here a row's sums never leave the registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

__all__ = ["MOST_TABLES", "Loops", "loops"]

#: Tables that one call adds up.
MOST_TABLES = 4


Tables = tuple[NDArray, NDArray, NDArray, NDArray]
Levels = tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint16]]


@register_jitable
def _entries(tables: Tables, levels: Levels, row: int, first: int) -> Tables:
    """The entries of four ``tables`` at a row's ``levels``, from column ``first`` on."""
    return (
        tables[0][levels[0][row]][first:],
        tables[1][levels[1][row]][first:],
        tables[2][levels[2][row]][first:],
        tables[3][levels[3][row]][first:],
    )


@register_jitable
def _total(entries: Tables, k: int) -> Any:
    # Written out: a loop over the tuple would keep the loop around it from being vectorised.
    return entries[0][k] + entries[1][k] + entries[2][k] + entries[3][k]


def _fired_dots(
    tables: Tables,
    first: int,
    levels: Levels,
    needed: NDArray,
    probes: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add to ``out`` (probes, T) the sums of ``probes`` over the rows on which a candidate fires.

    It fires where the entries of its four ``tables`` (levels, columns) at the row's ``levels`` come
    to ``needed`` (T,) or more, in the tables' own type. The candidates are T of the columns, from
    ``first`` on. Eight rows at a time, a candidate's pattern of firing has all their sums at once.
    """
    rows = probes.shape[1]
    pattern, sums = np.zeros(len(needed), dtype=np.uint8), np.empty(256)
    for start in range(0, rows, 8):
        for row in range(start, start + 8, 2):
            # Beyond the end, the last row stands in for one that adds nothing.
            even = _entries(tables, levels, min(row, rows - 1), first)
            odd = _entries(tables, levels, min(row + 1, rows - 1), first)
            for k in range(len(needed)):
                # The sum in the tables' own type: offsets may have wrapped around in it.
                one = needed.dtype.type(_total(even, k)) >= needed[k]
                two = needed.dtype.type(_total(odd, k)) >= needed[k]
                # What eight rows before left behind is shifted out.
                pattern[k] = np.uint8(4 * pattern[k] + 2 * one + two)
        for probe in range(len(probes)):
            # The sum of every subset of eight values, each from a smaller subset by one addition.
            sums[0] = 0
            for bit in range(8):
                row, known = start + 7 - bit, 1 << bit
                value = probes[probe, row] if row < rows else 0.0
                for i in range(known):
                    sums[known + i] = sums[i] + value
            for k in range(len(needed)):
                out[probe, k] += sums[pattern[k]]


def _fired(
    tables: Tables,
    first: int,
    levels: Levels,
    needed: NDArray,
    out: NDArray[np.bool_],
) -> None:
    """Write to ``out`` (rows, T) whether candidates fire, as in :func:`_fired_dots`."""
    for row in range(len(out)):
        entries = _entries(tables, levels, row, first)
        for k in range(len(needed)):
            out[row, k] = needed.dtype.type(_total(entries, k)) >= needed[k]


def _outputs(
    tables: Tables,
    column: int,
    levels: Levels,
    needed: int,
    least: float,
    out: NDArray[np.float64],
) -> None:
    """Write to ``out`` (rows,) 1 where the candidate in a column fires, and ``least`` elsewhere."""
    for row in range(len(out)):
        entries = _entries(tables, levels, row, column)
        out[row] = 1.0 if tables[0].dtype.type(_total(entries, 0)) >= needed else least


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
    # Turning an input to sign s gains a match where the weight is s, and loses one where it is -s:
    # s times the weight either way.
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
