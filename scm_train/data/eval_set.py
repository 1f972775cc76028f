"""Rows to validate on, as `fit` takes them."""

from __future__ import annotations

from typing import Any

from scm_train.errors import ParameterError

__all__ = ["check_pair"]


def check_pair(eval_set: Any) -> None:
    """ParameterError unless ``eval_set`` is None or ``(X, y)``; other libraries take several."""
    if eval_set is None:
        return
    if not isinstance(eval_set, tuple | list):
        what = f"a {type(eval_set).__name__}"
    elif eval_set and isinstance(eval_set[0], tuple):
        what = f"a list of {len(eval_set)}" if len(eval_set) > 1 else "a list of one"
    elif len(eval_set) != 2:
        what = f"{len(eval_set)} things"
    else:
        return
    raise ParameterError(
        f"eval_set must be one pair of rows and targets, not {what}; give eval_set=(X, y)"
    )
