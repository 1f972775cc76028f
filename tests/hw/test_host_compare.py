"""Boards that hold something else than they should."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import LinkError, MismatchError
from scm_hw.host.compare import Comparison, _fixed_point, check_fields
from scm_hw.load import choose_fixed_point
from tests.support import random_model

FOUND = Comparison("RMSE", 300, 0.1, 0.1, 0.1, 0, None, 4, 4, 100.0, 2.0, 0, 0)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"mismatches": 2, "first_mismatch": 7},
            "differs from the interpreter in 2 of 300 rows (the first is row 7)",
        ),
        ({"cycles": 5}, "board must take 4 cycles, not 5; program it with a build"),
    ],
)
def test_runs_that_are_wrong(change: dict[str, Any], complaint: str) -> None:
    FOUND.check()
    with pytest.raises(MismatchError) as caught:
        replace(FOUND, **change).check()
    assert complaint in str(caught.value)


def test_coefficients_are_those_of_the_build() -> None:
    """By the tolerance, by the fraction bits that were asked for, or not at all."""
    model = random_model(2)
    board = boards.get("arty-a7")
    told = describe(compile_model(model, board, Options(frac_bits=5)))
    assert told.tolerance is None
    assert _fixed_point(told, model, model).frac_bits == told.frac_bits
    chosen = describe(compile_model(model, board))
    expected = choose_fixed_point(model, tolerance=chosen.tolerance)
    found = _fixed_point(chosen, model, model)
    np.testing.assert_array_equal(found.readout << found.dropped_bits, expected.readout)
    whole = describe(compile_model(model, board, Options(output_bits=expected.product_bits)))
    np.testing.assert_array_equal(_fixed_point(whole, model, model).constant, expected.constant)
    other = replace(chosen, frac_bits=chosen.frac_bits + 1)
    with pytest.raises(LinkError, match="fraction bits by this version's rules, not"):
        _fixed_point(other, model, model)


def test_features_of_another_model_are_refused() -> None:
    model = random_model(2)
    meaning = describe(compile_model(model, boards.get("arty-a7")))
    check_fields(meaning, model)
    with pytest.raises(LinkError, match="board must have the model's features, not others"):
        check_fields(meaning, replace(model, features=("a", "b", "c")))
