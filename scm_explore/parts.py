"""The rows in three parts: to train on, to choose by, and to test on once at the end."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from scm_hw.errors import OptionError
from scm_model.schema import MAX_EVALUATION_ROWS
from scm_train.cli import training_data

# Of the rows that are not for the test, those to choose by.
HELD_OUT = 0.2
FEWEST_HELD_OUT = 5


def three_parts(data: training_data.Data, args: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Test rows as `fit` has them, then rows to choose by from what is left: row numbers."""
    rest, test = training_data.split(data, args.test_fraction, args.seed)
    # A stream of its own, as the plain seed has drawn the test rows.
    random = np.random.default_rng([args.seed, 1])
    train, held_out = training_data.part(data, rest, HELD_OUT, random)
    if min(len(held_out), len(test)) < FEWEST_HELD_OUT:
        raise OptionError(
            f"rows to choose by and to test on must be at least {FEWEST_HELD_OUT} each, not "
            f"{len(held_out)} and {len(test)}; gather more data"
        )
    y = data.rows.y[train]
    if data.task == "regression" and (y == y[0]).all(axis=0).any():
        raise OptionError(f"targets must vary in the {len(y)} training rows; gather more data")
    return train, held_out, test


def bounded(rows: Any) -> Any:
    """As many as a model file can carry, evenly spread."""
    return rows[:: -(-len(rows) // MAX_EVALUATION_ROWS)]
