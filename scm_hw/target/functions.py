"""How many LUTs a Boolean function takes, given by its truth table."""

from __future__ import annotations

from functools import lru_cache

from scm_hw.target.technology import Technology

# A function as its values, by the number that the inputs spell.
Truth = tuple[bool, ...]


def function_luts(truth: Truth, tech: Technology) -> int:
    """LUTs of one function; nothing for a constant or an input as it is."""
    return _luts(_supported(truth), tech.lut_inputs, tech.wide_luts)


@lru_cache(maxsize=1 << 16)
def _luts(truth: Truth, inputs: int, wide: bool) -> int:
    count = len(truth).bit_length() - 1
    if count <= inputs:
        return 0 if count == 0 or truth == (False, True) else 1
    if wide and count > inputs + 1:
        # A LUT joins four smaller functions.
        quarter = len(truth) // 4
        # Equal quarters are built once.
        parts = [truth[i * quarter : (i + 1) * quarter] for i in range(4)]
        return 1 + sum(_luts(_supported(part), inputs, wide) for part in set(parts))
    return min(_multiplexed(truth, place, inputs, wide) for place in range(count))


def _multiplexed(truth: Truth, place: int, inputs: int, wide: bool) -> int:
    """With one input that chooses between two smaller functions."""
    low, high = _cofactors(truth, place)
    # Opposite sides are an XOR with the chosen input, a constant side an AND or an OR: one LUT
    # behind the other side.
    if tuple(not bit for bit in low) == high or len(set(low)) == 1:
        return 1 + _luts(_supported(high), inputs, wide)
    if len(set(high)) == 1:
        return 1 + _luts(_supported(low), inputs, wide)
    return 1 + _luts(_supported(low), inputs, wide) + _luts(_supported(high), inputs, wide)


@lru_cache(maxsize=1 << 16)
def _supported(truth: Truth) -> Truth:
    """Without the inputs that it does not depend on."""
    place = 0
    while 1 << place < len(truth):
        low, high = _cofactors(truth, place)
        if low == high:
            truth = low
        else:
            place += 1
    return truth


def _cofactors(truth: Truth, place: int) -> tuple[Truth, Truth]:
    low = tuple(bit for index, bit in enumerate(truth) if not index >> place & 1)
    high = tuple(bit for index, bit in enumerate(truth) if index >> place & 1)
    return low, high
