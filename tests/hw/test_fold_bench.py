"""The benchmark's rows: one model folded and unrolled, on the same vectors."""

from __future__ import annotations

import json

from bench.folding import sizes
from tests.support import random_model


def test_a_row_for_each_fold_and_one_for_the_unrolled_core() -> None:
    rows = sizes(random_model(3, layers=(4, 2)), ("2x8,1x4",), synthesis=False)
    assert [row["fold"] for row in rows] == ["2x8,1x4", "unrolled"]
    for row in rows:
        assert row["failures"] == [] and row["mismatches"] == 0 and row["vectors"] > 0
        assert row["cycles"] == row["cycles_predicted"]
    assert rows[0]["interval"] == rows[0]["cycles"] and rows[1]["interval"] == 1
    assert rows[0]["lanes"] == 16 + 4 and rows[1]["lanes"] is None
    json.dumps(rows)
