"""Model files for the trainer: :mod:`scm_model`'s, with the callable of an external mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from scm_model import ExternalModel, Model, read_model
from scm_model import write_model as save
from scm_model.schema import MAX_EVALUATION_ROWS
from scm_train.errors import ParameterError

__all__ = ["MAX_EVALUATION_ROWS", "load", "save"]


def load(path: str | Path, mechanism: Callable[[NDArray[Any]], ArrayLike] | None = None) -> Model:
    """Read a model; ``mechanism`` is the callable of one with an external mechanism."""
    model = read_model(path)
    if mechanism is None:
        return model
    if not isinstance(model.mechanism, ExternalModel):
        raise ParameterError(
            f"mechanism must be None for a model whose mechanism is of kind "
            f"{model.mechanism.kind!r}, not {mechanism!r}; the file holds all of it"
        )
    return replace(model, mechanism=replace(model.mechanism, function=mechanism))
