"""A sum of few words against a bound, digit by digit, where a carry chain would give only a sign.

From the lowest bits up, the digits so far are summed up in a state of a few values,
`floor((sum - bound) / 2**k)`: how many times `2**k` they are beyond the bound. A digit of each word
and the state fill the inputs of a LUT, so that two words of five bits take three LUTs, where an
adder takes one for each bit and its carry chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from scm_hw.ir import Concat, Field, Ref
from scm_hw.passes.rewrite import Rewriter
from scm_hw.target import Technology


@dataclass(frozen=True)
class Word:
    """A non-negative value of `width` bits, added or (`sign` -1) subtracted."""

    ref: Ref
    width: int
    sign: int


@dataclass(frozen=True)
class _Step:
    """A digit of `bits` of each word, from bit `start`, and the states before and after it."""

    start: int
    bits: int
    before: range
    after: range


def digit_luts(words: Sequence[Word], bound: int, tech: Technology) -> int | None:
    """LUTs of the comparison; None where digits and states are more than a LUT has inputs."""
    steps = _steps(words, bound, tech)
    if steps is None:
        return None
    last = _inputs(words, steps[-1].start, steps[-1].bits) + _bits(steps[-1].before)
    # The last digit may take two LUTs and the multiplexer behind them.
    ends = 1 if last <= tech.lut_inputs else 2
    return sum(_bits(step.after) for step in steps[:-1]) + ends


def sum_reaches(
    build: Rewriter, words: Sequence[Word], bound: int, name: str, tech: Technology
) -> Ref:
    """A bit that is set where the words add up to the bound."""
    steps = _steps(words, bound, tech)
    assert steps, "digits are for words that LUTs can take in"
    state: Ref | None = None
    for place, step in enumerate(steps):
        digits = [word for word in words if word.width > step.start]
        widths = [min(step.bits, word.width - step.start) for word in digits]
        parts = [
            word.ref
            if (step.start, width) == (0, word.width)
            else build.add(Field(word.ref, step.start, width, name=f"{name}.digit"))
            for word, width in zip(digits, widths, strict=True)
        ]
        if state is not None:
            parts, widths = [*parts, state], [*widths, _bits(step.before)]
        index = parts[0]
        if len(parts) > 1:
            index = build.add(Concat(tuple(parts), tuple(widths), name=f"{name}.digits"))
        signs = [word.sign for word in digits]
        entries = _entries(step, signs, widths[: len(digits)], last=place == len(steps) - 1)
        reach = build.ranges[index].high + 1
        state = build.table(index, tuple(entries[:reach]), name=name)
    assert state is not None
    return state


def _entries(step: _Step, signs: list[int], widths: list[int], *, last: bool) -> list[int]:
    states = range(1 << _bits(step.before)) if len(step.before) > 1 else range(1)
    entries = []
    # The first word is in the lowest bits of the index.
    for number, *digits in product(states, *(range(1 << width) for width in reversed(widths))):
        # State numbers beyond the last never occur.
        before = step.before[min(number, len(step.before) - 1)]
        total = before + sum(s * d for s, d in zip(reversed(signs), digits, strict=True))
        # A shift of a negative integer rounds down, as the state is defined.
        after = total >> step.bits
        entries.append(int(total >= 0) if last else after - step.after.start)
    return entries


def _steps(words: Sequence[Word], bound: int, tech: Technology) -> list[_Step] | None:
    """Digits as long as LUTs allow; the last takes in all that is left."""
    widest = max(word.width for word in words)
    state, start = range(-bound, -bound + 1), 0
    found: list[_Step] = []
    while start < widest:
        room = tech.lut_inputs - _bits(state)
        left = _inputs(words, start, widest)
        # Two LUTs and the multiplexer behind them are as fast as one.
        if left <= room + tech.wide_luts:
            found.append(_Step(start, widest - start, state, range(2)))
            return found
        fitting = [n for n in range(1, widest - start) if _inputs(words, start, n) <= room]
        if not fitting:
            return None
        bits = fitting[-1]
        low, high = state.start, state.stop - 1
        for word in words:
            most = (1 << min(bits, max(word.width - start, 0))) - 1
            low, high = (low, high + most) if word.sign > 0 else (low - most, high)
        after = range(low >> bits, (high >> bits) + 1)
        found.append(_Step(start, bits, state, after))
        state, start = after, start + bits
    return None


def _inputs(words: Sequence[Word], start: int, bits: int) -> int:
    return sum(min(bits, max(word.width - start, 0)) for word in words)


def _bits(states: range) -> int:
    """Bits that tell the states apart; none where there is one."""
    return (len(states) - 1).bit_length()
