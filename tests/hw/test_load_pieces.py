"""Functions of one code as pieces: they add up to the function, and few are enough."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw.load.pieces import MOST_PIECES, pieces_of, value_of

CODES = np.arange(4096)
RNG = np.random.default_rng(0)
FUNCTIONS = {
    "constant": (CODES * 0 + 7, 0),
    "code": (CODES, 1),
    "threshold": (CODES >= 77, 1),
    "below": (CODES < 77, 1),
    "bit": (CODES >> 3 & 1, 1),
    "gray bit": ((CODES >> 3 ^ CODES >> 4) & 1, 2),
    "held": (np.clip(CODES, 100, 3000), 1),
    "category": ((CODES & 7) << 9, 1),
    "flag": ((CODES == 5) * 2048, 2),
    "flag of all bits": ((CODES == 5) * 4095, 4),
    "missing": (np.where(CODES == 4095, 1234, CODES), 8),
    "labels": (RNG.permutation(16)[CODES & 15] % 2, 12),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_pieces_add_up_to_the_function(kind: str) -> None:
    values, most = FUNCTIONS[kind]
    found = pieces_of(values.astype(np.int64))
    assert found is not None
    assert_array_equal(value_of(found, CODES), values)
    assert len(found.pieces) <= most


def test_a_table_is_too_many() -> None:
    assert pieces_of(RNG.integers(0, 9, 4096)) is None
    few = (CODES // 64 % 2).astype(np.int64) * (CODES < 64 * (MOST_PIECES - 2))
    assert pieces_of(few) is not None
