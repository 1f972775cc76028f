"""Additions that take a LUT for each bit, whichever sign the second operand has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

Hold = Callable[[str, Value], Signal]
"""A register of that name, which moves with the pipeline."""


@dataclass(frozen=True)
class Term:
    """A value that counts with a sign of its own: minus where `negative` is set.

    To negate it would take a LUT for each bit. Of two terms only their relative sign matters, which
    goes into the addition; the sum has the sign of the first.
    """

    value: Value
    negative: Value


def extended(value: Value, width: int) -> Value:
    """A signed value with more bits."""
    return Cat(value, value[-1].replicate(width - len(value))) if width > len(value) else value


def added(m: Module, left: Value, right: Value, subtract: Value, width: int, name: str) -> Signal:
    """`left` plus or minus `right`, in `width` bits, which must have room for both and the sum."""
    # Synthesis would otherwise merge additions into wide compressor trees.
    total = Signal(signed(width + 1), name=name, attrs={"keep": 1})
    second = extended(right, width) ^ subtract.replicate(width)
    # The bit below the lowest is the carry that completes the two's complement.
    m.d.comb += total.eq(Cat(Const(1, 1), extended(left, width)) + Cat(subtract, second))
    return total[1:].as_signed()


def pairs(m: Module, terms: Sequence[Term], name: str) -> list[Term]:
    """One level of a tree: terms added in pairs."""
    found = []
    for number in range(0, len(terms) - 1, 2):
        first, second = terms[number], terms[number + 1]
        width = max(len(first.value), len(second.value)) + 1
        subtract = first.negative ^ second.negative
        total = added(m, first.value, second.value, subtract, width, f"{name}_{number // 2}")
        found.append(Term(total, first.negative))
    return found + list(terms[len(terms) // 2 * 2 :])


def held(terms: Sequence[Term], hold: Hold, name: str) -> list[Term]:
    """All terms in registers."""
    return [
        Term(
            hold(f"{name}_{i}", term.value),
            term.negative
            if isinstance(term.negative, Const)
            else hold(f"{name}_{i}_negative", term.negative),
        )
        for i, term in enumerate(terms)
    ]


def shrunk(m: Module, value: Value, leak: int, name: str) -> Value:
    """Less by its own part of `2**-leak`, which is rounded to the nearest."""
    width = len(value) + 1
    total = Signal(signed(width + 1), name=name, attrs={"keep": 1})
    part = extended(value[leak:], width)
    # Minus the part and minus its rounding bit, which is the carry left out.
    m.d.comb += total.eq(Cat(Const(1, 1), extended(value, width)) + Cat(~value[leak - 1], ~part))
    return total[1:].as_signed()


def saturated(value: Value, width: int) -> Value:
    """A signed value in `width` bits, at the nearest end where it has no place."""
    above = value[width - 1 :]
    # A value fits where all bits from its sign place up are equal.
    fits = above.all() | ~above.any()
    sign = value[-1]
    return Mux(fits, value[:width], Cat((~sign).replicate(width - 1), sign))


def absolute(m: Module, value: Value, name: str) -> Value:
    """Unsigned, of a signed value."""
    sign = value[-1]
    zero = Const(0, len(value))
    return added(m, zero, value, sign, len(value) + 1, name)[: len(value)].as_unsigned()
