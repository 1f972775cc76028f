"""The number of thresholds reached, by either way of finding it."""

from __future__ import annotations

import numpy as np
import pytest

from scm_hw.ir import Input, Less, Program, Xor, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes.level_search import thresholds_reached
from scm_hw.passes.rewrite import Rewriter
from scm_hw.target import XC7

CODE_BITS = 10


def search(thresholds: tuple[int, ...]) -> Program:
    build = Rewriter()
    code = build.add(Input(0, 0, (1 << CODE_BITS) - 1, name="x"))
    level = thresholds_reached(build, code, thresholds, "x", XC7)
    return build.program((code,), (level,))


SPREAD = tuple(range(37, 1000, 61))
CROWDED = tuple(range(500, 520))
ON_BORDERS = (16, 64, 65, 128, 129, 1008, 1023)


@pytest.mark.parametrize("thresholds", [SPREAD, CROWDED, ON_BORDERS, (1,), (1023,), (5, 900)])
def test_every_code_has_reached_what_it_is_not_below(thresholds: tuple[int, ...]) -> None:
    program = search(thresholds)
    verify(program)
    codes = np.arange(1 << CODE_BITS)[:, None]
    expected = np.searchsorted(thresholds, codes, side="right")
    np.testing.assert_array_equal(interpret(program, codes), expected)


@pytest.mark.parametrize("seed", range(20))
def test_random_thresholds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    drawn = rng.choice(np.arange(1, 1 << CODE_BITS), count, replace=False)
    thresholds = tuple(int(t) for t in np.sort(drawn))
    program = search(thresholds)
    verify(program)
    codes = np.arange(1 << CODE_BITS)[:, None]
    expected = np.searchsorted(thresholds, codes, side="right")
    np.testing.assert_array_equal(interpret(program, codes), expected)
    assert ranges(program)[program.outputs[0]].low >= 0


def test_spread_thresholds_are_looked_up_and_crowded_ones_compared() -> None:
    looked_up, compared = search(SPREAD), search(CROWDED)
    assert sum(isinstance(op, Less) for op in looked_up.ops) == 1
    assert not any(isinstance(op, Xor) for op in looked_up.ops)
    assert any(isinstance(op, Xor) for op in compared.ops)
    assert not any(isinstance(op, Less) for op in compared.ops)
