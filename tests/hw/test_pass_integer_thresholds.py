"""Real bounds become integers, at the exact place."""

from __future__ import annotations

import math

import pytest

from scm_hw.interp import interpret
from scm_hw.ir import AtLeast, Builder, Exceeds, Input, Program
from scm_hw.passes.integer_thresholds import integer_thresholds
from tests.hw.programs import rows_for

BOUNDS = (0.0, -0.0, 0.5, -0.5, 1.0, -3.0, 2.999999999, 3.0, math.nextafter(3.0, 4.0), -8.0, 7.0)


def comparison(bound: float, strict: bool) -> Program:
    build = Builder()
    value = build.add(Input(0, -8, 7, name="value"))
    return build.program((value,), (build.add(Exceeds(value, bound, strict, name="node")),))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("bound", BOUNDS)
def test_same_answers_at_every_value(bound: float, strict: bool) -> None:
    program = comparison(bound, strict)
    after = integer_thresholds(program)
    assert not any(isinstance(op, Exceeds) for op in after.ops)
    rows = rows_for(program)
    expected = [int(v > bound if strict else v >= bound) for v in rows[:, 0]]
    assert interpret(after, rows)[:, 0].tolist() == expected


@pytest.mark.parametrize("bound", [1e18, -1e18, 2.0**62, -(2.0**62)])
def test_bounds_beyond_all_values(bound: float) -> None:
    for strict in (True, False):
        program = comparison(bound, strict)
        found = interpret(integer_thresholds(program), rows_for(program))
        assert set(found[:, 0]) == {int(bound < 0)}


def test_names_stay_and_integer_comparisons_are_left_alone() -> None:
    build = Builder()
    value = build.add(Input(0, 0, 7, name="value"))
    outputs = (build.add(AtLeast(value, 3, name="bit")), build.add(Exceeds(value, 4.5, True)))
    after = integer_thresholds(build.program((value,), outputs))
    assert [op for op in after.ops if isinstance(op, AtLeast)] == [
        AtLeast(0, 3, name="bit"),
        AtLeast(0, 5),
    ]
