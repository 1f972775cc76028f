"""Compiled loops over the bytes of a table: where its fields are, and what numbers they say.

Decimals become the nearest double by the method of Eisel and Lemire (D. Lemire, "Number parsing at
a gigabyte per second", 2021): a product of 128 bits decides, and what it can't decide is left to
Python. So numbers are those of ``float``, to the bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["scan_rows"]

#: Powers of ten for which there are products; others are left to Python.
_LEAST, _MOST = -65, 65
#: Decimal digits that 64 bits hold.
_DIGITS = 19
_SPACE, _RETURN, _FEED = 32, 13, 10
#: The place of a column that is not wanted; text has lower ones.
_SKIPPED = -1
_NUMBER, _EMPTY, _ODD = 0, 1, 2


def _powers() -> NDArray[np.uint64]:
    """The highest 128 bits of each power of five, as two words."""
    table = np.zeros((_MOST - _LEAST + 1, 2), dtype=np.uint64)
    for exponent in range(_LEAST, _MOST + 1):
        if exponent >= 0:
            power = 5**exponent
            shift = 128 - power.bit_length()
            power = power << shift if shift >= 0 else power >> -shift
        else:
            divisor = 5**-exponent
            # Rounded up, as the proof of the method asks for.
            power = (1 << (divisor.bit_length() + 127)) // divisor + 1
        table[exponent - _LEAST] = power >> 64, power & (1 << 64) - 1
    return table


_POWERS = _powers()
#: Powers of two, of which doubles of all those powers of ten are whole multiples.
_LEAST_SCALE = -330
_SCALES = np.ldexp(1.0, np.arange(_LEAST_SCALE, 331))


@njit(cache=True)
def _product(a, b):
    """The high and low word of the product of two words."""
    # In halves of 32 bits, so that no product with its carry exceeds 64 bits.
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    low = a0 * b0
    middle = a1 * b0 + (low >> half)
    other = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> half) + (other >> half), (other << half) | (low & mask)


@njit(cache=True)
def _nearest(digits, exponent, powers, scales):
    """The double nearest to ``digits * 10**exponent``, and whether it is known."""
    if digits == np.uint64(0):
        return 0.0, True
    if exponent < _LEAST or exponent > _MOST:
        return 0.0, False
    shift, word = 0, digits
    # Shifted until the highest bit is set, by bisection of the number of leading zeros.
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == np.uint64(0):
            word <<= np.uint64(step)
            shift += step
    high, low = _product(word, powers[exponent - _LEAST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _product(word, powers[exponent - _LEAST, 1])
        low += more
        if low < more:
            high += np.uint64(1)
        # What is left out of the power could carry into the bits that decide.
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return 0.0, False
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    # Halfway between two doubles, or too close to it for the bits there are.
    close = low <= np.uint64(1) and -4 <= exponent <= 23
    odd = mantissa & np.uint64(3) == np.uint64(1)
    if close and odd and mantissa << (top + np.uint64(9)) == high:
        mantissa &= ~np.uint64(1)
    mantissa += mantissa & np.uint64(1)
    mantissa >>= np.uint64(1)
    # floor(log2(10**exponent)), then the places that were shifted.
    binary = ((217706 * exponent) >> 16) + 63 + np.int64(top) - shift
    # The mantissa has 53 bits, the highest of which stands for 2**binary.
    return np.float64(mantissa) * scales[binary - 52 - _LEAST_SCALE], True


@njit(cache=True)
def _parsed(data, start, end, decimal, powers, scales):
    """What a field says: kind, number, and whether it is whole and written so."""
    while start < end and data[start] == _SPACE:
        start += 1
    while end > start and (data[end - 1] == _SPACE or data[end - 1] == _RETURN):
        end -= 1
    if start == end:
        return _EMPTY, np.nan, False
    negative = data[start] == 45
    at = start + 1 if negative or data[start] == 43 else start
    digits, count, exponent, seen, whole = np.uint64(0), 0, 0, False, True
    point = False
    while at < end:
        byte = data[at]
        if 48 <= byte <= 57:
            seen = True
            # Leading zeros are not among the digits that 64 bits have to hold.
            if count or byte != 48:
                count += 1
                if count > _DIGITS:
                    return _ODD, 0.0, False
                digits = digits * np.uint64(10) + np.uint64(byte - 48)
            if point:
                exponent -= 1
        elif byte == decimal and not point:
            point, whole = True, False
        else:
            break
        at += 1
    if not seen:
        return _ODD, 0.0, False
    if at < end:
        if data[at] != 101 and data[at] != 69:
            return _ODD, 0.0, False
        whole = False
        at += 1
        down = at < end and data[at] == 45
        if at < end and (down or data[at] == 43):
            at += 1
        power, first = 0, at
        while at < end and 48 <= data[at] <= 57 and power < 10000:
            power = 10 * power + data[at] - 48
            at += 1
        if at < end or at == first:
            return _ODD, 0.0, False
        exponent += -power if down else power
    value, known = _nearest(digits, exponent, powers, scales)
    if not known:
        return _ODD, 0.0, False
    return _NUMBER, -value if negative else value, whole


@njit(cache=True, nogil=True)
def _scan(
    data, at, delimiter, decimal, comment, place, values, spans, odd, whole, lines, powers, scales
):
    columns, rows, strange, line = len(place), 0, 0, 0
    numbers = values.shape[1]
    size = len(data)
    while at < size and rows < len(values) and strange + numbers <= len(odd):
        line += 1
        begin = at
        # Blank lines and comments are passed over.
        first = at
        while first < size and (data[first] == _SPACE or data[first] == _RETURN):
            first += 1
        if first < size and (data[first] == _FEED or (comment and data[first] == comment)):
            while first < size and data[first] != _FEED:
                first += 1
            at = first + 1
            continue
        if first >= size:
            at = size
            break
        column, start = 0, begin
        while True:
            end = at
            while end < size and data[end] != delimiter and data[end] != _FEED:
                end += 1
            if column < columns:
                wanted = place[column]
                if wanted >= 0:
                    kind, value, plain = _parsed(data, start, end, decimal, powers, scales)
                    if kind == _ODD:
                        odd[strange, 0], odd[strange, 1] = rows, wanted
                        odd[strange, 2], odd[strange, 3] = start, end
                        strange += 1
                        value, plain = np.nan, False
                    values[rows, wanted] = value
                    whole[wanted] &= plain
                elif wanted < _SKIPPED:
                    spans[rows, -2 - wanted, 0], spans[rows, -2 - wanted, 1] = start, end
            column += 1
            at = end + 1
            start = at
            if end >= size or data[end] == _FEED:
                break
        if column != columns:
            return rows, strange, begin, line, column
        lines[rows] = line
        rows += 1
    return rows, strange, at, line, columns


def scan_rows(
    data: NDArray[np.uint8],
    at: int,
    marks: tuple[int, int, int],
    place: NDArray[np.int64],
    values: NDArray[np.float64],
    spans: NDArray[np.int64],
    odd: NDArray[np.int64],
    whole: NDArray[np.bool_],
    lines: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """Read rows from ``at`` on, as many as there is room for.

    ``marks`` are delimiter, decimal point and comment. A column's ``place`` is where its number
    goes in a row of ``values`` (rows, numbers), or for text ``-2 - place`` in ``spans`` (rows,
    texts, 2), start and end. Fields that may be no number are listed in ``odd``: row, place, start
    and end. ``whole`` stays set where all numbers are written as whole ones; ``lines`` counts.
    Returns rows, odd fields, the end, lines, and how many fields the line after the last row has.
    """
    return _scan(data, at, *marks, place, values, spans, odd, whole, lines, _POWERS, _SCALES)
