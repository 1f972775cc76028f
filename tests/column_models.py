"""Models whose features are made of columns: categories, and numbers that may be missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scm_model import Column, Columns, Evaluation, Feature, Model
from scm_model.raw_columns import INDICATOR_RANGE, IS_MISSING, VALUE
from tests.support import random_model

COLUMNS = Columns(
    ("sex", "grade", "flow", "pressure", "heat", "works"),
    (
        Column(values=("F", "I", "M"), other=3),
        Column(values=("low", None, "high", "7"), other=2),
        Column(missing="code"),
        Column(missing="median", median=0.4),
        Column(),
        Column(values=("False", "True")),
    ),
    (
        *(Feature(0, code) for code in range(3)),
        Feature(1, VALUE),
        Feature(2, VALUE),
        Feature(3, VALUE),
        Feature(3, IS_MISSING),
        Feature(4, VALUE),
        Feature(5, VALUE),
    ),
)
LABELS = (
    np.array(["F", "I", "M", "?", "X"], dtype=object),
    np.array(["low", None, "high", 7, "new"], dtype=object),
)
FEATURES = len(COLUMNS.features)


def raw_rows(model: Model, count: int, seed: int = 0) -> np.ndarray:
    """Rows as a plant has them: labels that were never seen, and values that are missing."""
    rng = np.random.default_rng(seed)
    rows = np.empty((count, len(COLUMNS.names)), dtype=object)
    for i, labels in enumerate(LABELS):
        rows[:, i] = rng.choice(labels, count)
    for i, number in ((2, 4), (3, 5), (4, 7)):
        low, high = model.input_min[number], model.input_max[number]
        rows[:, i] = rng.uniform(low - 0.1, high + 0.1, count)
    for i in (2, 3):
        rows[rng.random(count) < 0.3, i] = np.nan
    rows[:, 5] = rng.random(count) < 0.5
    return rows


def column_model(seed: int = 0, **options: Any) -> Model:
    """A random model of all kinds of columns, with held-out rows of its own."""
    model = with_columns(random_model(seed, features=FEATURES, **options))
    rows = raw_rows(model, 40, seed)
    kept = model.evaluation
    return replace(model, evaluation=Evaluation(rows, kept.targets, kept.mechanism))


def with_columns(model: Model) -> Model:
    """A model of nine features, made of columns."""
    low, high = model.input_min.copy(), model.input_max.copy()
    for i, (place, what) in enumerate(COLUMNS.features):
        column = COLUMNS.columns[place]
        if what != VALUE:
            low[i], high[i] = INDICATOR_RANGE
        elif column.is_category:
            low[i], high[i] = 0.0, 2.0**column.bits
    columns = replace(
        COLUMNS,
        columns=tuple(
            replace(c, median=float(low[5] + 0.4 * (high[5] - low[5])))
            if c.missing == "median"
            else c
            for c in COLUMNS.columns
        ),
    )
    return replace(
        model, input_min=low, input_max=high, columns=columns, features=columns.feature_names
    )
