"""Bits of many rows packed into words, and exact sums over the rows on which they are set.

Row ``i`` is bit ``i % 64`` of word ``i // 64``; bits beyond the last row are 0. All sums are of
whole numbers, so that they are the same in any order: on any number of threads, compiled or not.
Each loop has a reference in NumPy, to read and to compare with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = [
    "WORD",
    "fire_by_columns",
    "fire_by_levels",
    "overlaps",
    "overlaps_reference",
    "overlaps_within",
    "pack",
    "subtract_sums",
    "subtract_sums_reference",
    "sums",
    "sums_reference",
    "unpack",
    "words_of",
]

Words = NDArray[np.uint64]
Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Rows to the word.
WORD = 64
#: Rows that a loop adds up before it packs them: few enough for the fastest cache.
TILE = 1024
#: Times a number whose bytes are 0 or 1, byte ``i`` of which it moves to bit ``56 + i``.
GATHER = np.uint64(0x0102040810204080)


def words_of(rows: int) -> int:
    return -(-rows // WORD)


def pack(fires: NDArray[np.bool_]) -> Words:
    """Bits (T, rows) as words (T, words)."""
    packed = np.zeros((len(fires), 8 * words_of(fires.shape[1])), dtype=np.uint8)
    own = np.packbits(fires, axis=1, bitorder="little")
    packed[:, : own.shape[1]] = own
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words, rows: int) -> NDArray[np.uint8]:
    """The bits (T, rows) of words (T, words)."""
    return np.unpackbits(_bytes(words), axis=1, count=rows, bitorder="little")


def _bytes(words: Words) -> NDArray[np.uint8]:
    # The lowest byte first on any machine: row i is bit i % 8 of byte i // 8.
    return np.ascontiguousarray(words, dtype="<u8").view(np.uint8)


def overlaps(first: Words, second: Words) -> Whole:
    """On how many rows both are set (F, S), for all pairs of ``first`` (F) and ``second`` (S)."""
    out = np.empty((len(first), len(second)), dtype=np.int64)
    _overlaps(first, second, out)
    return out


def overlaps_within(words: Words) -> Whole:
    """:func:`overlaps` of words with themselves, in half the time."""
    out = np.empty((len(words), len(words)), dtype=np.int64)
    _overlaps_within(words, out)
    return out


def overlaps_reference(first: Words, second: Words) -> Whole:
    rows = WORD * first.shape[1]
    # Whole numbers of this size are exact in float64.
    return (unpack(first, rows).astype(float) @ unpack(second, rows).T.astype(float)).astype(int)


def sums(words: Words, values: Whole) -> Whole:
    """The sums (T, outputs) of ``values`` (outputs, rows) over the rows that are set in ``words``.

    The caller sees to it that no sum exceeds an int64.
    """
    out = np.zeros((len(words), len(values)), dtype=np.int64)
    _sums(_bytes(words), values, out)
    return out


def sums_reference(words: Words, values: Whole) -> Whole:
    return unpack(words, values.shape[1]).astype(np.int64) @ values.T


def subtract_sums(codes: NDArray[np.uint8], tables: Floats, rows: slice, out: Floats) -> None:
    """Subtract from ``out`` (outputs, rows) the entries that ``codes`` (blocks, rows) point to.

    ``tables`` is (blocks, outputs, 256), of a multiple of four blocks and of no more than ``codes``
    has. Four are added up at a time, here and in the reference, so that both round alike.
    """
    _subtract_sums(codes, tables, rows.start, rows.stop, out)


def subtract_sums_reference(
    codes: NDArray[np.uint8], tables: Floats, rows: slice, out: Floats
) -> None:
    own = out[:, rows]
    for first in range(0, len(tables), 4):
        a, b, c, d = (tables[first + i][:, codes[first + i, rows]] for i in range(4))
        own -= (a + b) + (c + d)


def fire_by_columns(
    columns: NDArray[np.float32],
    rows: slice,
    starts: NDArray[np.integer],
    which: NDArray[np.integer],
    signs: NDArray[np.float32],
    limits: NDArray[np.float32],
    out: Words,
) -> None:
    """Write to words (T, words) on which of some rows the sums of a few columns reach a limit.

    Candidate ``k`` adds up the ``columns`` (inputs, rows) in ``which[starts[k] : starts[k + 1]]``,
    each with its entry of ``signs``.
    """
    _fire_by_columns(columns, rows.start, rows.stop, starts, which, signs, limits, out)


def fire_by_levels(
    levels: NDArray[np.uint16],
    rows: slice,
    starts: NDArray[np.integer],
    which: NDArray[np.integer],
    tables: NDArray[np.float32],
    limits: NDArray[np.float32],
    out: Words,
) -> None:
    """Likewise of what features add: ``tables[place]`` has it for each level of ``which[place]``.

    ``levels`` is (features, rows).
    """
    _fire_by_levels(levels, rows.start, rows.stop, starts, which, tables, limits, out)


@intrinsic
def _popcount(_context: Any, _word: Any) -> Any:
    """The number of bits set in a word, one instruction on most processors."""

    def code(_compiler: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(nogil=True, cache=True)
def _overlaps(first, second, out):
    for i in range(len(first)):
        for j in range(len(second)):
            total = np.uint64(0)
            for word in range(first.shape[1]):
                total += _popcount(first[i, word] & second[j, word])
            out[i, j] = total


@njit(nogil=True, cache=True)
def _overlaps_within(words, out):
    for i in range(len(words)):
        for j in range(i + 1):
            total = np.uint64(0)
            for word in range(words.shape[1]):
                total += _popcount(words[i, word] & words[j, word])
            out[i, j] = out[j, i] = total


@njit(nogil=True, cache=True)
def _sums(codes, values, out):
    # All sums of four rows are tabulated; a byte then has its sum after two look-ups.
    rows = values.shape[1]
    table = np.zeros((2, 16), dtype=np.int64)
    for start in range(0, rows, 8):
        for output in range(len(values)):
            for half in range(2):
                for bit in range(4):
                    row, known = start + 4 * half + bit, 1 << bit
                    value = values[output, row] if row < rows else 0
                    for i in range(known):
                        table[half, known + i] = table[half, i] + value
            for k in range(len(codes)):
                code = codes[k, start >> 3]
                out[k, output] += table[0, code & 15] + table[1, code >> 4]


@njit(nogil=True, cache=True)
def _subtract_sums(codes, tables, start, stop, out):
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for block in range(0, len(tables), 4):
            code0, code1 = codes[block][first:last], codes[block + 1][first:last]
            code2, code3 = codes[block + 2][first:last], codes[block + 3][first:last]
            for output in range(len(out)):
                own = out[output][first:last]
                a, b = tables[block, output], tables[block + 1, output]
                c, d = tables[block + 2, output], tables[block + 3, output]
                for i in range(len(own)):
                    own[i] -= (a[code0[i]] + b[code1[i]]) + (c[code2[i]] + d[code3[i]])


@njit(nogil=True, cache=True)
def _fire_by_columns(columns, start, stop, starts, which, signs, limits, out):
    total, flags = np.empty(TILE, dtype=np.float32), np.empty(TILE, dtype=np.uint8)
    for first in range(start, stop, TILE):
        size = min(TILE, stop - first)
        for k in range(len(limits)):
            total[:size] = 0
            for place in range(starts[k], starts[k + 1]):
                # Slices of one size let the loop take several rows at a time.
                column, sign = columns[which[place]][first : first + size], signs[place]
                for i in range(size):
                    total[i] += sign * column[i]
            _pack_reached(total, size, limits[k], flags, out[k, (first - start) // WORD :])


@njit(nogil=True, cache=True)
def _fire_by_levels(levels, start, stop, starts, which, tables, limits, out):
    total, flags = np.empty(TILE, dtype=np.float32), np.empty(TILE, dtype=np.uint8)
    for first in range(start, stop, TILE):
        size = min(TILE, stop - first)
        for k in range(len(limits)):
            total[:size] = 0
            for place in range(starts[k], starts[k + 1]):
                own, table = levels[which[place]][first : first + size], tables[place]
                for i in range(size):
                    total[i] += table[own[i]]
            _pack_reached(total, size, limits[k], flags, out[k, (first - start) // WORD :])


@njit(nogil=True, cache=True)
def _pack_reached(total, size, limit, flags, out):
    """Write to words where the first ``size`` totals reach the limit; ``flags`` are to work in."""
    for i in range(size):
        flags[i] = total[i] >= limit
    flags[size:] = 0
    eights = flags.view(np.uint64)
    for place in range(-(-size // WORD)):
        word = np.uint64(0)
        for byte in range(8):
            # The product has the lowest bits of all eight bytes in its highest byte.
            eight = (eights[8 * place + byte] * GATHER) >> np.uint64(56)
            word |= eight << np.uint64(8 * byte)
        out[place] = word
