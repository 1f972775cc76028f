"""A tournament names the same class, ties included."""

from __future__ import annotations

import numpy as np
import pytest

from scm_hw.ir import Argmax, Builder, Input, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes.lower_argmax import lower_argmax
from tests.hw.programs import rows_for


@pytest.mark.parametrize("count", range(1, 8))
def test_every_order_and_every_tie(count: int) -> None:
    build = Builder()
    high = {6: 2, 7: 2}.get(count, 3)
    refs = tuple(build.add(Input(i, 1 - high, 1, name=f"y{i}")) for i in range(count))
    program = build.program(refs, (build.add(Argmax(refs, name="class")),))
    after = lower_argmax(program)
    verify(after)
    assert not any(isinstance(op, Argmax) for op in after.ops)
    rows = rows_for(program, 2000)
    np.testing.assert_array_equal(interpret(after, rows)[:, 0], rows.argmax(axis=1))
    assert ranges(after)[after.outputs[0]] == (0, count - 1)


def test_a_value_that_stands_twice() -> None:
    build = Builder()
    refs = tuple(build.add(Input(i, -2, 2, name=f"y{i}")) for i in range(2))
    program = build.program(refs, (build.add(Argmax((refs[1], refs[0], refs[1]))),))
    rows = rows_for(program)
    expected = interpret(program, rows)
    np.testing.assert_array_equal(interpret(lower_argmax(program), rows), expected)
    assert set(expected[:, 0]) == {0, 1}
